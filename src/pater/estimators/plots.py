"""Plots. Matplotlib comes with the `study` extra and is imported only when something is drawn."""

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
from ..preprocessing.curves import Curve, rounding_of
from .auto import AutoPATERClassifier
from .base import at_least_two
from .explaining import NEEDS_ENCODER, curves_of, spoken_for
from .inputs import check_labels, take_rows
from .online import OnlineClassifier
from .parameters import one_of
from .pipeline import OnlinePipeline

MOST_BARS = 12  # of a column of categories or words


def plot_progress(
    estimator: OnlineClassifier | OnlinePipeline,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    scoring: str = "balanced_accuracy",
    ax: Any = None,
) -> Any:
    """Draw progressive scores along the stream, each row judged before it is learned from.

    For an `AutoPATERClassifier`, the score of its predictions is drawn; for the paper's wPATER, the scores of all
    settings, with the chosen one on top. Any other online learner keeps no scores: given rows, a fresh copy of it
    learns from them, and its score is drawn.

    Parameters
    ----------
    estimator : AutoPATERClassifier, a pipeline that ends in one, or another online learner
        Auto must be fitted on at least sixteen rows; any other may be unfitted.
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        The rows for a learner that keeps no scores, in the order of the stream.
    y : array-like of shape (n_samples,), optional
        Their labels.
    label : optional
        The class whose problem to draw, if there are more than two.
    scoring : str, default="balanced_accuracy"
        The score to draw for a learner that keeps none, by its name in `AutoPATERClassifier`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
        With the drawing.
    """
    import matplotlib.pyplot as plt

    if isinstance(estimator, OnlinePipeline):
        estimator = _auto_of(estimator)
    if not isinstance(estimator, AutoPATERClassifier):
        if X is None or y is None:
            name = type(estimator).__name__
            raise ValueError(f"{name} keeps no scores along the stream: give the rows, plot_progress(model, X, y).")
        rows, values = _along(estimator, X, y, label, one_of("scoring", scoring, tuple(SCORES)))
        ax = ax if ax is not None else plt.subplots(figsize=(7, 4), layout="constrained")[1]
        ax.plot(rows, values, color="black", linewidth=2, label=type(estimator).__name__)
        return _labelled(ax, scoring)
    model = estimator._fitted_model()
    problem = _problem(model.classes, label)
    width = 1 if isinstance(model, Pool) else len(model.specs)
    history = model.history.points if model.history is not None else []
    kept = [(rows, counts) for rows, counts in history if len(counts) == model.state.n_models and counts.any()]
    if not kept:
        raise ValueError("there is nothing to draw yet: first learn from at least sixteen rows of both classes.")
    rows = np.array([n for n, _ in kept])
    counts = np.stack([c[problem * width : (problem + 1) * width] for _, c in kept])
    values = score(Confusion(*np.moveaxis(counts, 2, 0)), estimator.scoring, estimator.scoring_settings)
    chosen = estimator._chosen(model)[problem] % width
    ax = ax if ax is not None else plt.subplots(figsize=(7, 4), layout="constrained")[1]
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


def _auto_of(pipeline: OnlinePipeline) -> AutoPATERClassifier:
    """The last step, if it has kept its scores."""
    last = pipeline.steps[-1][1]
    if not isinstance(last, AutoPATERClassifier):
        raise ValueError(
            f"the pipeline ends in {type(last).__name__}, which keeps no scores along the stream: end it in an "
            "AutoPATERClassifier, or give the learner itself and encoded rows, plot_progress(learner, X, y)."
        )
    return last


def _labelled(ax: Any, scoring: str) -> Any:
    ax.set(xscale="log", xlabel="samples", ylabel=f"progressive {scoring.replace('_', ' ')}")
    ax.legend(frameon=False)
    return ax


