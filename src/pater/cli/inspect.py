"""`pater inspect`: show what a model file holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from . import options as o
from .library import one_line_errors
from .terminal import printable, tell, tell_json

EXAMPLE = """\b
Examples:
  pater inspect rows.pater
  pater inspect rows.pater --top 50 --json
"""


def inspect(
    model: o.ModelIn,
    top: Annotated[
        int, typer.Option("--top", min=0, metavar="N", help="How many of the largest weights to show.")
    ] = 10,
    as_json: o.AsJson = False,
) -> None:
    """Show what a model learned from, its settings and counts, the columns that matter, and its largest weights."""
    with one_line_errors():
        from pater.stream import load
        from pater.stream.inspection import summary

        told = summary(load(model), top)
    if as_json:
        tell_json(told, indent=1)
        return
    for name, value in told.items():
        if name in ("largest_weights", "columns_that_matter"):
            continue
        if isinstance(value, dict):
            _pairs(name, value)
        else:
            tell(f"{name.replace('_', ' ') + ':':<14}{_text(value)}")
    for each in told.get("columns_that_matter", []):
        _table(f"columns that matter, class {each['class']}, by how much their effects differ", each["spreads"][:top])
    for each in told["largest_weights"]:
        _table(f"largest weights, class {each['class']}, by {each['rule']}", each["weights"])


def _pairs(name: str, value: dict[str, Any]) -> None:
    shown = ", ".join(f"{key.replace('_', ' ')} {_text(each)}" for key, each in value.items())
    tell(f"{name.replace('_', ' ') + ':':<14}{shown}")


def _table(title: str, lines: list[tuple[str, float]]) -> None:
    if not lines:
        return
    tell()
    tell(title)
    names = [printable(str(name)) for name, _ in lines]
    width = max(map(len, names))
    for name, (_, value) in zip(names, lines, strict=True):
        tell(f"  {name:<{width}}  {value: .6g}")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    return f"{value:,}" if type(value) is int else str(value)
