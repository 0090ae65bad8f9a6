"""What a column adds to a margin, value by value.

Knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan, sqrt


@dataclass(frozen=True)
class Effect:
    """What a column adds to the margin where it holds one thing, compared with the average row.

    value
        What it holds: "12.5 to 40", "fr", "missing", "hour 22 to 23".
    kind
        As that of a feature; "range" for numbers from `low` on that are below `high`, "point" for a number on a line
        that has no ranges, "value" for one of two numbers, or for any that is not missing.
    effect, standard_error
        In units of the margin; NaN where the model does not know how sure it is. Of a range, in its middle.
    rows
        How many rows held it; None where that was not counted.
    start, end
        Where a range, or the line about a point, is drawn from and to. A range without an end is drawn as wide as its
        neighbour.
    effect_at_start, effect_at_end
        The effect there: in between it is a straight line, but for where the z-score is clipped.
    """

    value: str
    kind: str
    effect: float
    standard_error: float = nan
    rows: int | None = None
    low: float = nan
    high: float = nan
    start: float = nan
    end: float = nan
    effect_at_start: float = nan
    effect_at_end: float = nan

    @property
    def rows_told(self) -> str:
        """How many rows held it, in words; nothing of a point, which few rows hold to the digit."""
        if self.rows is None:
            return "" if self.kind == "point" else "not counted"
        return f"{self.rows:,}"


@dataclass(frozen=True)
class Curve:
    """The effects of a column, or of one part of a date, on the margin of one class.

    `spread` is how much of a difference it makes: the root of the mean square of its effect over all rows.
    """

    column: str  # or two of them, with × in between
    part: str  # "hour", "weekday" or "month" of dates; else ""
    kind: str  # of the column: "number", "date", "category", "text" or "id"; of two, "cross"
    model: int  # which class the margin speaks for, by its place
    effects: tuple[Effect, ...]
    is_counted: bool
    spread: float

    @property
    def name(self) -> str:
        return f"{self.column}: {self.part}" if self.part else self.column

    def foremost(self, most: int) -> list[Effect]:
        """Of many categories or words, those that make most of the spread; everything of any other curve."""
        if self.part or len(self.effects) <= most or self.pieces:
            return list(self.effects)
        return sorted(self.effects, key=lambda each: -abs(each.effect) * sqrt(1 if each.rows is None else each.rows))[
            :most
        ]

    @property
    def pieces(self) -> list[Effect]:
        """What is drawn as a line, in its order."""
        return [effect for effect in self.effects if effect.kind in ("range", "point")]

    @property
    def largest(self) -> float:
        return max((abs(effect.effect) for effect in self.effects), default=0.0)


def foremost_columns(curves: list[Curve], top: int | None) -> list[Curve]:
    """The curves of the first columns, all of each; of all columns where `top` is None."""
    wanted = list(dict.fromkeys(curve.column for curve in curves))[:top]
    return [curve for curve in curves if curve.column in wanted]


def rounding_of(curves: Iterable[Curve], bases: Iterable[float] = ()) -> float:
    """Up to where effects are nothing but rounding, among curves and the margins of average rows."""
    return 1e-9 * max([1e-3, *(curve.largest for curve in curves), *(abs(base) for base in bases)])
