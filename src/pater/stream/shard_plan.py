"""The plan of a run in shards: which they are, what all have in common, and what the first rows show.

Knows `beginning`, `pieces` and `shards`. It is made by whoever sees the files, and depends on them and on the settings
alone: never on how many work at it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from .. import __version__
from ..formats.errors import InputError, as_text
from ..formats.pieces import pieces
from ..formats.raw import RawBatch
from ..formats.reading import Input
from ..formats.sources import STANDARD_INPUT, Source
from ..preprocessing.columns import Table, part
from .beginning import Beginning
from .begun import encoder_to_bytes
from .encoder import Encoder
from .guards import LOOKED_AT, Guards
from .shards import Shard, Task, Warnings, stamp_of

SHARD_BYTES = 1 << 27
SAMPLED = 8  # shards that an encoder begins with rows of; of more, if they are short


@dataclass
class Plan:
    """What is to be done, and what is known before."""

    task: Task
    shards: list[Shard]
    files: list[str]
    settings: dict[str, Any]
    labels: set[Any] = field(default_factory=set)  # of the first rows
    warnings: list[list[str]] = field(default_factory=list)

    def manifest(self) -> dict[str, Any]:
        """All that the result depends on, as JSON."""
        begun = self.task.begun
        return {
            "pater": __version__,
            "settings": self.settings,
            "files": [[as_text(name), *self.task.stamps[name]] for name in self.files],
            "shards": [[[as_text(s.name), s.start, s.stop] for s in shard.sources] for shard in self.shards],
            "begun": None if begun is None else hashlib.sha256(begun).hexdigest(),
        }


def make_plan(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    begin: Beginning,
    shard_bytes: int = SHARD_BYTES,
    max_classes: int = 100,
) -> Plan:
    """Look at the files, and at their first rows as a run in one process would; cut them, and let an encoder begin."""
    with Warnings() as said:
        source = replace(begin.input(paths), threads=0)
        for each in source.sources:
            if each.size is None:
                what = "standard input" if each.name == STANDARD_INPUT else f"{each.name}, a pipe,"
                raise InputError(f"{what} can be read once, by one process: workers learn from files.")
        files = list(dict.fromkeys(each.name for each in source.sources))
        stamps = {name: stamp_of(name) for name in files}
        learner = begin.learner(source)
        guards = Guards(max_classes)
        rows = 0
        with closing(source.batches()) as batches:
            for batch in batches:
                guards.look(batch, learner)
                rows += len(batch)
                if rows >= LOOKED_AT:
                    break
        settings = {**begin.settings(source), "shard_size": shard_bytes}
        cut = [piece for each in source.sources for piece in pieces(each, shard_bytes, source.wishes.delimiter)]
        shards = [Shard(number, (replace(piece, done=0),)) for number, piece in enumerate(cut)]
        task = Task(replace(source, sources=[], _seen=None), replace(learner, sources=[]), None, stamps)
        if learner.encoder is not None and len(shards) > 1:
            begun = _begun(task.input, shards, learner.encoder)
            if begun is None:  # so few rows in all that they decide together
                shards = [Shard(0, tuple(source for shard in shards for source in shard.sources))]
            else:
                task.begun = encoder_to_bytes(begun)
    return Plan(task, shards, files, settings, guards.labels, said.found)


def _begun(source: Input, shards: list[Shard], encoder: Encoder) -> Encoder | None:
    """An encoder that has begun with the first rows of shards all over the stream; None if there are too few in all."""
    wanted = encoder.warm_up
    number = min(len(shards), SAMPLED)
    chosen = [shards[len(shards) * k // number] for k in range(number)]
    tables, taken = list[Table](), dict[int, int]()
    for some, most in ((chosen, -(-wanted // number)), (shards, wanted)):
        for shard in some:
            room = min(most - taken.get(shard.number, 0), wanted - sum(taken.values()))
            if room > 0:
                found = list(_first_rows(source, shard.sources, taken.get(shard.number, 0), room))
                tables += (table for table, _ in found)
                taken[shard.number] = taken.get(shard.number, 0) + sum(n for _, n in found)
    return encoder.begun_with(tables) if sum(taken.values()) >= wanted else None


def _first_rows(source: Input, sources: Iterable[Source], start: int, n_rows: int) -> Iterator[tuple[Table, int]]:
    """Rows of a shard from number `start` on, as raw columns, and how many of them."""
    with closing(replace(source, sources=[replace(each) for each in sources]).batches()) as batches:
        for batch in batches:
            assert isinstance(batch, RawBatch)
            first, stop = min(start, len(batch)), min(start + n_rows, len(batch))
            start, n_rows = start - first, n_rows - (stop - first)
            if stop > first:
                yield part(batch.table, first, stop), stop - first
            if n_rows == 0:
                return
