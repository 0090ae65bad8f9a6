"""Matplotlib figures as SVG that take their colours from the page around them, light or dark.

Knows Matplotlib; knows nothing of the study. A figure is drawn in stand-in colours, each of which is replaced by a CSS
variable with a fallback, so that the file also works on its own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, LINE, PAPER = "#010101", "#010102", "#010103", "#010104"
ALGORITHM = {
    "PE": "#020201",
    "PA": "#020202",
    "PATER-I": "#020203",
    "PATER-II": "#020204",
    "wPATER-I": "#020205",
    "wPATER-II": "#020206",
}
DASHES = {"PE": "1 1", "PA": "", "PATER-I": "3 1.2", "PATER-II": "3 1.2", "wPATER-I": "", "wPATER-II": ""}

_ON_THE_PAGE = {
    INK: "var(--ink, #1d2330)",
    MUTED: "var(--muted, #667085)",
    LINE: "var(--line, #d9dde5)",
    PAPER: "var(--paper, #ffffff)",
    ALGORITHM["PE"]: "var(--pe, #9aa1ad)",
    ALGORITHM["PA"]: "var(--pa, #5c6473)",
    ALGORITHM["PATER-I"]: "var(--pater-i, #7fb0dd)",
    ALGORITHM["PATER-II"]: "var(--pater-ii, #e9b27c)",
    ALGORITHM["wPATER-I"]: "var(--wpater-i, #1667b0)",
    ALGORITHM["wPATER-II"]: "var(--wpater-ii, #c4620a)",
}

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pater",  # the same file for the same figure
    "font.size": 9,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.5,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "text.color": INK,
    "legend.frameon": False,
}


@contextmanager
def style() -> Iterator[None]:
    """A context in which to draw."""
    with matplotlib.rc_context(_STYLE):
        yield


def dashes(algorithm: str) -> Any:
    """The line style of an algorithm, so that colour is not the only difference."""
    lengths = [float(length) for length in DASHES[algorithm].split()]
    return (0, lengths) if lengths else "solid"


def points(axes: Axes, x: Any, y: Any, says: Sequence[str], *, color: str, shown: bool = True) -> None:
    """Dots that show a text when pointed at; those with `shown=False` become visible only then."""
    dots = axes.scatter(x, y, s=16, color=color, alpha=0.85 if shown else 0.0, linewidths=0)
    dots.set_urls(says)  # the only text that Matplotlib writes next to each dot; `svg` turns it into a title


def svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an SVG element that scales with its place; `name` prefixes its ids to keep figures apart."""
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"([^>]*?) width="[^"]*"', r"\1\2", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"([^>]*?) height="[^"]*"', r"\1\2", text)
    point = r'<g class="point"><title>\1</title>\2</g>'
    text = re.sub(r'<a xlink:href="([^"]*)"[^>]*>\s*(.*?)\s*</a>', point, text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", text)
    text = re.sub(r"font: ([^;\"]*?)px [^;\"]*", r"font: \1px var(--sans, sans-serif)", text)
    for stand_in, colour in _ON_THE_PAGE.items():
        text = text.replace(stand_in, colour)
    return text.replace("<svg ", f'<svg role="img" aria-label="{description}" ', 1)
