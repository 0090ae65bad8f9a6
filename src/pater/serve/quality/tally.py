"""Counts of answers and of right ones, and the rates that follow.

Knows `stream/prediction_quality.py` for the smallest probability. Counts add up, so that stretches of a stream can be
merged; the rate of a class that has not come is None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...stream.prediction_quality import LEAST_PROBABILITY

Rates = dict[str, float | None]


class Tally:
    """Counts of a stretch of answers: for each class, how often it was true, was predicted, and both."""

    def __init__(self) -> None:
        self.rows = self.told = 0  # answers, and those with a probability
        self.brier = self.log_loss = 0.0  # sums
        self.start = self.end = 0.0  # when the first and the last label came
        self.classes: dict[int, list[int]] = {}  # by code: true, predicted, right

    def add(self, time: float, truth: int, said: int) -> None:
        """Count an answer, by the codes of the true and of the predicted class."""
        self.start = self.start if self.rows else time
        self.end = time
        self.rows += 1
        counts = self.classes.setdefault(truth, [0, 0, 0])
        counts[0] += 1
        counts[2] += truth == said
        self.classes.setdefault(said, [0, 0, 0])[1] += 1

    def add_losses(self, brier: float, log_loss: float) -> None:
        """Add the losses of the probability of an answer."""
        self.told += 1
        self.brier += brier
        self.log_loss += log_loss

    def with_later(self, other: Tally) -> Tally:
        """The sum of this tally and a later one."""
        both = Tally()
        both.rows, both.told = self.rows + other.rows, self.told + other.told
        both.brier, both.log_loss = self.brier + other.brier, self.log_loss + other.log_loss
        both.start, both.end = (self if self.rows else other).start, (other if other.rows else self).end
        for code in {**self.classes, **other.classes}:
            pair = self.classes.get(code, (0, 0, 0)), other.classes.get(code, (0, 0, 0))
            both.classes[code] = [a + b for a, b in zip(*pair, strict=True)]
        return both

    def scores(self, positive: int | None) -> Rates:
        """Rates of the positive class; with None, for other than two classes, means over the classes that came."""
        true = {code: counts for code, counts in self.classes.items() if counts[0]}
        looked_at = list(true) if positive is None else [positive]
        return {
            "accuracy": _share(sum(counts[2] for counts in true.values()), self.rows),
            "balanced_accuracy": _mean([counts[2] / counts[0] for counts in true.values()]),
            "fpr": _mean([self._false_positive(code) for code in looked_at]),
            "fnr": _mean([self._false_negative(code) for code in looked_at]),
            "positive": None if positive is None else _share(self.classes.get(positive, (0,))[0], self.rows),
            "brier": _share(self.brier, self.told),
            "log_loss": _share(self.log_loss, self.told),
        }

    def _false_positive(self, code: int) -> float | None:
        true, said, right = self.classes.get(code, (0, 0, 0))
        return _share(said - right, self.rows - true)

    def _false_negative(self, code: int) -> float | None:
        true, _, right = self.classes.get(code, (0, 0, 0))
        return _share(true - right, true)

    def to_json(self) -> list[Any]:
        counts = [number for code, three in self.classes.items() for number in (code, *three)]
        return [self.rows, self.told, self.brier, self.log_loss, self.start, self.end, counts]

    @classmethod
    def from_json(cls, told: list[Any]) -> Tally:
        tally = cls()
        tally.rows, tally.told, tally.brier, tally.log_loss, tally.start, tally.end, counts = told
        fours = zip(*(counts[k::4] for k in range(4)), strict=True)
        tally.classes = {code: [true, said, right] for code, true, said, right in fours}
        return tally


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(rates: list[Any]) -> float | None:
    there = [rate for rate in rates if rate is not None]
    return sum(there) / len(there) if there else None


def losses(of_truth: float) -> tuple[float, float]:
    """The Brier score and the log loss, given the probability of the true class."""
    p = max(of_truth, LEAST_PROBABILITY)
    return (1.0 - p) * (1.0 - p), -math.log(p)


def losses_by_class(probabilities: Mapping[Any, float], truth: Any) -> tuple[float, float]:
    """The same for more than two classes: the mean over them, each against the rest."""
    by_name = {str(label): p for label, p in probabilities.items()}
    by_name.setdefault(str(truth), 0.0)
    pairs = [losses(p if name == str(truth) else 1.0 - p) for name, p in by_name.items()]
    brier, log_loss = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
    return brier, log_loss
