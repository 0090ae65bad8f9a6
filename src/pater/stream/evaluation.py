"""How good a model is on labelled data: a saved one, or a learner judged on each row before it learns from it.

Knows `learner` and `reading`. Margins and classes of all rows are kept, nine bytes or so a row, for the curves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.writing import replacing
from ..formats.batches import Batch
from ..formats.errors import InputError, Skipped
from ..models.errors import NotFiniteError, TwoClassesError
from ..models.labels import encode
from ..models.matrices import part
from ..models.metrics import (
    Confusion,
    balanced_accuracy,
    f1,
    false_negative_rate,
    false_positive_rate,
    g_mean,
    total_error_rate,
)
from ..models.pool import Pool
from .learner import STATE_TOO_LARGE, Learner, width_told

PIECE = 4096  # rows judged by the model that was best before them
MOST_MARGINS = 1 << 24  # of a piece: with very many models it is shorter
LOWEST = -np.finfo(np.float64).max  # what a class that is not known yet says
POINTS = 200  # of a curve
FIRST_PIECE = 64  # with an operating point, whose threshold is found out along the way
LEAST_PROBABILITY = 1e-15  # that a log loss is counted for


class Judged:
    """What was said of labelled rows, and what they were."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[Any], NDArray[np.float64], NDArray[Any]]] = []
        self._thresholds: list[NDArray[np.float64]] = []
        self.probabilities: list[dict[str, float]] = []  # how good they were, of each class or of the second of two

    def add(
        self, classes: NDArray[Any], margins: NDArray[np.float64], labels: NDArray[Any], threshold: float = 0.0
    ) -> None:
        """Margins (rows, problems) of models of these classes, of two the second from the threshold on."""
        self._parts.append((classes, margins, labels))
        self._thresholds.append(np.full(labels.size, threshold))

    def result(self) -> dict[str, Any]:
        """The confusion matrix, rates and curves; of more than two classes, each against the rest."""
        if not self._parts:
            raise InputError("there is no row to judge by.")
        classes = self._parts[-1][0]
        margins = np.concatenate([_for_classes(classes, *some) for *some, _ in self._parts])
        labels = np.concatenate([labels for _, _, labels in self._parts])
        known = encode(labels, classes)
        if known.new.size:
            raise InputError(f"the data has the class {known.new.tolist()[0]!r}, which the model does not know.")
        second = margins[:, -1] >= np.concatenate(self._thresholds)
        said = second.astype(np.int64) if classes.size == 2 else margins.argmax(axis=1)
        matrix = np.bincount(known.codes * classes.size + said, minlength=classes.size**2).reshape(classes.size, -1)
        recalls = [row[k] / row.sum() for k, row in enumerate(matrix) if row.sum()]
        shown = [1] if classes.size == 2 else range(classes.size)
        told = self.probabilities or [{} for _ in shown]
        return {
            "rows": int(labels.size),
            "classes": classes.tolist(),
            "confusion": matrix.tolist(),
            "accuracy": float(np.trace(matrix) / labels.size),
            "balanced_accuracy": float(np.mean(recalls)),
            "of_class": [
                {"class": classes[k].item(), **_rates(matrix, k), **of_k, **_curves(margins[:, k], known.codes == k)}
                for k, of_k in zip(shown, told, strict=True)
            ],
        }


