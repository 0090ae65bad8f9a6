"""A shard: pieces of files that are learned separately, in any process, and returned as the bytes of a model file.

Knows `training`, `shard_starts` and `pieces`; knows nothing about processes. The result of a shard depends only on its
rows and on the settings.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..files.in_bytes import to_bytes
from ..files.model_file import ModelFileError
from ..formats.errors import ArgumentError, Hint, InputError, UnseenLabelWarning
from ..formats.pieces import with_lines_counted
from ..formats.reading import Input
from ..formats.sources import Source, as_text
from ..models.warnings import ManyClassesWarning, OneClassWarning, PositiveClassWarning
from .guards import LOOKED_AT, Guards
from .learner import Learner
from .shard_starts import starting_from, without_begun
from .training import Run

Tell = Callable[[int, int], None]  # is called with the rows and the bytes of a shard so far
_KINDS = (Hint, UnseenLabelWarning, OneClassWarning, ManyClassesWarning, PositiveClassWarning)
_TOLD = {kind.__name__: kind for kind in _KINDS}


@dataclass(frozen=True)
class Shard:
    """Pieces of files, or whole files, in order."""

    number: int
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """The size of what is stored, in bytes."""
        return sum(source.size or 0 for source in self.sources)

    @property
    def shown(self) -> str:
        """Its name in messages."""
        first = self.sources[0]
        return first.shown if first.stop is None else f"{first.shown} from {first.start:,} to {first.stop:,}"


@dataclass
class Task:
    """What all shards have in common: how rows are read, a new learner, and the state of the files.

    begun
        The learner that every shard of a table starts from, as bytes.
    stamps
        Size and time of the last change of each file.
    """

    input: Input
    learner: Learner
    begun: bytes | None = None
    stamps: dict[str, tuple[int, int]] = field(default_factory=dict)

    def check_stamps(self, sources: Sequence[Source]) -> None:
        """Raise an error if a file has changed since the run was planned."""
        for source in sources:
            if stamp_of(source.name) != self.stamps[source.name]:
                raise InputError(f"{source.shown} changed while it was learned from. Start over without --resume.")


@dataclass
class Learned:
    """The result of a shard: the bytes of its model, if it has rows, and its report, as JSON."""

    model: bytes | None
    told: dict[str, Any]


@dataclass
class Refused:
    """Why a shard was refused, and which argument makes no sense, if that is why."""

    why: str
    argument: str = ""


def stamp_of(name: str) -> tuple[int, int]:
    """Size and time of the last change of a file."""
    try:
        found = os.stat(name)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from None
    return found.st_size, found.st_mtime_ns


def safely(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of some work, or why it was refused: user errors are sent as text."""
    try:
        return work(*arguments)
    except ArgumentError as error:
        return Refused(error.what, error.argument)
    except (InputError, ModelFileError) as error:
        return Refused(str(error))
    except MemoryError:
        return Refused("there is not enough memory; use fewer --workers, --bits or --features.")


def learn_shard(task: Task, shard: Shard, tell: Tell) -> Learned:
    """Learn a shard.

    Lines are counted from the beginning of the shard. Only if one is wrong are those before it counted, and the work
    repeated, so that the error names the line of the file.
    """
    try:
        return _learned(task, shard.sources, tell)
    except InputError:
        counted = tuple(map(with_lines_counted, shard.sources))
        if counted == shard.sources:
            raise
        return _learned(task, counted, tell)


def _learned(task: Task, sources: Sequence[Source], tell: Tell) -> Learned:
    learner = deepcopy(task.learner) if task.begun is None else starting_from(task.begun, task.learner)
    learner.threads = 1
    source = replace(task.input, sources=[replace(each) for each in sources], threads=0)
    run = Run(source, learner, 1, {}, guards=Guards(rows=LOOKED_AT))
    task.check_stamps(sources)
    with Warnings() as said:
        run.learn(
            show=lambda run: tell(learner.rows, sum(each.done for each in run.input.sources)),
            at=lambda _: (),
            report=lambda _: None,
        )
    task.check_stamps(sources)
    if task.begun is not None and learner.rows:
        learner = without_begun(task.begun, learner)
    runs = run.guards.runs
    told = {
        "rows": learner.rows,
        "skipped": learner.skipped,
        "missing": learner.missing,
        "faults": [[as_text(fault.source), *fault[1:]] for fault in run.skipped.first],
        "lines": [end.lines for end in run.ends],
        "runs": None if runs is None else [[_plain(label), int(count)] for label, count in runs.items()],
        "unread": None if run.unread is None else run.unread.to_json(),
        "warnings": said.found,
    }
    return Learned(to_bytes(learner.save) if learner.rows else None, told)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


class Warnings:
    """Records warnings, so that they can be shown elsewhere."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []

    def __enter__(self) -> Warnings:
        self._caught = warnings.catch_warnings(record=True)
        self._list = self._caught.__enter__()
        warnings.simplefilter("ignore")
        for kind in _TOLD.values():
            warnings.simplefilter("always", kind)
        return self

    def __exit__(self, *error: Any) -> None:
        self._caught.__exit__(*error)
        told = [[each.category.__name__, str(each.message)] for each in self._list or ()]
        self.found = list(map(list, dict.fromkeys(map(tuple, told))))


def say(found: Sequence[Sequence[str]]) -> None:
    """Show warnings that were recorded elsewhere."""
    for kind, text in found:
        warnings.warn(text, _TOLD.get(kind, UserWarning), stacklevel=2)
