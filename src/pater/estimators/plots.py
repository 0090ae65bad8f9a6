"""Pictures of learning. Matplotlib comes with the `study` extra, and only when a picture is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.choice import score
from ..models.metrics import Confusion
from .auto import AutoPATERClassifier


def plot_progress(estimator: AutoPATERClassifier, *, label: Any = None, ax: Any = None) -> Any:
    """Draw the progressive score of every setting along the stream, the chosen one on top of the others.

    Parameters
    ----------
    estimator : AutoPATERClassifier
        Fitted on at least sixteen rows.
    label : optional
        Whose problem to draw, when there are more than two classes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes
        With the drawing.
    """
    import matplotlib.pyplot as plt

    model = estimator._fitted_model()
    problem = 0
    if model.classes.size > 2:
        if label not in model.classes.tolist():
            raise ValueError(f"label must say which of the classes {model.classes.tolist()} to draw, got {label!r}.")
        problem = model.classes.tolist().index(label)
    width = len(model.specs)
    history = model.history.points if model.history is not None else []
    kept = [(rows, counts) for rows, counts in history if len(counts) == model.state.n_models]
    if not kept:
        raise ValueError("there is nothing to draw yet: learn from at least sixteen rows first.")
    rows = np.array([n for n, _ in kept])
    counts = np.stack([c[problem * width : (problem + 1) * width] for _, c in kept])
    values = score(Confusion(*np.moveaxis(counts, 2, 0)), estimator.scoring, estimator.scoring_settings)
    chosen = estimator._chosen(model)[problem] % width
    ax = ax if ax is not None else plt.subplots(figsize=(7, 4))[1]
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
    ax.set(xscale="log", xlabel="samples", ylabel=f"progressive {estimator.scoring.replace('_', ' ')}")
    ax.legend(frameon=False)
    return ax
