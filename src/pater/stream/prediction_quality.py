"""Predictions of labelled rows, and how good they were: a confusion matrix, rates, curves, and a reliability table.

Knows `metrics`, `labels` and `predict`. Margins and classes of all rows are kept for the curves, about nine bytes per
row; probabilities take eight more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..formats.errors import InputError
from ..models.labels import encode
from ..models.metrics import (
    Confusion,
    balanced_accuracy,
    f1,
    false_negative_rate,
    false_positive_rate,
    g_mean,
    total_error_rate,
)
from ..models.predict import labels_of

LOWEST = -np.finfo(np.float64).max  # the margin of a class that is not known yet
POINTS = 200  # of a curve
LEAST_PROBABILITY = 1e-15  # in a log loss
STEPS = (0.001, 0.003, 0.01, 0.03, *(k / 10 for k in range(1, 10)), 0.97, 0.99, 0.997, 0.999)


class Said(NamedTuple):
    """Predictions of models of these classes for some rows, and the actual classes."""

    classes: NDArray[Any]
    margins: NDArray[np.float64]  # (rows, problems)
    labels: NDArray[Any]
    threshold: float = 0.0
    probabilities: NDArray[np.float64] | None = None  # (rows, classes)
    before: int = 0  # rows of the stream that came before these

    def predicted(self) -> NDArray[Any]:
        """The class of each row."""
        return labels_of(self.margins, self.classes, self.threshold)

    def some(self, start: int, stop: int) -> Said:
        """A part of the rows."""
        p = None if self.probabilities is None else self.probabilities[start:stop]
        margins, labels = self.margins[start:stop], self.labels[start:stop]
        return Said(self.classes, margins, labels, self.threshold, p, self.before + start)


class Judged:
    """All predictions. Each of `listeners` receives every part as it comes; without `keep`, only they do."""

    def __init__(self, *listeners: Callable[[Said], None], keep: bool = True) -> None:
        self._parts: list[Said] = []
        self._keep = keep
        self._listeners = listeners
        self.classes: NDArray[Any] | None = None  # those known in the end, if they are more than were known before
        # Scores of the probabilities of each class, or of the second of two, if known better than from `Said`.
        self.probabilities: list[dict[str, float]] = []

    def add(self, said: Said) -> None:
        """Add the predictions of some more rows."""
        if self._keep:
            self._parts.append(said)
        for listener in self._listeners:
            listener(said)

    def result(self) -> dict[str, Any]:
        """The confusion matrix, rates and curves; with more than two classes, each against the rest."""
        if not self._parts:
            raise InputError("there are no rows to evaluate.")
        classes = self._parts[-1].classes if self.classes is None else self.classes
        margins = np.concatenate([_for_classes(classes, said) for said in self._parts])
        labels = np.concatenate([said.labels for said in self._parts])
        known = encode(labels, classes)
        if known.new.size:
            raise InputError(f"the data has the class {known.new.tolist()[0]!r}, which the model does not know.")
        thresholds = np.concatenate([np.full(said.labels.size, said.threshold) for said in self._parts])
        second = margins[:, -1] >= thresholds
        said = second.astype(np.int64) if classes.size == 2 else margins.argmax(axis=1)
        matrix = np.bincount(known.codes * classes.size + said, minlength=classes.size**2).reshape(classes.size, -1)
        shown = [1] if classes.size == 2 else range(classes.size)
        told = [self._of_probabilities(classes[k], two=classes.size == 2) for k in shown]
        for of_k, better in zip(told, self.probabilities, strict=False):
            of_k |= better
        return {
            "rows": int(labels.size),
            "classes": classes.tolist(),
            "confusion": matrix.tolist(),
            "accuracy": float(np.trace(matrix) / labels.size),
            "balanced_accuracy": mean_recall(matrix),
            "of_class": [
                {"class": classes.tolist()[k], **rates(matrix, k), **of_k, **_curves(margins[:, k], known.codes == k)}
                for k, of_k in zip(shown, told, strict=True)
            ],
        }

    def _of_probabilities(self, label: Any, *, two: bool) -> dict[str, Any]:
        """How good the probabilities of a class were, if there are any."""
        told, truth = [], []
        for said in self._parts:
            if said.probabilities is not None and label in said.classes:
                told.append(said.probabilities[:, np.searchsorted(said.classes, label)])
                truth.append(said.labels == label)
            elif said.probabilities is not None and two and said.classes.size == 1:  # so far only the other class
                told.append(1.0 - said.probabilities[:, 0])
                truth.append(said.labels == label)
        if not told:
            return {}
        p, is_class = np.concatenate(told), np.concatenate(truth)
        return {**probability_losses(p, is_class), "reliability": _reliability(p, is_class)}


def probability_losses(p: NDArray[np.float64], is_class: NDArray[np.bool_]) -> dict[str, float]:
    """The Brier score and the log loss of probabilities of a class."""
    of_truth = np.maximum(np.where(is_class, p, 1.0 - p), LEAST_PROBABILITY)
    return {"brier": float(np.square(1.0 - of_truth).mean()), "log_loss": float(-np.log(of_truth).mean())}


def _reliability(p: NDArray[np.float64], is_class: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """How often a class occurred, beside the predicted probability, for each range that has rows."""
    step = np.searchsorted(STEPS, p, side="right")
    edges = (0.0, *STEPS, 1.0)
    return [
        {
            "from": edges[k],
            "to": edges[k + 1],
            "rows": int((step == k).sum()),
            "told": float(p[step == k].mean()),
            "observed": float(is_class[step == k].mean()),
        }
        for k in np.unique(step).tolist()
    ]


def mean_recall(matrix: NDArray[Any]) -> float:
    """The mean share of right predictions over the classes that occur."""
    return float(np.mean([row[k] / row.sum() for k, row in enumerate(matrix) if row.sum()]))


def rates(matrix: NDArray[Any], k: int) -> dict[str, float]:
    """The rates of class k against the rest."""
    tp = matrix[k, k]
    fp, fn = matrix[:, k].sum() - tp, matrix[k].sum() - tp
    counts = Confusion(float(tp), float(fp), float(matrix.sum() - tp - fp - fn), float(fn))
    precision = tp / (tp + fp) if tp + fp else 0.0
    return {
        "fpr": float(false_positive_rate(counts)),
        "fnr": float(false_negative_rate(counts)),
        "ter": float(total_error_rate(counts)),
        "balanced_accuracy": float(balanced_accuracy(counts)),
        "precision": float(precision),
        "recall": 1.0 - float(false_negative_rate(counts)),
        "f1": float(f1(counts)),
        "g_mean": float(g_mean(counts)),
    }


def _for_classes(classes: NDArray[Any], said: Said) -> NDArray[np.float64]:
    """Margins of the classes known then, with a column for each class known now."""
    then, margins = said.classes, said.margins
    if then.size == 2:
        margins = np.hstack([-margins, margins])
    if then.size == classes.size:
        return margins
    filled = np.full((len(margins), classes.size), LOWEST)
    filled[:, np.searchsorted(classes, then)] = margins
    return filled


class _Steps(NamedTuple):
    """The false and true positives at or above each margin, from the largest down."""

    margins: NDArray[np.float64]
    fp: NDArray[np.float64]
    tp: NDArray[np.float64]


def _steps(margins: NDArray[np.float64], positive: NDArray[np.bool_]) -> _Steps:
    """The steps; rows of equal margin count together."""
    order = np.argsort(-margins, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(margins[order])), margins.size - 1)
    tp = np.cumsum(positive[order])[ends].astype(np.float64)
    return _Steps(margins[order][ends], ends + 1.0 - tp, tp)


def roc_area(margins: NDArray[np.float64], positive: NDArray[np.bool_]) -> float | None:
    """The area under the ROC curve; None if one of the two classes is missing."""
    steps, n_pos = _steps(margins, positive), float(positive.sum())
    n_neg = positive.size - n_pos
    if not n_pos or not n_neg:
        return None
    return float(np.trapezoid(np.append(0.0, steps.tp / n_pos), np.append(0.0, steps.fp / n_neg)))


def _curves(margins: NDArray[np.float64], positive: NDArray[np.bool_]) -> dict[str, Any]:
    """The areas under both curves, and some of their points, each with its margin."""
    area = roc_area(margins, positive)
    if area is None:
        nothing: dict[str, Any] = {"roc_auc": None, "average_precision": None}
        return nothing | {
            name: [] for name in ("roc", "roc_thresholds", "precision_recall", "precision_recall_thresholds")
        }
    steps = _steps(margins, positive)
    tpr, fpr = steps.tp / steps.tp[-1], steps.fp / steps.fp[-1]
    precision = steps.tp / (steps.tp + steps.fp)
    some = np.unique(np.linspace(0, tpr.size - 1, min(POINTS, tpr.size)).astype(int))
    thresholds = steps.margins[some].tolist()
    return {
        "roc_auc": area,
        "average_precision": float(np.sum(np.diff(tpr, prepend=0.0) * precision)),
        "roc": [[0.0, 0.0], *np.stack([fpr[some], tpr[some]], axis=1).tolist()],
        "roc_thresholds": [None, *thresholds],  # at no margin is nothing predicted positive
        "precision_recall": np.stack([tpr[some], precision[some]], axis=1).tolist(),
        "precision_recall_thresholds": thresholds,
    }
