"""The page of `pater explain --html`: effect curves, and rows if there are any, in one file that needs no network.

Knows `explanation` and `effects_svg`. Everything that comes from data is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from ..files.writing import writing
from ..formats.errors import InputError
from ..preprocessing.curves import Curve, rounding_of
from .effects_svg import drawing, shown
from .explanation import bases, curves_of, spoken_for
from .inspection import candidate_told
from .learner import Learner

READING = """<p>The margin of a row is the margin of the average row plus one number for each column: its effect. Where
a line is above zero, rows with such values have a larger margin than the average row; from the threshold on, the class
is predicted. The grey columns below a line and the numbers beside a bar say how many rows the effect was learned
from.</p>
<p>Bands and thin lines reach two standard errors to both sides, by the covariance that the model keeps: about that much
the effect would differ if the model had learned from other rows of the same kind. Where there are none, the model does
not know.</p>"""


def write_page(
    learner: Learner, output: Path, model: Path, rows: list[dict[str, Any]], inputs: Iterable[str] = ()
) -> None:
    """Write the page, but never over an input."""
    text = page(learner, model.name, rows)
    try:
        with writing(output, [model, *inputs]) as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror or error}.") from None


def page(learner: Learner, name: str, rows: list[dict[str, Any]]) -> str:
    """The page as HTML."""
    found = curves_of(learner) if learner.encoder is not None else []
    if not found and not rows:
        curves_of(learner)  # raises an error that says why there are none
    style = files("pater.stream").joinpath("page/effects.css").read_text("utf-8")
    parts = [_head(learner, name, found)]
    for model, label in enumerate(spoken_for(learner)):
        mine = [curve for curve in found if curve.model == model]
        if mine:
            parts.append(_curves(mine, label, several=learner.classes.size > 2))
    if rows:
        parts.append(_rows(rows))
    if found:
        parts.append(f'<section id="reading"><h2>How to read this</h2>{READING}</section>')
    title = escape(f"{name}: what it learned")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>\n{style}</style></head>\n<body>{''.join(parts)}"
        "<footer><p>Written by <code>pater explain</code>. It needs no network.</p></footer></body></html>\n"
    )


def _head(learner: Learner, name: str, found: list[Curve]) -> str:
    labels = spoken_for(learner)
    order = list(dict.fromkeys(curve.column for curve in found))
    first = ", ".join(f"<b>{escape(column)}</b>" for column in order[:3])
    lead = f"What matters most: {first}." if first else "What makes up the margins of some rows."
    if found and not all(curve.is_counted for curve in found):
        lead += " Rows were not counted when this model was trained, so effects are not centred on the average row."
    cards = [(f"{learner.rows:,}", "rows learned from")]
    if found:
        cards.append((f"{len(order)}", "columns with an effect"))
    for label, base in list(zip(labels, bases(learner), strict=True))[:4]:
        of_what = "margin of the average row" if found else "intercept"
        cards.append((f"{base:+.3f}", f"{of_what}, class {escape(str(label))}"))
    if learner.classes.size == 2:
        cards.append((f"{learner.threshold():.3g}", f"from this margin on, {escape(str(labels[0]))} is predicted"))
    drawn = "".join(f'<div class="card"><strong>{value}</strong><span>{told}</span></div>' for value, told in cards)
    return (
        f'<header><p class="kicker">pater explain</p><h1>{escape(name)}</h1><p class="lead">{lead}</p>'
        f'<p class="note">{escape(candidate_told(learner))}</p><div class="cards">{drawn}</div></header>'
    )


def _curves(curves: list[Curve], label: Any, *, several: bool) -> str:
    title = f"What each column adds to the margin of {escape(str(label))}" if several else "What each column adds"
    largest = max(curve.spread for curve in curves)
    if largest <= rounding_of(curves):
        largest = 1.0  # so that rounding is drawn as 0
    in_order = sorted(curves, key=lambda curve: -curve.spread)
    figures = "".join(_figure(curve, largest) for curve in in_order)
    note = '<p class="note">Compared with the average row.</p>'
    return f'<section><h2>{title}</h2>{note}<div class="pair">{figures}</div></section>'


def _figure(curve: Curve, least: float) -> str:
    left = len(curve.effects) - len(shown(curve)) if not curve.pieces else 0
    more = f" The {left} others matter less." if left else ""
    caption = f"{curve.kind}; spread {curve.spread:.3g}.{more}"
    lines = "".join(
        f"<tr><td>{escape(effect.value)}</td>"
        f"<td>{effect.rows_told}</td><td>{effect.effect:+.4f}</td>"
        f"<td>{f'{effect.standard_error:.4f}' if isfinite(effect.standard_error) else '–'}</td></tr>"
        for effect in curve.effects
    )
    return (
        f"<figure><h3>{escape(curve.name)}</h3>{drawing(curve, least)}<figcaption>{caption}</figcaption>"
        '<details><summary>Numbers</summary><div class="table"><table><thead><tr><th>value</th><th>rows</th>'
        f"<th>effect</th><th>standard error</th></tr></thead><tbody>{lines}</tbody></table></div></details></figure>"
    )


def _rows(rows: list[dict[str, Any]]) -> str:
    figures = "".join(_row(told) for told in rows)
    note = '<p class="note">What makes up their margins.</p>'
    return f'<section><h2>Rows</h2>{note}<div class="pair">{figures}</div></section>'


def _row(told: dict[str, Any]) -> str:
    unit = "line" if "line" in told else "row"
    parts = [f"<figure><h3>{escape(told['source'])}, {unit} {told[unit]}: {escape(str(told['prediction']))}</h3>"]
    for margin in told["margins"]:
        terms = sorted(margin["terms"], key=lambda term: -abs(term["adds"]))[:20]
        largest = max([abs(term["adds"]) for term in terms] + [abs(margin["base"]), 1e-12])
        lines = [("base", "", margin["base"])]
        lines += [(term["name"], "missing" if term["value"] is None else term["value"], term["adds"]) for term in terms]
        left = len(margin["terms"]) - len(terms)
        if left:
            rest = sum(term["adds"] for term in margin["terms"]) - sum(term["adds"] for term in terms)
            lines.append((f"{left} others", "", rest))
        drawn = "".join(_line(*line, largest) for line in lines)
        parts.append(
            f'<table class="adds"><tbody>{drawn}</tbody><tfoot><tr><td>margin of {escape(str(margin["class"]))}</td>'
            f"<td></td><td>{margin['margin']:+.4f}</td><td></td></tr></tfoot></table>"
        )
    return "".join([*parts, "</figure>"])


def _line(name: str, value: str, adds: float, largest: float) -> str:
    kind = "above" if adds >= 0 else "below"
    return (
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td><td>{adds:+.4f}</td>"
        f'<td class="drawn"><i class="{kind}" style="--share: {abs(adds) / largest:.4f}"></i></td></tr>'
    )
