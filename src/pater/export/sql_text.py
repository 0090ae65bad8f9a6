"""Names, numbers and texts in SQL, and expressions made from them.

Knows `dialects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .dialects import Dialect
from .errors import ExportError

SOURCE = "source"  # the name of the scored table in a query
MOST_TERMS = 16  # of a sum without parentheses: databases limit the depth of an expression


def named(name: str) -> str:
    """The quoted name of a column or a table."""
    if "\0" in name:
        raise ExportError(f"{name!r} cannot be a name in SQL.")
    return '"' + name.replace('"', '""') + '"'


def column_named(name: str) -> str:
    """A column of the scored table, qualified: SQLite would take a bare name that does not exist for a text."""
    return f"{SOURCE}.{named(name)}"


def literal(value: Any) -> str:
    """A number, a truth value or a text. Floats get an exponent, since without one they may be decimal types."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    text = str(value)
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise ExportError(f"{text!r:.60} cannot be a text in SQL.")
    return "'" + text.replace("'", "''") + "'"


def total(terms: Sequence[str]) -> str:
    """A sum of any length, in parentheses."""
    while len(terms) > MOST_TERMS:
        terms = [total(terms[at : at + MOST_TERMS]) for at in range(0, len(terms), MOST_TERMS)]
    return f"({' + '.join(terms)})"


def looked_up(place: str, weights: Iterable[float], dialect: Dialect) -> str:
    """The weight at a place, a whole number from 0; NULL if the place is NULL."""
    if dialect.has_lists:
        return f"[{', '.join(map(literal, weights))}][{place} + 1]"
    cases = [f"WHEN {k} THEN {literal(weight)}" for k, weight in enumerate(weights) if weight]
    if not cases:
        return f"0e0 * {place}"
    return f"CASE WHEN {place} IS NOT NULL THEN CASE {place} {' '.join(cases)} ELSE 0e0 END END"


def bin_of(x: str, edges: Sequence[float], values: Iterable[str]) -> str:
    """The value of a number's bin, which is the number of edges that it reaches. NULL if the number is NULL."""
    *before, last = values
    cases = [f"WHEN {x} < {literal(edge)} THEN {value}" for edge, value in zip(edges, before, strict=True)]
    return f"CASE {' '.join(cases)} WHEN {x} IS NOT NULL THEN {last} END"


def bounded(value: str, most: float) -> str:
    """A value clipped to ±most; NULL if it is NULL, which LEAST and GREATEST ignore in some databases."""
    low, high = literal(-most), literal(most)
    return f"(CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END)"
