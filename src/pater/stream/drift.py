"""Drift detection: ADWIN on the mean of the classes' error rates.

Knows NumPy, and predictions of rows (`prediction_quality`). ADWIN (Bifet and Gavaldà, 2007,
doi:10.1137/1.9781611972771.42) keeps a window of the latest predictions, as long as their mean does not change, in an
exponential histogram of O(log n) sums. Here there is a sum for each class, and the mean of the error rates of the
classes is compared. So the mistakes of a rare class weigh as much as those of the others, and there is no alarm if
predictions merely shift to another class, because the share of positives rises and falls with the hour or another model
of a pool takes over. With one class it is plain ADWIN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from math import log
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .prediction_quality import Said

BUCKETS = 5  # of each size, at most
CLOCK = 32  # values from one check to the next
SHORTEST = 5  # rows of a class in a part of a window
DELTA = 0.01  # how sure to be: the smaller, the fewer false alarms and the later true ones (docs/command-line.md)
SETTLED = 1_000  # rows of a stream before predictions are checked: a model that has just begun changes by itself


class Change(NamedTuple):
    """A change of error rates: the rows before and after, and the wrong and total numbers of each class."""

    n_before: int
    n_after: int
    before: NDArray[np.int64]  # (classes, 2)
    after: NDArray[np.int64]

    @property
    def rates(self) -> NDArray[np.float64]:
        """The error rates of each class before and after, (classes, 2); NaN where a part has too few rows of it."""
        parts = np.stack([self.before, self.after], axis=1).astype(np.float64)
        parts[~_enough_rows(self.before, self.after)] = np.nan
        rates: NDArray[np.float64] = parts[:, :, 0] / parts[:, :, 1]
        return rates

    @property
    def means(self) -> tuple[float, float]:
        """The mean rates before and after, over the classes with enough rows in both parts."""
        before, after = np.nanmean(self.rates, axis=0).tolist()
        return before, after

    @property
    def is_worse(self) -> bool:
        """Whether it is worth an alarm: half as much again, or ten points more. A certain change may still be small."""
        before, after = self.means
        return after > min(1.5 * before, before + 0.1)


def _enough_rows(before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether both parts have enough rows of each class, (…, classes)."""
    told: NDArray[np.bool_] = (before[..., 1] >= SHORTEST) & (after[..., 1] >= SHORTEST)
    return told


