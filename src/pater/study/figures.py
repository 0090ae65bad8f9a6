"""The figures of the study, each drawn from a table.

Knows Matplotlib and the tables; computes only where things go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pater.data import DATA_SETS

from . import ink
from .plan import ALGORITHMS
from .statistics import Comparison

WIDE_NAMES = 1.9  # inches for a name and its rank
ZOOMED_FROM = 0.75  # of the stream
ZOOMED_BEST = 4  # algorithms that the inset makes room for
SAID_EVERY = 5  # one in so many points of a curve shows its value when pointed at


def distances(cells: pd.DataFrame, *, narrow: bool = False) -> str:
    """Every comparable cell of Table 2 as a dot: how far from the published mean, in published deviations.

    The narrow form is for phones.
    """
    cells = cells[cells["comparable"]]
    names = [name for name in ALGORITHMS if name in set(cells["algorithm"])]
    with ink.style():
        size = (4.2, 0.7 + 0.5 * len(names)) if narrow else (9.6, 0.7 + 0.36 * len(names))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.axvspan(-1, 1, color=ink.LINE, alpha=0.35, linewidth=0)
        axes.axvline(0, color=ink.MUTED, linewidth=0.8)
        for place, name in enumerate(names):
            part = cells[cells["algorithm"] == name].sort_values("distance")
            values = part["distance"].to_numpy()
            # A fixed pattern rather than a random one, so that neighbours do not hide each other.
            heights = place + 0.2 * np.sin(2.4 * np.arange(len(values)))
            says = [_said(cell) for cell in part.to_dict("records")]
            ink.points(axes, values, heights, says, color=ink.ALGORITHM[name])
            for dot in zip(part["data_set"], values, heights, strict=True):
                _name_if_outside(axes, *dot)
        reach = max(1.5, 1.1 * cells["distance"].abs().max())
        axes.set(xlim=(-reach, reach), ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)), yticklabels=names)
        axes.set_xlabel("published standard deviations from the published mean")
        axes.grid(axis="y", visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        key = "distances-narrow" if narrow else "distances"
        return ink.svg(figure, key, "Distance of every cell from the published mean")


def _name_if_outside(axes: Axes, key: str, distance: float, height: float) -> None:
    """Name the data set next to a dot outside the band, towards the middle, where there is always room."""
    if abs(distance) > 1:
        edge = "right" if distance > 0 else "left"
        axes.annotate(
            key,
            (distance, height),
            (0, 8),
            textcoords="offset points",
            ha=edge,
            va="center",
            fontsize=7,
            color=ink.MUTED,
        )


def _said(cell: dict[str, Any]) -> str:
    """A cell of Table 2 in words."""
    name, here, paper = DATA_SETS[cell["data_set"]].name, cell["mean"], cell["mean_published"]
    apart = f"{abs(cell['distance']):.2f} deviations {'above' if cell['distance'] >= 0 else 'below'}"
    return f"{cell['algorithm']} on {name}: {here:.2f} here, {paper:.2f} published, {apart}"


def curve(lines: pd.DataFrame, name: str, key: str) -> str:
    """Accuracy so far along the stream of one data set, with the end enlarged in an inset."""
    with ink.style():
        figure = Figure(figsize=(4.2, 3.7), layout="constrained")
        axes = figure.subplots()
        inset = axes.inset_axes((0.30, 0.05, 0.67, 0.36))
        shown = dict(list(lines.groupby("algorithm", sort=False)))
        for algorithm in (name for name in ALGORITHMS if name in shown):
            part = shown[algorithm]
            style = {"color": ink.ALGORITHM[algorithm], "linestyle": ink.dashes(algorithm)}
            label = f"{algorithm} ({part['accuracy'].iloc[-1]:.2f})"
            axes.plot(part["seen"], part["accuracy"], linewidth=1.5, label=label, **style)
            inset.plot(part["seen"], part["accuracy"], linewidth=1.2, **style)
            few = part.iloc[SAID_EVERY - 1 :: SAID_EVERY]
            says = [
                f"{algorithm} after {seen:,.0f} samples: {accuracy:.2f} %"
                for seen, accuracy in zip(few["seen"], few["accuracy"], strict=True)
            ]
            ink.points(axes, few["seen"], few["accuracy"], says, color=ink.ALGORITHM[algorithm], shown=False)
        _leave_room_below(axes, lines)
        _zoom(inset, lines)
        frame = axes.indicate_inset_zoom(inset, edgecolor=ink.MUTED, alpha=0.5, linewidth=0.7)
        for connector in frame.connectors or ():
            connector.set_visible(False)  # they would cross the curves
        axes.set(title=name, xlabel="samples seen", ylabel="accuracy so far, %")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_major_locator(MaxNLocator(4))
        figure.legend(loc="outside lower left", ncols=3, fontsize=7, handlelength=1.8, columnspacing=1.0)
        return ink.svg(figure, f"curve-{key}", f"Accuracy so far along the stream of {name}")


def _leave_room_below(axes: Axes, lines: pd.DataFrame) -> None:
    """Show the curves in the upper half; the first samples, where they jump, may leave the picture."""
    settled = lines[lines["seen"] >= 0.03 * lines["seen"].max()]["accuracy"]
    low, high = settled.min(), min(100.0, settled.max())
    height = max(high - low, 1.0)
    axes.set_ylim(low - 1.05 * height, high + 0.08 * height)
    axes.set_yticks([tick for tick in MaxNLocator(5).tick_values(low, high) if low - 0.1 * height <= tick <= high])
    axes.set_xlim(0, lines["seen"].max())


def _zoom(inset: Axes, lines: pd.DataFrame) -> None:
    end = lines[lines["seen"] >= ZOOMED_FROM * lines["seen"].max()]
    best = end.groupby("algorithm")["accuracy"].last().nlargest(ZOOMED_BEST).index
    values = end[end["algorithm"].isin(best)]["accuracy"]
    margin = 0.15 * max(values.max() - values.min(), 0.1)
    inset.set(xlim=(end["seen"].min(), end["seen"].max()), ylim=(values.min() - margin, values.max() + margin))
    inset.set_facecolor(ink.PAPER)
    inset.xaxis.set_major_locator(MaxNLocator(2))
    inset.yaxis.set_major_locator(MaxNLocator(3))
    inset.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    inset.tick_params(labelsize=6.5, length=0)
    inset.spines[:].set_visible(True)
    inset.spines[:].set(color=ink.MUTED, linewidth=0.7, alpha=0.5)


def critical_difference(
    comparison: Comparison,
    title: str,
    key: str,
    *,
    colours: Mapping[str, str] = ink.ALGORITHM,
    wide: bool = False,
) -> str:
    """Mean ranks on a line, the best at the left; bars join algorithms that the Nemenyi test cannot tell apart."""
    ranks = comparison.mean_ranks
    count, bars = len(ranks), len(comparison.groups)
    left = (count + 1) // 2
    depth = 0.3 + 0.22 * bars + 0.42 * left
    with ink.style():
        width, room, gap = 4.7, 1.75, 0.06
        if wide:
            width, room, gap = 9.6, WIDE_NAMES * (count - 1) / (9.6 - 2 * WIDE_NAMES), 0.01 * count
        figure = Figure(figsize=(width, 0.75 + 0.55 * depth), layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(1 - room, count + room), ylim=(-depth, 0.95), title=title)
        axes.axis("off")
        axes.plot([1, count], [0, 0], color=ink.INK, linewidth=1)
        for tick in range(1, count + 1):
            axes.plot([tick, tick], [0, 0.1], color=ink.INK, linewidth=1)
            axes.text(tick, 0.17, str(tick), ha="center", va="bottom", fontsize=8, color=ink.MUTED)
        reach = min(comparison.critical_distance, count - 1)
        axes.plot([1, 1 + reach], [0.62, 0.62], color=ink.MUTED, linewidth=1.4, marker="|", markersize=6)
        axes.text(1 + reach + gap + 0.04, 0.62, f"CD = {comparison.critical_distance:.3f}", va="center", fontsize=8)
        for level, group in enumerate(comparison.groups):
            height = -0.22 * (level + 1)
            span = [ranks[group[0]] - 0.05, ranks[group[-1]] + 0.05]
            axes.plot(span, [height, height], color=ink.INK, linewidth=3.2, solid_capstyle="round", alpha=0.75)
        for place, (name, rank) in enumerate(ranks.items()):
            first_half = place < left
            row = place if first_half else count - 1 - place
            height = -(0.4 + 0.22 * bars + 0.42 * row)
            edge = 0.95 if first_half else count + 0.05
            axes.plot([rank, rank, edge], [0, height, height], color=colours[str(name)], linewidth=1.2)
            beside, side = (-gap, "right") if first_half else (gap, "left")
            axes.text(edge + beside, height, f"{name}  {rank:.2f}", ha=side, va="center", fontsize=8.5)
        return ink.svg(figure, f"ranks-{key}", f"Critical-difference diagram: {title}")
