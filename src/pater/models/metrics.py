"""Scores from the four counts of a confusion matrix: the total error rate and its kin.

Knows NumPy only. Counts may be numbers or arrays of them, one for each model, and importance and fading may make them
fractional. The rate of a class without rows is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Confusion(NamedTuple):
    """Counts of true and false positives and negatives."""

    tp: Any
    fp: Any
    tn: Any
    fn: Any

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, positive: Any, sample_weight: Any = None) -> Confusion:
        """Count predictions, with `positive` as the label of the positive class."""
        truth, says = np.asarray(y_true) == positive, np.asarray(y_pred) == positive
        weight = np.ones(truth.size) if sample_weight is None else np.asarray(sample_weight, np.float64)
        pairs = (truth & says, ~truth & says, ~truth & ~says, truth & ~says)
        return cls(*(float(weight[pair].sum()) for pair in pairs))


def _ratio(part: Any, whole: Any) -> Floats:
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    ratio = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    return np.asarray(np.divide(part, whole, out=ratio, where=whole > 0))


def false_positive_rate(c: Confusion) -> Floats:
    """FPR, the share of negatives that are predicted positive."""
    return _ratio(c.fp, c.fp + c.tn)


def false_negative_rate(c: Confusion) -> Floats:
    """FNR, the share of positives that are predicted negative."""
    return _ratio(c.fn, c.fn + c.tp)


def total_error_rate(c: Confusion) -> Floats:
    """TER = FPR + FNR, eq. 5."""
    return false_positive_rate(c) + false_negative_rate(c)


def weighted_total_error_rate(c: Confusion, alpha_neg: float = 1.0, alpha_pos: float = 1.0) -> Floats:
    """α⁻·FPR + α⁺·FNR, eq. 25."""
    return alpha_neg * false_positive_rate(c) + alpha_pos * false_negative_rate(c)


def accuracy(c: Confusion) -> Floats:
    """The share of right predictions."""
    return _ratio(c.tp + c.tn, c.tp + c.fp + c.tn + c.fn)


def balanced_accuracy(c: Confusion) -> Floats:
    """The mean of the shares of right predictions in each class that has rows."""
    seen = (np.asarray(c.tp + c.fn) > 0).astype(np.float64), (np.asarray(c.tn + c.fp) > 0).astype(np.float64)
    return _ratio(_ratio(c.tp, c.tp + c.fn) + _ratio(c.tn, c.tn + c.fp), seen[0] + seen[1])


def f1(c: Confusion) -> Floats:
    """The harmonic mean of precision and recall."""
    return _ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn)


def g_mean(c: Confusion) -> Floats:
    """The geometric mean of the shares of right predictions in both classes."""
    return np.asarray(np.sqrt(_ratio(c.tp, c.tp + c.fn) * _ratio(c.tn, c.tn + c.fp)))


def cost(c: Confusion, of_false_positive: float = 1.0, of_false_negative: float = 1.0) -> Floats:
    """The mean cost of a sample."""
    spent = np.asarray(of_false_positive * c.fp + of_false_negative * c.fn)
    return _ratio(spent, c.tp + c.fp + c.tn + c.fn)


RATES = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "fpr": false_positive_rate,
    "fnr": false_negative_rate,
    "ter": total_error_rate,
}
"""The scores that a run shows of itself, by their names there."""


class Score(NamedTuple):
    """A score by which models can be chosen, and whether higher is better."""

    of: Callable[..., Floats]
    more_is_better: bool
    settings: tuple[str, ...] = ()


SCORES = {
    "accuracy": Score(accuracy, True),
    "balanced_accuracy": Score(balanced_accuracy, True),
    "ter": Score(total_error_rate, False),
    "wter": Score(weighted_total_error_rate, False, ("alpha_neg", "alpha_pos")),
    "f1": Score(f1, True),
    "g_mean": Score(g_mean, True),
    "cost": Score(cost, False, ("of_false_positive", "of_false_negative")),
}