class Adwin:
    """A window of right and wrong predictions, as long as the mean error rate of the classes does not change."""

    def __init__(self, delta: float = DELTA) -> None:
        self.delta = delta
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        self.n = self._since = 0
        self._levels: list[list[tuple[int, ...]]] = [
            []
        ]  # the wrong and all of each class in 2^level rows, oldest first

    def to_json(self) -> dict[str, Any]:
        """The complete state; `from_json` continues from it as if there had been no break."""
        return {
            "delta": self.delta,
            "n": self.n,
            "since": self._since,
            "levels": [list(level) for level in self._levels],
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Adwin:
        window = cls(told["delta"])
        window.n, window._since = told["n"], told["since"]
        window._levels = [[tuple(sums) for sums in level] for level in told["levels"]]
        return window

    def add(self, codes: Iterable[int], wrong: Iterable[int], n_classes: int) -> Iterator[tuple[int, Change]]:
        """Add the classes of rows, and whether their predictions were wrong; yields where a change was found."""
        nothing, rows = [0, 0] * n_classes, dict[int, tuple[int, ...]]()
        for place, (code, is_wrong) in enumerate(zip(codes, wrong, strict=True)):
            row = rows.get(2 * code + is_wrong)
            if row is None:
                row = (*nothing[: 2 * code], int(is_wrong), 1, *nothing[2 * code + 2 :])
                rows[2 * code + is_wrong] = row
            self._insert(row)
            self._since += 1
            if self._since % CLOCK == 0:
                change = self._shrink(n_classes)
                if change is not None:
                    yield place, change

    def _insert(self, row: tuple[int, ...]) -> None:
        self.n += 1
        levels, level = self._levels, 0
        levels[0].append(row)
        while len(levels[level]) > BUCKETS:
            if level + 1 == len(levels):
                levels.append([])
            older, newer = levels[level].pop(0), levels[level].pop(0)
            levels[level + 1].append((*map(add, older, newer), *newer[len(older) :]))  # classes may have come since
            level += 1

    def _shrink(self, n_classes: int) -> Change | None:
        """Forget the oldest rows as long as their mean differs; return the first difference."""
        first: Change | None = None
        change = self._cut(n_classes)
        while change is not None:
            first = first or change
            while not self._levels[-1]:
                self._levels.pop()
            self._levels[-1].pop(0)
            self.n -= 1 << (len(self._levels) - 1)
            change = self._cut(n_classes)
        return first

    def _cut(self, n_classes: int) -> Change | None:
        """The first place, from the oldest row on, where the means before and after differ by more than chance.

        The mean needs at least two classes, or the only one there is.
        """
        if self.n < 2 * SHORTEST:
            return None
        buckets = [bucket for level in reversed(self._levels) for bucket in level]
        sums = np.zeros((len(buckets), 2 * n_classes), np.int64)
        for k, bucket in enumerate(buckets):
            sums[k, : len(bucket)] = bucket
        sums = sums.reshape(-1, n_classes, 2).cumsum(axis=0)
        whole, before = sums[-1], sums[:-1]
        after = whole - before
        told = _enough_rows(before, after)
        with np.errstate(divide="ignore", invalid="ignore"):  # of classes with too few rows
            rates = whole[:, 0] / whole[:, 1]
            shares = 1.0 / (before[..., 1] - SHORTEST + 1) + 1.0 / (after[..., 1] - SHORTEST + 1)
            variances = shares * (rates * (1.0 - rates))
            apart = after[..., 0] / after[..., 1] - before[..., 0] / before[..., 1]
        sure = log(2.0 * log(self.n) / self.delta)
        chance = np.sqrt(2.0 * np.sum(variances, axis=1, where=told) * sure)
        chance += 2.0 / 3.0 * np.max(shares, axis=1, where=told, initial=0.0) * sure
        enough = told.sum(axis=1) >= min(2, int((whole[:, 1] > 0).sum()))
        found = np.flatnonzero((np.abs(np.sum(apart, axis=1, where=told)) > chance) & enough)
        if not found.size:
            return None
        k = int(found[0])
        n_before = int(before[k, :, 1].sum())
        return Change(n_before, self.n - n_before, before[k], after[k])


class Alarm(NamedTuple):
    """An alarm: the mean error rate over the classes has risen; includes the class that rose most."""

    row: int
    before: float
    after: float
    n_before: int
    n_after: int
    label: Any
    of_class: tuple[float, float]

    @classmethod
    def of(cls, row: int, change: Change, labels: list[Any]) -> Alarm:
        rates = change.rates
        worst = int(np.nanargmax(rates[:, 1] - rates[:, 0]))
        before, after = rates[worst].tolist()
        return cls(row, *change.means, change.n_before, change.n_after, labels[worst], (before, after))

    def to_json(self) -> dict[str, Any]:
        told = {"row": self.row, "before": self.before, "after": self.after}
        told |= {"n_before": self.n_before, "n_after": self.n_after}
        return {**told, "class": self.label, "class_before": self.of_class[0], "class_after": self.of_class[1]}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Alarm:
        of_class = told["class_before"], told["class_after"]
        n_before, n_after = told["n_before"], told["n_after"]
        return cls(told["row"], told["before"], told["after"], n_before, n_after, told["class"], of_class)

    def __str__(self) -> str:
        return (
            f"row {self.row:,}: the mean error rate of the classes is {self.after:.1%} over the last {self.n_after:,} "
            f"rows, but was {self.before:.1%} over the {self.n_before:,} before; "
            f"of class {self.label} {self.of_class[1]:.1%}, but was {self.of_class[0]:.1%}"
        )


class DriftWatch:
    """Watches predictions, and raises an alarm when they are wrong more often than before."""

    def __init__(self, tell: Callable[[Alarm], None] = lambda alarm: None) -> None:
        self._tell = tell
        self._codes: dict[Any, int] = {}
        self._window = Adwin()
        self.alarms: list[Alarm] = []

    def __call__(self, said: Said) -> None:
        self.note(said.before, said.labels.tolist(), (said.predicted() != said.labels).tolist())

    def note(self, before: int, labels: list[Any], wrong: list[bool]) -> None:
        """Add the labels of rows and whether predictions were wrong; `before` rows came earlier in the stream."""
        start, n, codes = max(0, SETTLED - before), len(labels), self._codes
        while start < n:
            # Up to the first row of a new class, so that the result does not depend on how rows are batched.
            codes.setdefault(labels[start], len(codes))
            known = list(takewhile(lambda code: code is not None, map(codes.get, islice(labels, start, None))))
            self._look(before + start, known, wrong[start : start + len(known)])
            start += len(known)

    def _look(self, before: int, codes: list[Any], wrong: list[bool]) -> None:
        for place, change in self._window.add(codes, wrong, len(self._codes)):
            if change.is_worse:
                self.alarms.append(Alarm.of(before + place + 1, change, list(self._codes)))
                self._window.forget()  # from here on, rates are compared with the new ones
                self._tell(self.alarms[-1])

    def to_json(self) -> dict[str, Any]:
        """The complete state, including the alarms."""
        told = {"labels": list(self._codes), "window": self._window.to_json()}
        return {**told, "alarms": [alarm.to_json() for alarm in self.alarms]}

    @classmethod
    def from_json(cls, told: dict[str, Any], tell: Callable[[Alarm], None] = lambda alarm: None) -> DriftWatch:
        watch = cls(tell)
        watch._codes = {label: code for code, label in enumerate(told["labels"])}
        watch._window = Adwin.from_json(told["window"])
        watch.alarms = [Alarm.from_json(alarm) for alarm in told["alarms"]]
        return watch
