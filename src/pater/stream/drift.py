"""Whether a stream has changed: ADWIN on the mistakes of each class.

Knows NumPy, and what is said of rows (`judged`). ADWIN (Bifet and Gavaldà, 2007, doi:10.1137/1.9781611972771.42)
keeps a window of the latest answers, as long as its mean does not change, in an exponential histogram of O(log n)
sums. Each class has its own, so that of a rare class, too, it is seen when its rows are missed more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from .judged import Said

BUCKETS = 5  # of each size, at most
CLOCK = 32  # values from one look to the next
SHORTEST = 5  # part of a window
DELTA = 0.002  # how sure to be, as in the paper: the smaller, the fewer false alarms
SETTLED = 1_000  # rows of a stream until answers are looked at: a model that has just begun changes by itself


class Change(NamedTuple):
    """A mean that has changed: what it was before and after, over how many values."""

    before: float
    after: float
    n_before: int
    n_after: int

    @property
    def is_worse(self) -> bool:
        """Whether it is worth an alarm: half as much again, or ten points more. What is sure may still be small."""
        return self.after > min(1.5 * self.before, self.before + 0.1)


class Adwin:
    """A window of zeros and ones that is as long as their mean does not change."""

    def __init__(self, delta: float = DELTA) -> None:
        self.delta = delta
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.n = self.ones = self._since = 0
        self._levels: list[list[int]] = [[]]  # sums of 2^level values each, the oldest first

    def add(self, values: Iterable[int]) -> Iterator[tuple[int, Change]]:
        """Take values in; yields where among them the mean turned out to have changed, and how."""
        for place, value in enumerate(values):
            self._insert(value)
            self._since += 1
            if self._since % CLOCK == 0:
                change = self._shrink()
                if change is not None:
                    yield place, change

    def _insert(self, value: int) -> None:
        self.n += 1
        self.ones += value
        levels, level = self._levels, 0
        levels[0].append(value)
        while len(levels[level]) > BUCKETS:
            if level + 1 == len(levels):
                levels.append([])
            levels[level + 1].append(levels[level].pop(0) + levels[level].pop(0))
            level += 1

    def _shrink(self) -> Change | None:
        """Forget the oldest values as long as their mean differs; the first difference that was found."""
        first: Change | None = None
        change = self._cut()
        while change is not None:
            first = first or change
            while not self._levels[-1]:
                self._levels.pop()
            self.ones -= self._levels[-1].pop(0)
            self.n -= 1 << (len(self._levels) - 1)
            change = self._cut()
        return first

    def _cut(self) -> Change | None:
        """The first place, from the oldest on, where the means before and after differ by more than chance allows."""
        if self.n < 2 * SHORTEST:
            return None
        mean = self.ones / self.n
        variance, sure = mean * (1.0 - mean), log(2.0 * log(self.n) / self.delta)
        n_before, ones_before = 0, 0
        for level in range(len(self._levels) - 1, -1, -1):
            for ones in self._levels[level]:
                n_before += 1 << level
                ones_before += ones
                n_after = self.n - n_before
                if n_after < SHORTEST:
                    return None
                if n_before < SHORTEST:
                    continue
                before, after = ones_before / n_before, (self.ones - ones_before) / n_after
                share = 1.0 / (n_before - SHORTEST + 1) + 1.0 / (n_after - SHORTEST + 1)
                if abs(before - after) > sqrt(2.0 * share * variance * sure) + 2.0 / 3.0 * share * sure:
                    return Change(before, after, n_before, n_after)
        return None


class Alarm(NamedTuple):
    """Rows of a class that are wrong more often than before."""

    row: int
    label: Any
    change: Change

    def to_json(self) -> dict[str, Any]:
        return {"row": self.row, "class": self.label, **self.change._asdict()}

    def __str__(self) -> str:
        c = self.change
        return (
            f"row {self.row:,}: of class {self.label}, {c.after:.1%} of the last {c.n_after:,} rows were wrong, but "
            f"{c.before:.1%} of the {c.n_before:,} before"
        )


class DriftWatch:
    """Listens to what is said of rows, and raises an alarm when a class is wrong more often than before."""

    def __init__(self, tell: Callable[[Alarm], None] = lambda alarm: None) -> None:
        self._tell = tell
        self._of_class: dict[Any, Adwin] = {}
        self.alarms: list[Alarm] = []

    def __call__(self, said: Said) -> None:
        said = said.some(max(0, SETTLED - said.before), said.labels.size)
        if not said.labels.size:
            return
        wrong, found = (said.predicted() != said.labels).astype(np.int64), []
        for label in set(said.labels.tolist()):
            places, window = np.flatnonzero(said.labels == label), self._of_class.setdefault(label, Adwin())
            for place, change in window.add(wrong[places].tolist()):
                if change.is_worse:
                    found.append(Alarm(said.before + int(places[place]) + 1, label, change))
                    window.forget()  # what it is from here on is compared with what it has become
        for alarm in sorted(found, key=lambda alarm: alarm.row):
            self.alarms.append(alarm)
            self._tell(alarm)
