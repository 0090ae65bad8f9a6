"""The plan of a run in shards: the shards, what they have in common, and what the first rows show.

Knows `beginning`, `pieces` and `shards`. It is made where the files can be read, and depends only on them and on the
settings, never on the number of workers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import __version__
from ..formats.errors import InputError
from ..formats.pieces import pieces, with_lines_counted
from ..formats.raw import RawBatch
from ..formats.reading import Input
from ..formats.sources import STANDARD_INPUT, Source, as_text
from ..models.shards import rows_to_begin_with
from .beginning import Beginning
from .guards import LOOKED_AT, Guards
from .shard_starts import begun_bytes
from .shards import Shard, Task, Warnings, stamp_of

SHARD_BYTES = 1 << 27
SAMPLED = 8  # shards with whose rows all begin; more, if they are short


@dataclass
class Plan:
    """The work to do, and what is known beforehand."""

    task: Task
    shards: list[Shard]
    files: list[str]
    settings: dict[str, Any]
    labels: set[Any] = field(default_factory=set)  # of the first rows
    warnings: list[list[str]] = field(default_factory=list)

    def manifest(self) -> dict[str, Any]:
        """Everything that the result depends on, as JSON."""
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
    """Inspect the files and their first rows as a run in one process would, split them, and make the beginning."""
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
            task.begun = _begun(task, shards)
            if task.begun is None:  # so few rows in total that they are learned together
                shards = [Shard(0, tuple(source for shard in shards for source in shard.sources))]
    return Plan(task, shards, files, settings, guards.labels, said.found)


def _begun(task: Task, shards: list[Shard]) -> bytes | None:
    """What all shards start from, after rows from all over the stream; None if there are too few in total.

    If a row is wrong, lines are counted from the beginning of the file, and the work is repeated.
    """
    try:
        return _begun_with(task, shards)
    except InputError:
        counted = [replace(shard, sources=tuple(map(with_lines_counted, shard.sources))) for shard in shards]
        if counted == shards:
            raise
        return _begun_with(task, counted)


def _begun_with(task: Task, shards: list[Shard]) -> bytes | None:
    encoder = task.learner.encoder
    assert encoder is not None
    wanted = rows_to_begin_with(encoder.warm_up)
    number = min(len(shards), SAMPLED)
    chosen = [shards[len(shards) * k // number] for k in range(number)]
    found, taken = list[RawBatch](), dict[int, int]()
    for some, most in ((chosen, -(-wanted // number)), (shards, wanted)):
        for shard in some:
            room = min(most - taken.get(shard.number, 0), wanted - sum(taken.values()))
            if room > 0:
                batches = list(_first_rows(task.input, shard.sources, taken.get(shard.number, 0), room))
                found += batches
                taken[shard.number] = taken.get(shard.number, 0) + sum(map(len, batches))
    return begun_bytes(task.learner, found) if sum(taken.values()) >= wanted else None


def _first_rows(source: Input, sources: Iterable[Source], start: int, n_rows: int) -> Iterator[RawBatch]:
    """Rows of a shard from number `start` on, as raw columns, without rows of weight 0."""
    with closing(replace(source, sources=[replace(each) for each in sources]).batches()) as batches:
        for batch in batches:
            assert isinstance(batch, RawBatch)
            weighs = batch.weights != 0 if batch.weights.size else np.ones(len(batch), bool)
            numbers = np.cumsum(weighs) - 1
            wanted = weighs & (numbers >= start) & (numbers < start + n_rows)
            start, n_rows = max(0, start - int(weighs.sum())), n_rows - int(wanted.sum())
            if wanted.any():
                batch.take(wanted)
                yield batch
            if n_rows == 0:
                return
