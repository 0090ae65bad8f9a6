"""The result of learning the log: a model, the quality of its answers, and the last entry that both include.

Knows `served_learner`, `quality` and `rows`; knows no thread and no request. The same entries give the same bytes,
however they are cut into calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import groupby
from typing import Any

from ..formats.batches import Batch
from ..formats.columns import Columns
from ..formats.errors import InputError
from ..formats.raw import RawBatch
from ..models.matrices import part
from ..preprocessing.columns import part as table_part
from .initial_learner import new_learner
from .quality.quality import Answers, Quality
from .rows.kinds import JSON
from .rows.rows import lines_of_log, rows_of_log
from .served_learner import Served
from .store.records import Entry

MANY = 100  # rows from which on an entry that was already read is learned as it is, not read again with others
PIECE = 256  # rows that are learned at a time: a millisecond or two
MOST_BYTES = 1 << 20  # once entries read together exceed this, another group begins


class Learned:
    """A model that is being learned.

    settings
        The settings of the learner that is made for the first row of a service that began without a model.
    columns
        The columns of the rows, once they are settled.
    entry, position
        The number of the last entry that was learned, and how many rows were learned up to its end.
    """

    def __init__(self, settings: dict[str, Any], quality: Quality, columns: Columns | None = None) -> None:
        self.settings, self.quality, self.columns = settings, quality, columns
        self.served: Served | None = None
        self.entry = self.position = 0

    def take(self, entries: Iterable[Entry], *, in_steps: bool = False) -> Iterator[None]:
        """Learn entries in order, pausing after every few rows. After an error the whole object is undefined.

        With `in_steps`, learning a single row also pauses, and the model may be asked meanwhile.
        """
        for some in _together(entries):
            yield from self._learn(some, in_steps=in_steps)
            for entry in some:
                self._judge(entry)
            self.entry, self.position = some[-1].number, some[-1].position + some[-1].kept

    def take_carefully(self, entry: Entry) -> list[int]:
        """Learn an entry without the rows that cannot be learned; return the places of all that are refused.

        These include the rows that were already marked as refused.
        """
        kept = [place for place in range(entry.rows) if place not in entry.refused]
        refused = sorted({*entry.refused, *self._refused(entry, kept)})
        self._judge(entry._replace(refused=tuple(refused)))
        self.entry, self.position = entry.number, entry.position + entry.rows - len(refused)
        return refused

    def _refused(self, entry: Entry, places: list[int]) -> list[int]:
        """Learn some rows of an entry, halving them if need be; return the places of those that cannot be learned."""
        before = deepcopy(self._server())
        others = tuple(sorted(set(range(entry.rows)) - set(places)))
        try:
            for _ in self._learn([entry._replace(refused=others)]):
                pass
        except InputError:
            self.served, half = before, len(places) // 2
            return [*self._refused(entry, places[:half]), *self._refused(entry, places[half:])] if half else places
        return []

    def _learn(self, entries: list[Entry], *, in_steps: bool = False) -> Iterator[None]:
        served = self._server()
        assert self.columns is not None
        first, scale = entries[0], served.learner.scale
        if first.refused and first.kind != JSON:
            first = first._replace(kind=JSON, content=lines_of_log(first.kind, first.content, self.columns))
            entries = [first]
        if len(entries) == 1 and first.batch is not None and not first.refused:
            batch = first.batch
        elif first.kind == JSON:
            content = b"".join(line + b"\n" for entry in entries for line in entry.lines())
            batch = rows_of_log(JSON, content, self.columns, keep_missing=scale).batch if content else None
        else:
            batch = rows_of_log(first.kind, first.content, self.columns, keep_missing=scale).batch
        for piece in pieces(batch) if batch is not None else ():
            if in_steps:
                yield from served.learning(piece)
            else:
                served.learn(piece)
            yield

    def _server(self) -> Served:
        """The model; it is made with the first entry, even if all rows of that are refused."""
        if self.served is None:
            assert self.columns is not None
            self.served = Served(new_learner(self.settings, self.columns))
        return self.served

    def _judge(self, entry: Entry) -> None:
        """Judge the answers that were given for the rows of an entry before their labels came."""
        assert self.served is not None
        said = [
            (label, answer)
            for place, (label, answer) in enumerate(entry.judged())
            if answer is not None and place not in entry.refused
        ]
        for classes, some in groupby(said, key=lambda each: each[1]["classes"]):
            answers = list(some)
            own = [answer for _, answer in answers]
            self.quality.add(
                Answers(
                    [entry.time] * len(answers),
                    [label for label, _ in answers],
                    [answer["decision"] for answer in own],
                    [_margin(answer, self.served.version) for answer in own],
                    [answer["probability"] for answer in own],
                    classes,
                )
            )


def _margin(answer: dict[str, Any], version: int) -> float | None:
    """The margin of an answer; None unless there are two classes and the current model gave it."""
    margin = answer["margin"]
    return margin if isinstance(margin, float) and answer["version"] == version else None


def _together(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Groups of consecutive entries that can be read together."""
    some: list[Entry] = []
    size = 0
    for entry in entries:
        if some and (_is_alone(entry) or _is_alone(some[-1]) or size > MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(entry)
        size += len(entry.content)
    if some:
        yield some


def _is_alone(entry: Entry) -> bool:
    return entry.kind != JSON or (entry.batch is not None and entry.rows >= MANY)


def pieces(batch: Batch) -> Iterator[Batch]:
    """Cut a batch into pieces that take a millisecond or two to learn."""
    if len(batch) <= PIECE:
        yield batch
        return
    for start in range(0, len(batch), PIECE):
        stop = min(start + PIECE, len(batch))
        yield _part(batch, start, stop)


def _part(batch: Batch, start: int, stop: int) -> Batch:
    changes: dict[str, Any] = {"table": table_part(batch.table, start, stop)} if isinstance(batch, RawBatch) else {}
    return replace(
        batch,
        rows=part(batch.rows, start, stop),
        labels=None if batch.labels is None else batch.labels[start:stop],
        weights=batch.weights[start:stop],
        lines=batch.lines[start:stop],
        missing=batch.missing if start == 0 else 0,
        news=batch.news if stop == len(batch) else None,
        **changes,
    )