def _along(
    estimator: OnlineClassifier, X: Any, y: Any, label: Any, scoring: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Row numbers, and the score up to each of a copy that learns from the rows in order."""
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
    """The index of the label's one-vs-rest problem; with two classes there is only one."""
    if classes.size <= 2:
        return 0
    if label not in classes.tolist():
        raise ValueError(f"label must be one of the classes {classes.tolist()}, got {label!r}.")
    return int(classes.tolist().index(label))


def plot_effects(model: OnlinePipeline, columns: Any = None, *, label: Any = None, axes: Any = None) -> Any:
    """Draw what each raw column of a table adds to the margin, compared with the average row.

    Numbers and dates are drawn as lines, everything else as bars; bands and error bars show two standard errors on
    either side, where the model has them. Grey columns show how many rows lie there.

    Parameters
    ----------
    model : OnlinePipeline
        A `TableEncoder` and a fitted classifier.
    columns : list of str, optional
        What to draw: columns of the table, or for dates also "when: hour", "when: weekday" and "when: month". By
        default, the nine curves that matter most.
    label : optional
        The class whose margin to draw, if there are more than two.
    axes : sequence of matplotlib Axes, optional
        Where to draw, one for each curve; a new figure otherwise.

    Returns
    -------
    ndarray of matplotlib Axes
        With the drawings.
    """
    import matplotlib.pyplot as plt

    if not isinstance(model, OnlinePipeline):
        raise TypeError(NEEDS_ENCODER)
    steps = model._speaking()
    place = _problem(model.classes_, label)
    found = [curve for curve in curves_of(steps) if curve.model == place]
    if columns is not None:
        unknown = [name for name in columns if not any(name in (each.column, each.name) for each in found)]
        if unknown:
            raise ValueError(f"there is no effect of {unknown[0]!r}; choose from {[each.name for each in found]}.")
        found = [each for name in columns for each in found if name in (each.column, each.name)]
    if not found:
        raise ValueError("no column has an effect on the margin.")
    rounding = rounding_of(found)
    found = sorted(found, key=lambda each: -each.spread)[:9] if columns is None else found
    if axes is None:
        across = min(3, max(1, len(found)))
        down = -(-len(found) // across)
        axes = plt.subplots(down, across, figsize=(4.2 * across, 3.1 * down), squeeze=False, layout="constrained")[1]
        for spare in axes.ravel()[len(found) :]:
            spare.remove()
    drawn = np.ravel(axes)[: len(found)]
    if drawn.size < len(found):
        raise ValueError(f"there are {len(found)} curves to draw, but {drawn.size} axes to draw them in.")
    for ax, curve in zip(drawn, found, strict=True):
        _draw_line(ax, curve) if curve.pieces else _draw_bars(ax, curve)
        if curve.largest <= rounding:  # rounding is drawn as 0
            ax.set(**{"ylim" if curve.pieces or curve.part == "hour" else "xlim": (-1.0, 1.0)})
        ax.set_title(curve.name)
    for ax in drawn[:1]:
        ax.set_ylabel(f"adds to the margin of {spoken_for(steps[-1][1])[place]}")
    return drawn


def _draw_line(ax: Any, curve: Curve) -> None:
    """Draw the effect of numbers or dates along their axis; missing values are a dotted line."""
    pieces = curve.pieces
    at: NDArray[Any] = np.array([value for piece in pieces for value in (piece.start, piece.end)])
    at = at.astype(np.int64).astype("M8[s]") if curve.kind == "date" else at
    values = np.array([value for piece in pieces for value in (piece.effect_at_start, piece.effect_at_end)])
    errors = 2 * np.repeat([piece.standard_error for piece in pieces], 2)
    rows = np.array([piece.rows or 0 for piece in pieces], np.float64)
    if rows.any():
        beneath = ax.twinx()
        beneath.bar(at[::2], rows, at[1::2] - at[::2], align="edge", color="0.5", alpha=0.18, edgecolor="white")
        beneath.set(ylim=(0, 4 * rows.max()), yticks=[])
    ax.axhline(0, color="0.7", linewidth=0.8)
    if np.isfinite(errors).all():
        ax.fill_between(at, values - errors, values + errors, color="tab:blue", alpha=0.2, linewidth=0)
    ax.plot(at, values, color="tab:blue", linewidth=1.6)
    for effect in curve.effects:
        if effect.kind == "missing":
            ax.axhline(effect.effect, color="tab:orange", linestyle=":", label="missing")
            ax.legend(frameon=False)
    if curve.kind == "date":
        import matplotlib.dates

        dates: Any = matplotlib.dates
        locator = dates.AutoDateLocator(maxticks=6)
        ax.xaxis.set(major_locator=locator, major_formatter=dates.ConciseDateFormatter(locator))


def _draw_bars(ax: Any, curve: Curve) -> None:
    """Draw the effect of each value; if there are too many, of those that matter most."""
    effects = curve.foremost(MOST_BARS)
    if not curve.part:
        effects.sort(key=lambda effect: effect.effect)
    names = [effect.value.removeprefix(f"{curve.part} ") for effect in effects]
    errors = [2 * effect.standard_error for effect in effects]
    sizes = [effect.effect for effect in effects]
    across = curve.part == "hour"
    (ax.bar if across else ax.barh)(range(len(effects)), sizes, color="tab:blue", alpha=0.8)
    if np.isfinite(errors).all():
        points = (range(len(effects)), sizes) if across else (sizes, range(len(effects)))
        ax.errorbar(*points, **{"yerr" if across else "xerr": errors}, fmt="none", ecolor="0.3", elinewidth=0.8)
    if across:
        ax.set(xticks=range(0, len(effects), 6), xticklabels=[name.split()[0] for name in names[::6]])
        ax.axhline(0, color="0.7", linewidth=0.8)
    else:
        ax.set(yticks=range(len(effects)), yticklabels=[name if len(name) < 25 else f"{name[:24]}…" for name in names])
        ax.axvline(0, color="0.7", linewidth=0.8)
        if curve.part:
            ax.invert_yaxis()
