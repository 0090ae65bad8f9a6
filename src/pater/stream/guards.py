"""Early checks of a stream: labels that are not classes, weights for labels that never occur, columns on very different
scales, and rows sorted by their label.

Knows `learner`, `columns` and batches. Only the first rows are checked, so that a mistake is found before it costs time
and memory. For sorted rows, labels are checked until one comes back.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..formats.columns import HASHED, NUMBER, Columns
from ..formats.errors import Hint, InputError, UnseenLabelWarning, listed
from ..formats.hashing import places_of
from ..kernels.run import Rows
from ..models.spec import Specs
from .learner import Learner

LOOKED_AT = 1_000  # rows
MOST_CLASSES = 100  # that these rows may have
FAR_APART = 1_000.0  # how many times as large one column is as another
ABSURD = 1e100  # numbers from here on have errors of their own
LONG = 20  # rows of a class, beyond which it is not by chance that they came in a row, or that no other class came


@dataclass
class Guards:
    """Checks the batches of a stream before they are learned from."""

    most_classes: int = MOST_CLASSES
    labels: set[Any] = field(default_factory=set)  # of the rows looked at
    runs: dict[Any, int] | None = field(default_factory=dict)  # rows of each label; None once one has reappeared
    scales_seen: bool = False
    rows: int = 0  # that have come so far

    def over(self, batches: Iterator[Batch], learner: Learner) -> Iterator[Batch]:
        """The batches, each checked before it is passed on."""
        for batch in batches:
            self.look(batch, learner)
            yield batch

    def look(self, batch: Batch, learner: Learner) -> None:
        """Raise an error or warn if something is wrong with the first rows."""
        if batch.labels is not None and len(batch) and self.runs is not None:
            self.runs = _with_runs_of(batch.labels, self.runs)
        rows_before = max(self.rows, learner.rows)  # rows that are held back for an encoder are not learned from yet
        self.rows = rows_before + len(batch)
        if rows_before >= LOOKED_AT or batch.labels is None or not len(batch):
            return
        if learner.model is not None:
            self.labels |= set(learner.model.classes.tolist())
        some = batch.labels[: LOOKED_AT - rows_before]
        self.labels |= set(some.tolist())
        rows = rows_before + len(some)
        if len(self.labels) > self.most_classes:
            raise InputError(self._no_classes(batch, learner.columns, rows, some))
        if rows == LOOKED_AT:
            unseen = self._unseen(learner.specs)
            if unseen:
                told = _unseen_labels(unseen, self.labels, f"none of the first {LOOKED_AT:,} rows")
                warnings.warn(f"{batch.source}: {told}.", UnseenLabelWarning, stacklevel=2)
        if not (learner.scale or self.scales_seen):
            self.scales_seen = True
            hint = _hint_of_scales(batch, learner.columns or Columns())
            if hint:
                warnings.warn(f"{batch.source}: {hint}", Hint, stacklevel=2)

    def finish(self, learner: Learner) -> None:
        """Raise an error for a class weight of a label that never occurred; hint at sorted rows or a single class."""
        self.labels |= set(learner.classes.tolist())
        unseen = self._unseen(learner.specs)
        if unseen:
            raise InputError(f"{_unseen_labels(unseen, self.labels, 'no row')}. Name a label that is there.")
        if learner.classes.size == 1 and learner.rows >= LONG:
            warnings.warn(
                f"all rows have the same label, {learner.classes[0]}, so the model can predict nothing else. Check the "
                "label column, or continue with rows of another class.",
                Hint,
                stacklevel=2,
            )
        alike = _written_alike(learner.classes.tolist())
        if alike:
            warnings.warn(
                f"the labels {alike[0]!r} and {alike[1]!r} differ only in blanks or capitals, but are two classes. If "
                "that is a mistake, correct it and train again.",
                Hint,
                stacklevel=2,
            )
        if self.runs is not None and len(self.runs) > 1 and min(self.runs.values()) >= LONG:
            first, *_, last = self.runs
            warnings.warn(
                f"the rows came sorted by their label, all of class {first} first and all of class {last} last, and "
                "what comes last counts most. Shuffle them, or put them in the order of time.",
                Hint,
                stacklevel=2,
            )

    def _unseen(self, specs: Specs) -> list[Any]:
        weights = specs[0].class_weight
        return [label for label, _ in weights if label not in self.labels] if isinstance(weights, tuple) else []

    def _no_classes(self, batch: Batch, columns: Columns | None, rows: int, some: NDArray[Any]) -> str:
        column = columns.label if columns else None
        what = f"the label, column {column!r}, has" if column is not None else "the labels have"
        examples = ", ".join(map(str, dict.fromkeys(some[:5].tolist())))
        todo = "Name the label column with --label; if these really are classes" if column else "If they are"
        return (
            f"{batch.source}: {what} {len(self.labels):,} different values in the first {rows:,} rows ({examples}, …). "
            f"Each would be a class with models of its own. {todo}, allow that many with --max-classes."
        )


def _written_alike(labels: list[Any]) -> tuple[str, str] | None:
    """Two labels that differ only in blanks and capitals."""
    first: dict[str, str] = {}
    for label in labels:
        if isinstance(label, str) and first.setdefault(" ".join(label.split()).casefold(), label) != label:
            return first[" ".join(label.split()).casefold()], label
    return None


def _with_runs_of(labels: NDArray[Any], runs: dict[Any, int]) -> dict[Any, int] | None:
    """The rows of each label so far, in order; None if one reappears after another."""
    starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    if starts.size > LOOKED_AT:
        return None
    runs = dict(runs)
    for start, stop in pairwise([0, *starts.tolist(), len(labels)]):
        label = labels[start]
        if label in runs and label != next(reversed(runs)):
            return None
        runs[label] = runs.get(label, 0) + stop - start
    return runs


def hint_of_few_rows(learner: Learner, name: str) -> None:
    """Warn if a continued model has decided from too few rows how to encode a table."""
    told = learner.encoder.decided_early() if learner.encoder is not None else None
    if told:
        warnings.warn(f"{name}: {told}", Hint, stacklevel=2)


def _unseen_labels(unseen: list[Any], labels: set[Any], none: str) -> str:
    shown = " and ".join(map(str, unseen))
    return (
        f"{none} has the label {shown}, which --class-weight names; the labels are {listed(sorted(map(str, labels)))}"
    )


def _hint_of_scales(batch: Batch, columns: Columns) -> str | None:
    """The hint if the usual size of one column is many times that of another."""
    places, sizes = _sizes(batch.rows)
    if not sizes.size or sizes.max() > ABSURD:
        return None
    large, small = int(np.argmax(sizes)), int(np.argmin(sizes))
    times = sizes[large] / sizes[small]
    if times < FAR_APART:
        return None
    names = _names(columns, (int(places[large]), int(places[small])))
    shown = f"{float(f'{times:.0e}'):,.0f}" if times < 1e9 else f"{times:.0e}"
    return (
        f"column {names[0]} is about {shown} times as large as column {names[1]} and will outweigh it; "
        "--scale puts all columns on one scale."
    )


def _sizes(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Columns that hold anything in the first rows, and the mean size of what they hold."""
    if len(rows) == 1:
        X = np.abs(rows[0][:LOOKED_AT])
        r, columns = np.nonzero(X)
        values = X[r, columns]
    else:
        indptr, indices, data = rows
        end = int(indptr[min(LOOKED_AT, indptr.size - 1)])
        there = data[:end] != 0
        columns, values = indices[:end][there], np.abs(data[:end][there])
    places, which, counts = np.unique(columns, return_inverse=True, return_counts=True)
    with np.errstate(over="ignore"):
        return places, np.bincount(which, values, places.size) / counts


def _names(columns: Columns, places: tuple[int, int]) -> list[str]:
    """Columns by name where that is known, else by number."""
    names: dict[int, str] = {}
    if columns.kind == HASHED and columns.table:
        numbers = [name for name, kind in columns.table if kind == NUMBER]
        names = dict(zip(places_of(numbers, columns.bits)[0].tolist(), map(repr, numbers), strict=True))
    elif columns.table:
        names = {place: repr(columns.name_of(place)) for place in places}
    return [names.get(place, f"number {place}") for place in places]