def _for_classes(classes: NDArray[Any], then: NDArray[Any], margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Margins of the classes known then, with a column for each class known now."""
    if then.size == 2:
        margins = np.hstack([-margins, margins])
    if then.size == classes.size:
        return margins
    filled = np.full((len(margins), classes.size), LOWEST)
    filled[:, np.searchsorted(classes, then)] = margins
    return filled


def _rates(matrix: NDArray[Any], k: int) -> dict[str, float]:
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


def _curves(margins: NDArray[np.float64], positive: NDArray[np.bool_]) -> dict[str, Any]:
    """The areas under both curves, and some points of them. Rows of equal margin are called together."""
    order = np.argsort(-margins, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(margins[order])), margins.size - 1)
    tp = np.cumsum(positive[order])[ends].astype(np.float64)
    fp = ends + 1.0 - tp
    n_pos, n_neg = float(positive.sum()), float((~positive).sum())
    if not n_pos or not n_neg:
        return {"roc_auc": None, "average_precision": None, "roc": [], "precision_recall": []}
    tpr, fpr = np.append(0.0, tp / n_pos), np.append(0.0, fp / n_neg)
    precision = tp / (tp + fp)
    some = np.unique(np.linspace(0, ends.size - 1, min(POINTS, ends.size)).astype(int))
    return {
        "roc_auc": float(np.trapezoid(tpr, fpr)),
        "average_precision": float(np.sum(np.diff(tpr) * precision)),
        "roc": [[0.0, 0.0], *np.stack([fpr[1:][some], tpr[1:][some]], axis=1).tolist()],
        "precision_recall": np.stack([tpr[1:][some], precision[some]], axis=1).tolist(),
    }


def judge(learner: Learner, batches: Iterator[Batch], skipped: Skipped) -> Judged:
    """A saved model against labelled rows; `skipped` takes note of those that were left out."""
    judged, losses, n_rows = Judged(), np.zeros(1), 0
    for batch in batches:
        skipped.add(batch.faults)
        if len(batch):
            assert batch.labels is not None
            margins = learner.finite_margins(batch, skip=False)
            judged.add(learner.classes, margins, batch.labels, learner.threshold())
            if learner.specs[0].calibrate:
                losses = losses + _losses(learner.probabilities(margins), batch.labels, learner.classes)
                n_rows += len(batch)
    if n_rows:
        judged.probabilities = [{"brier": float(a), "log_loss": float(b)} for a, b in losses / n_rows]
    return judged


def _losses(p: NDArray[np.float64], labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """The sums of the squared errors and of the log losses of probabilities, of each class or of the second of two."""
    is_class = labels[:, None] == classes[None, :]
    of_truth = np.maximum(np.where(is_class, p, 1.0 - p), LEAST_PROBABILITY)
    losses = np.stack([np.square(1.0 - of_truth).sum(axis=0), -np.log(of_truth).sum(axis=0)], axis=1)
    return losses[1:] if classes.size == 2 else losses


def judge_progressively(learner: Learner, batches: Iterator[Batch], skipped: Skipped) -> Judged:
    """A learner that is asked about each row just before it learns from it; `skipped` notes those left out."""
    judged = Judged()
    for batch in batches:
        ready, faults = learner.prepare(batch)
        skipped.add([*batch.faults, *faults])
        if not len(ready):
            continue
        assert learner.model is not None
        assert ready.labels is not None
        stop = 0
        while stop < len(ready):
            start = stop
            stop = min(start + _piece(learner), len(ready))
            some, weights = part(ready.rows, start, stop), ready.weights[start:stop]
            with width_told(ready.source):
                _learn_and_judge(learner, some, ready.labels[start:stop], weights, judged)
            learner.rows += stop - start
    if learner.model is not None:
        judged.probabilities = learner.probability_scores()
    return judged


def _piece(learner: Learner) -> int:
    """How many rows are judged by the model that was best, and the threshold that was right, before them."""
    assert learner.model is not None
    if isinstance(learner.model, Pool):  # which may go over to another candidate
        return learner.model.next_decision - learner.model.rows
    most = max(1, MOST_MARGINS // max(1, learner.model.state.n_models))
    return min(PIECE if learner.model.seen is None else max(FIRST_PIECE, min(PIECE, learner.rows)), most)


def _learn_and_judge(learner: Learner, rows: Any, labels: NDArray[Any], weights: Any, judged: Judged) -> None:
    model = learner.model
    assert model is not None
    said = []

    def room(start: int, stop: int) -> NDArray[np.float64] | None:
        if start == stop:
            return None
        margins = np.full((model.state.n_models, stop - start), LOWEST)
        said.append((model.classes, learner.chosen(), margins, labels[start:stop], learner.threshold()))
        return margins

    encoded = encode(labels, model.classes)
    try:
        model.learn_encoded(rows, encoded, weights=weights, threads=learner.threads, room=room)
    except NotFiniteError:
        raise InputError(STATE_TOO_LARGE) from None
    except TwoClassesError as error:
        raise InputError(str(error)) from None
    for classes, chosen, margins, some, threshold in said:
        judged.add(classes, margins[chosen].T, some, threshold)


def plot(result: dict[str, Any], path: Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Both curves of each class as a picture, which is not written over what was read."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("a picture needs matplotlib: pip install 'pater[study]'.") from None
    figure = Figure(figsize=(9, 4), layout="constrained")
    roc, precision_recall = figure.subplots(1, 2)
    for each in result["of_class"]:
        if each["roc"]:
            roc.plot(*zip(*each["roc"], strict=True), label=f"{each['class']}: area {each['roc_auc']:.3f}")
            points = zip(*each["precision_recall"], strict=True)
            precision_recall.plot(*points, label=f"{each['class']}: average {each['average_precision']:.3f}")
            precision_recall.plot(each["recall"], each["precision"], "ko", markersize=4)
            roc.plot(each["fpr"], each["recall"], "ko", markersize=4)
    roc.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    roc.set(xlabel="false-positive rate", ylabel="true-positive rate", title="ROC")
    precision_recall.set(xlabel="recall", ylabel="precision", title="Precision and recall", ylim=(0, 1.02))
    for axes in (roc, precision_recall):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
    try:
        with replacing(path, inputs) as file:
            figure.savefig(file, format=path.suffix[1:].lower() or "png")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}.") from None
