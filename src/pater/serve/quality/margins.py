"""Histograms of the margins that each of two classes got when predicted, for choosing a threshold.

Knows `models/operating_points.py` and uses its histograms: they fade, each class by its own samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models.margin_counts import BINS, CENTRE, FINENESS, NUMBERS, WIDTH
from ...models.operating_points import Point, SeenMargins
from ...models.spec import RECORD

_NO_ORDER, _NO_WEIGHTS = np.zeros(0, np.int64), np.zeros(0)
_ANY_POINT: Point = ("max_fpr", 0.5)  # the histograms do not depend on it
_SETTINGS = np.zeros(1, RECORD)
_SETTINGS["positive"] = 1
# The edges of the bins, in units of the usual size of a margin.
_EDGES: NDArray[np.float64] = np.sinh((np.arange(BINS + 1) - CENTRE - 0.5) * WIDTH) / FINENESS


class JudgedMargins:
    """Histograms of the margins of answers whose labels have come."""

    def __init__(self) -> None:
        self._seen = SeenMargins.new(1)
        self.note([], [])  # compiles the kernel now, so that no request has to wait for that

    @property
    def seen(self) -> tuple[int, int]:
        """The numbers of rows of the first and of the second class that were counted."""
        m = self._seen.numbers[0]
        return int(m["n_neg"]), int(m["n_pos"])

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of the first and of the second class among about the last 20,000 rows."""
        m = self._seen.numbers[0]
        neg, pos = float(m["share_neg"]), float(m["share_pos"])
        return (neg / (neg + pos), pos / (neg + pos)) if neg + pos else (0.0, 0.0)

    def note(self, margins: Sequence[float], codes: Sequence[int]) -> None:
        """Count answers, in the order in which their labels came; a code is 1 for the second class."""
        said, codes_ = np.array([margins], np.float64), np.array(codes, np.int64)
        self._seen.note(said, codes_, _ANY_POINT, _SETTINGS, weights=_NO_WEIGHTS, order=_NO_ORDER)

    def threshold(self, point: Point) -> float | None:
        """The least margin at which the second class is to be predicted; None until both classes have been seen."""
        if not (self._seen.counts[0].sum(axis=1) > 0.0).all():
            return None
        return self._seen.threshold(0, point)

    def rates(self, threshold: float) -> tuple[float | None, float | None]:
        """The false-positive and the false-negative rate at a threshold, interpolated within a bin."""
        edges, (negative, positive) = self._steps()
        fpr = None if negative is None else 1.0 - float(np.interp(threshold, edges, negative))
        return fpr, None if positive is None else float(np.interp(threshold, edges, positive))

    def moving(self, most: int) -> list[tuple[float, float, float]]:
        """Thresholds at which the rates change, at most `most` of them, each with its two rates."""
        edges, (negative, positive) = self._steps()
        if negative is None or positive is None:
            return []
        there = np.flatnonzero(self._seen.counts[0].sum(axis=0))
        places = np.arange(there[0], there[-1] + 2)  # the edges of all bins that hold anything
        if places.size > most:
            # Spaced by the change in the rates, so that steep parts keep their points.
            way = np.cumsum(np.abs(np.diff(negative[places], prepend=0.0)) + np.diff(positive[places], prepend=0.0))
            way += np.linspace(0.0, 0.5, places.size)
            places = places[np.unique(np.searchsorted(way, np.linspace(way[0], way[-1], most)))]
        return [(float(edges[k]), 1.0 - float(negative[k]), float(positive[k])) for k in places]

    def _steps(self) -> tuple[NDArray[np.float64], list[NDArray[np.float64] | None]]:
        """The edges of all bins as margins, and the share of each class below each edge."""
        below: list[NDArray[np.float64] | None] = []
        for counts in self._seen.counts[0]:
            sums = np.append(0.0, np.cumsum(counts))
            below.append(sums / sums[-1] if sums[-1] > 0.0 else None)
        return _EDGES * math.sqrt(self._seen.numbers[0]["square"]), below

    def to_json(self) -> dict[str, Any]:
        """The non-empty bins of the histograms, and their summary numbers."""
        counts, numbers = self._seen.counts[0], self._seen.numbers[0]
        held = [np.flatnonzero(of_class) for of_class in counts]
        return {
            "bins": [places.tolist() for places in held],
            "counts": [of_class[places].tolist() for of_class, places in zip(counts, held, strict=True)],
            "numbers": {name: float(numbers[name]) for name in NUMBERS.names or ()},
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> JudgedMargins:
        margins = cls()
        for of_class, places, counts in zip(margins._seen.counts[0], told["bins"], told["counts"], strict=True):
            of_class[places] = counts
        for name, value in told["numbers"].items():
            margins._seen.numbers[name] = value
        return margins
