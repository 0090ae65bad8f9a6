"""Balanced accuracy along the streams, with a panel for each.

Knows Matplotlib and the tables; computes only where things go.
"""

from __future__ import annotations

from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from .. import ink
from .streams import BEST_REACHABLE, KINDS, ROWS, SHARES, Stream

# What is drawn, by column of the summary: name in the legend, whose colour it has, width and dashes. The most important
# is on top.
LINES: dict[str, tuple[str, str, float, Any]] = {
    "no_memory_setting": ("Auto without memory", "PA", 1.3, (0, (1, 1))),
    "peer_setting": ("best published learner in hindsight", "PATER-II", 1.3, "solid"),
    "best_setting": ("best single setting in hindsight", "PA", 1.3, "solid"),
    "auto_setting": ("Auto", "wPATER-I", 1.9, "solid"),
}


def along_the_streams(summary: pd.DataFrame, windows: pd.DataFrame) -> str:
    """Kinds of drift from top to bottom, shares of positives from left to right."""
    chosen = summary.set_index("data_set")
    with ink.style():
        figure = Figure(figsize=(9.6, 1.0 + 1.75 * len(KINDS)), layout="constrained")
        panels = figure.subplots(len(KINDS), len(SHARES), sharex=True, sharey=True, squeeze=False)
        for line, kind in zip(panels, KINDS, strict=True):
            for axes, share in zip(line, SHARES, strict=True):
                stream = Stream(kind, share)
                part = windows[windows["data_set"] == stream.key].set_index("setting")
                _panel(axes, stream, {name: part.loc[chosen.loc[stream.key, name]] for name in LINES})
        for axes in panels[-1]:
            axes.set_xlabel("rows seen")
        figure.supylabel("balanced accuracy in windows, %", fontsize=8.5, color=ink.MUTED)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside lower left", ncols=4, fontsize=8, handlelength=1.8)
        return ink.svg(figure, "drift", "Balanced accuracy along the streams")


def _panel(axes: Axes, stream: Stream, lines: dict[str, pd.DataFrame]) -> None:
    axes.axhline(BEST_REACHABLE, color=ink.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    for change in stream.changes:
        axes.axvline(change * ROWS, color=ink.MUTED, linewidth=0.7, alpha=0.5)
    for name, part in lines.items():
        label, like, width, dashes = LINES[name]
        axes.plot(
            part["seen"],
            part["score"],
            color=ink.ALGORITHM[like],
            linewidth=width,
            linestyle=dashes,
            label=label,
        )
        says = [
            f"{label}, up to row {seen:,}: {score:.1f} %"
            for seen, score in zip(part["seen"], part["score"], strict=True)
        ]
        ink.points(axes, part["seen"], part["score"], says, color=ink.ALGORITHM[like], shown=False)
    axes.set(title=f"{stream.kind}, {100 * stream.share:g} %", xlim=(0, ROWS), ylim=(40, 97))
    axes.xaxis.set_major_locator(MultipleLocator(ROWS / 4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_locator(MultipleLocator(20))
    axes.grid(axis="x", visible=False)
