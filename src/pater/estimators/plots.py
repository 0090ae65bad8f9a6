"""Pictures of learning. Matplotlib comes with the `study` extra, and only when a picture is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..models.choice import score
from ..models.history import History
from ..models.labels import classes_and_codes
from ..models.metrics import SCORES, Confusion
from ..models.model import Model
from ..models.pool import Pool
from .auto import AutoPATERClassifier
from .base import at_least_two
from .inputs import check_labels, take_rows
from .online import OnlineClassifier
from .parameters import one_of


def plot_progress(
    estimator: OnlineClassifier,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    scoring: str = "balanced_accuracy",
    ax: Any = None,
) -> Any:
    """Draw progressive scores along the stream, each row judged before it is learned from.

    An `AutoPATERClassifier` has kept the score of its answers: it is drawn; of the paper's wPATER, the scores of all
    settings, the chosen one on top of the others.
    Any other online learner keeps none; given rows, a fresh copy of it learns from them, and its score is drawn.

    Parameters
    ----------
    estimator : AutoPATERClassifier, or another online learner
        Auto fitted on at least sixteen rows; any other fitted or not.
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        The rows for a learner that keeps no scores, in the order of the stream.
    y : array-like of shape (n_samples,), optional
        Their labels.
    label : optional
        Whose problem to draw, when there are more than two classes.
    scoring : str, default="balanced_accuracy"
        The score to draw of a learner that keeps none, by a name that `AutoPATERClassifier` has for it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
        With the drawing.
    """
    import matplotlib.pyplot as plt

    if not isinstance(estimator, AutoPATERClassifier):
        if X is None or y is None:
            name = type(estimator).__name__
            raise ValueError(f"{name} keeps no scores along the stream: give the rows, plot_progress(model, X, y).")
        rows, values = _along(estimator, X, y, label, one_of("scoring", scoring, tuple(SCORES)))
        ax = ax if ax is not None else plt.subplots(figsize=(7, 4))[1]
        ax.plot(rows, values, color="black", linewidth=2, label=type(estimator).__name__)
        return _labelled(ax, scoring)
    model = estimator._fitted_model()
    problem = _problem(model.classes, label)
    width = 1 if isinstance(model, Pool) else len(model.specs)
    history = model.history.points if model.history is not None else []
    kept = [(rows, counts) for rows, counts in history if len(counts) == model.state.n_models]
    if not kept:
        raise ValueError("there is nothing to draw yet: learn from at least sixteen rows first.")
    rows = np.array([n for n, _ in kept])
    counts = np.stack([c[problem * width : (problem + 1) * width] for _, c in kept])
    values = score(Confusion(*np.moveaxis(counts, 2, 0)), estimator.scoring, estimator.scoring_settings)
    chosen = estimator._chosen(model)[problem] % width
    ax = ax if ax is not None else plt.subplots(figsize=(7, 4))[1]
    if isinstance(model, Pool):
        ax.plot(rows, values[:, 0], color="black", linewidth=2, label="what was predicted")
        return _labelled(ax, estimator.scoring)
    for k in range(width):
        colour = "tab:blue" if model.specs[k].rule == "pater-i" else "tab:orange"
        ax.plot(rows, values[:, k], color=colour, alpha=0.35, linewidth=0.8)
    spec = model.specs[chosen]
    weighted = "w" if spec.alphas != (1.0, 1.0) else ""
    name = f"{weighted}{spec.rule.upper()}, α⁻ = {spec.alphas[0]:g}, α⁺ = {spec.alphas[1]:g}"
    ax.plot(rows, values[:, chosen], color="black", linewidth=2, label=f"chosen: {name}")
    for rule, colour in (("PATER-I", "tab:blue"), ("PATER-II", "tab:orange")):
        if any(each.rule == rule.lower() for each in model.specs):
            ax.plot([], [], color=colour, alpha=0.6, label=f"{rule}, other weights")
    return _labelled(ax, estimator.scoring)


def _labelled(ax: Any, scoring: str) -> Any:
    ax.set(xscale="log", xlabel="samples", ylabel=f"progressive {scoring.replace('_', ' ')}")
    ax.legend(frameon=False)
    return ax


def _along(
    estimator: OnlineClassifier, X: Any, y: Any, label: Any, scoring: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of rows, and the score up to there of a copy that learns from them in their order."""
    fresh = clone(estimator)
    rows = take_rows(fresh, X, reset=True)
    classes, codes = classes_and_codes(check_labels(y, rows))
    at_least_two(classes)
    problem = _problem(classes, label)
    model = Model.new(classes, int(fresh.n_features_in_), fresh._checked_specs())
    margins = np.empty((model.state.n_models, codes.size))
    model.learn_all(rows, codes, margins=margins)
    positive = codes == (1 if classes.size == 2 else problem)
    says = margins[problem] >= 0
    points = np.array(History().cuts(codes.size))
    groups = (positive & says, ~positive & says, ~positive & ~says, positive & ~says)
    return points, score(Confusion(*(np.cumsum(group)[points - 1] for group in groups)), scoring)


def _problem(classes: NDArray[Any], label: Any) -> int:
    """Which of the one-vs-rest problems is the label's; of two classes there is one."""
    if classes.size <= 2:
        return 0
    if label not in classes.tolist():
        raise ValueError(f"label must say which of the classes {classes.tolist()} to draw, got {label!r}.")
    return int(classes.tolist().index(label))
