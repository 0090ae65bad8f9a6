"""Thresholds for a false-positive rate, a false-negative rate or a cost, estimated along the stream.

Knows `margin_counts`, which counts margins and reads the threshold off the counts, and `spec`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import TwoClassesError
from .margin_counts import BINS, NUMBERS, note_margins, threshold_for
from .metrics import Confusion
from .spec import Specs

Point = tuple[Any, ...]  # as `setting_kinds.OperatingPoint` has it: its name and its numbers
_KINDS = ("max_fpr", "max_fnr", "cost")  # in the order of the kernel's codes
ADDED = ("t", "n_neg", "n_pos", "share_neg", "share_pos", "tp", "fp", "tn", "fn")


@dataclass
class SeenMargins:
    """Histograms of the margins of each class, (models, 2, bins), and a record of numbers for each model."""

    counts: NDArray[np.float64]
    numbers: NDArray[np.void]

    @classmethod
    def new(cls, n_models: int) -> SeenMargins:
        numbers = np.zeros(n_models, NUMBERS)
        numbers["gain_neg"] = numbers["gain_pos"] = 1.0
        return cls(np.zeros((n_models, 2, BINS)), numbers)

    def copy(self) -> SeenMargins:
        return SeenMargins(self.counts.copy(), self.numbers.copy())

    def note(
        self,
        margins: NDArray[np.float64],
        codes: NDArray[np.int64],
        point: Point,
        settings: NDArray[np.void],
        *,
        weights: NDArray[np.float64],
        order: NDArray[np.int64],
    ) -> None:
        """Count the margins of rows, (models, steps), from before they were learned from."""
        note_margins(margins, order, codes, weights, settings, self.counts, self.numbers, _coded(point))

    def threshold(self, model: int, point: Point) -> float:
        """The margin at and above which a row is predicted positive; 0 until both classes have been seen."""
        m = self.numbers[model]
        return float(threshold_for(self.counts[model], m, *_coded(point)) * math.sqrt(m["square"]))

    def confusion(self, width: int) -> Confusion:
        """The counts of predictions, each made with the threshold at the time, (problems, specs)."""
        m = self.numbers.reshape(-1, width)
        return Confusion(m["tp"], m["fp"], m["tn"], m["fn"])

    def mirrored(self, sources: Sequence[int | None]) -> SeenMargins:
        """The mirror images of these models, with the classes exchanged; None stands for one that has seen nothing."""
        result = SeenMargins.new(len(sources))
        for k, source in enumerate(sources):
            if source is not None:
                result.counts[k], was = self.counts[source, ::-1, ::-1], self.numbers[source]
                result.numbers[k] = was
                for a, b in (("n_neg", "n_pos"), ("gain_neg", "gain_pos"), ("share_neg", "share_pos")):
                    result.numbers[k][a], result.numbers[k][b] = was[b], was[a]
        return result

    def merged(self, other: SeenMargins, point: Point) -> SeenMargins:
        """What both have seen: counts add in units of the last sample of each, and sizes average."""
        result = SeenMargins.new(self.numbers.size)
        m = result.numbers
        for name in ADDED:
            m[name] = self.numbers[name] + other.numbers[name]
        for each in (self, other):
            gains = np.stack([each.numbers["gain_neg"], each.numbers["gain_pos"]], axis=1)
            result.counts += each.counts / gains[:, :, None]
            m["square"] += each.numbers["square"] * (each.numbers["t"] / np.maximum(m["t"], 1.0))
        for k, counts in enumerate(result.counts):
            m["threshold"][k] = threshold_for(counts, m[k], *_coded(point))
        return result

    def since(self, begun: SeenMargins) -> SeenMargins:
        """What was seen since this started as a copy of `begun`: what has not faded of that is subtracted."""
        result = self.copy()
        for name in ADDED:
            result.numbers[name] -= begun.numbers[name]
        gains, first = (
            np.stack([each.numbers["gain_neg"], each.numbers["gain_pos"]], axis=1) for each in (self, begun)
        )
        in_unit = (gains >= first)[:, :, None]  # else the counts were divided since, and next to nothing is left
        result.counts = np.maximum(self.counts - np.where(in_unit, begun.counts, 0.0), 0.0)
        return result


def check_classes(specs: Specs, n_classes: int) -> None:
    """Raise a TwoClassesError if there are more classes than an operating point can decide between."""
    if n_classes > 2 and specs[0].operating_point is not None:
        raise TwoClassesError(n_classes)


def seen_by(specs: Specs, n_classes: int, n_models: int) -> SeenMargins | None:
    """The margins that new models with these settings keep, none yet; None without an operating point."""
    check_classes(specs, n_classes)
    return SeenMargins.new(n_models) if specs[0].operating_point is not None else None


def _coded(point: Point) -> tuple[int, float, float]:
    """The point as the kernels take it."""
    name, a, *rest = point
    return _KINDS.index(name), float(a), float(rest[0]) if rest else 0.0
