"""A run in shards: an engine has each learned separately, and they are merged in order.

Knows `shard_plan`, `shards` and `shard_store`. Engines are known only by their interface.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..files.container import check_place, lock_place
from ..formats.errors import ArgumentError, Fault, InputError, Skipped
from ..formats.sources import as_text
from ..formats.unread_warnings import UnreadCells
from .beginning import Beginning
from .guards import MOST_CLASSES, Guards
from .learner import Learner
from .shard_plan import SHARD_BYTES, Plan, make_plan
from .shard_starts import together
from .shard_store import ShardStore
from .shards import Learned, Refused, Shard, Task, say

Progress = dict[int, tuple[int, int]]  # rows and bytes so far of each shard that is being learned


class Engine(Protocol):
    """Runs work where the files can be read."""

    def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of work(*arguments)."""

    def over(
        self, task: Task, shards: Sequence[Shard], *, wanted: Callable[[int], bool], tick: Callable[[Progress], None]
    ) -> Iterator[tuple[int, Learned | Refused]]:
        """Learn shards, in any order; yields their numbers and results.

        `wanted` says of a number whether it is still to be learned. `tick` is called every now and then.
        """


@dataclass
class ShardedRun:
    """A run in shards in progress, as a progress display sees it."""

    plan: Plan
    store: ShardStore
    progress: Progress = field(default_factory=dict)
    learner: Learner | None = None  # of all, at the end
    skipped: Skipped = field(default_factory=Skipped)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    resumed_at: int = 0  # rows
    share_resumed: float = 0.0

    @property
    def rows(self) -> int:
        """How many rows were learned from, done or not."""
        done: int = sum(told["rows"] for told in self.store.told.values())
        return done + sum(rows for rows, _ in self._under_way())

    @property
    def share(self) -> float:
        """How much of the work is done."""
        total = sum(shard.size for shard in self.plan.shards) or 1
        done = sum(shard.size for shard in self.plan.shards if shard.number in self.store.told)
        return min(1.0, (done + sum(size for _, size in self._under_way())) / total)

    @property
    def n_done(self) -> int:
        """The number of finished shards."""
        return len(self.store.told)

    def _under_way(self) -> list[tuple[int, int]]:
        return [so_far for number, so_far in self.progress.items() if number not in self.store.told]


def folder_of(model: str | os.PathLike[str]) -> Path:
    """The folder where finished shards are kept until the model is written."""
    return Path(f"{os.fspath(model)}.shards")


def train_in_shards(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    begin: Beginning,
    engine: Engine,
    *,
    model: str | os.PathLike[str],
    resume: bool = False,
    shard_bytes: int = SHARD_BYTES,
    max_classes: int = MOST_CLASSES,
    show: Callable[[ShardedRun], None] = lambda _: None,
) -> ShardedRun:
    """Learn from files shard by shard, merge them, and save the model.

    Each file is a shard, and a large one is split into pieces of about `shard_bytes`. The model depends only on shards
    and settings. Finished shards are kept in a folder beside the model, from which `resume` continues.
    """
    plan = engine.call(make_plan, paths, begin, shard_bytes, max_classes)
    if isinstance(plan, Refused):
        raise ArgumentError(plan.argument, plan.why) if plan.argument else InputError(plan.why)
    say(plan.warnings)
    check_place(model, plan.files)
    with lock_place(model):
        store = ShardStore(folder_of(model), plan.manifest(), [shard.shown for shard in plan.shards], resume=resume)
        try:
            run = ShardedRun(plan, store)
            run.resumed_at, run.share_resumed = run.rows, run.share
            _learn(run, engine, show)
            learner = _finished(run)
            learner.save(model)
            store.remove()
        finally:
            store.close()
    return run


def _learn(run: ShardedRun, engine: Engine, show: Callable[[ShardedRun], None]) -> None:
    """Learn the remaining shards. If one is refused, those before it are learned first: they may be refused, too."""
    refused: dict[int, str] = {}
    said: set[tuple[str, ...]] = set()
    ticks: list[float] = []

    def tick(progress: Progress) -> None:
        if not ticks:
            run.started = time.monotonic()  # workers are there
            ticks.append(run.started)
        run.progress = progress
        show(run)

    def is_wanted(number: int) -> bool:
        return number not in run.store.told and number < min(refused, default=len(run.plan.shards))

    waiting = [shard for shard in run.plan.shards if is_wanted(shard.number)]
    for number, learned in engine.over(run.plan.task, waiting, wanted=is_wanted, tick=tick):
        if isinstance(learned, Refused):
            refused[number] = learned.why
        else:
            new = [line for line in learned.told["warnings"] if tuple(line) not in said]
            said |= set(map(tuple, new))
            say(new)
            run.store.keep(number, learned)
        show(run)
    if refused:
        raise InputError(refused[min(refused)])
    run.ended = time.monotonic()


def _finished(run: ShardedRun) -> Learner:
    """The learner of all shards, with their reports."""
    plan, merged = run.plan, run.store.learner()
    told = [run.store.told[shard.number] for shard in plan.shards]
    if merged is None:
        raise InputError(f"{', '.join(plan.files)}: there is no row to learn from.")
    learner = merged if plan.task.begun is None else together(plan.task.begun, merged)
    empty = [each for each in told if not each["rows"]]
    learner.skipped += sum(each["skipped"] for each in empty)
    learner.missing += sum(each["missing"] for each in empty)
    learner.sources = [as_text(source.name) for shard in plan.shards for source in shard.sources if source.start == 0]
    Guards(labels=set(plan.labels), runs=_runs(told)).finish(learner)
    unread = UnreadCells()
    for each in told:
        if each.get("unread"):
            unread.join(each["unread"])
    unread.tell()
    run.skipped = _skipped(plan.shards, told)
    run.learner = learner
    return learner


def _runs(told: list[dict[str, Any]]) -> dict[Any, int] | None:
    """The rows of each label in order; None if one reappears after another."""
    runs: dict[Any, int] = {}
    for each in told:
        for label, count in each["runs"] or ():
            if label in runs and label != next(reversed(runs)):
                return None
            runs[label] = runs.get(label, 0) + count
        if each["runs"] is None:
            return None
    return runs


def _skipped(shards: list[Shard], told: list[dict[str, Any]]) -> Skipped:
    """What was skipped in all shards, by the lines of the files."""
    result, before = Skipped(), 0
    for shard, each in zip(shards, told, strict=True):
        counted = shard.sources[0].format == "parquet"  # where row numbers are known beforehand
        before = 0 if shard.sources[0].start == 0 or counted else before
        faults = [Fault(source, line + before, *rest) for source, line, *rest in each["faults"]]
        result.count += each["skipped"]
        result.first = [*result.first, *faults][: Skipped.KEPT]
        before += each["lines"][-1] if each["lines"] else 0
    return result
