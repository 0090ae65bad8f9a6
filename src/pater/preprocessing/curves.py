"""The contribution of a column to a margin, value by value.

Knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan, sqrt


@dataclass(frozen=True)
class Effect:
    """What one value of a column adds to the margin, compared with the average row.

    value
        The value: "12.5 to 40", "fr", "missing", "hour 22 to 23".
    kind
        The kind of the feature; or "range" for numbers with `low` <= number < `high`, "point" for a number on a line
        that has no ranges, "value" for one of two numbers, or for any number that is not missing.
    effect, standard_error
        In units of the margin; the error is NaN where the model does not know it. For a range, at its middle.
    rows
        How many rows had the value; None where they were not counted.
    start, end
        The ends of the line drawn for a range or a point. An open range is drawn as wide as its neighbour.
    effect_at_start, effect_at_end
        The effect at those ends: a straight line in between, except where the z-score is clipped.
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
        """The number of rows as text; empty for a point, since few rows hold exactly that number."""
        if self.rows is None:
            return "" if self.kind == "point" else "not counted"
        return f"{self.rows:,}"


@dataclass(frozen=True)
class Curve:
    """The effects of a column, or of one part of a date, on the margin of one class.

    `spread` measures how much it matters: the root mean square of its effect over all rows.
    """

    column: str  # or two of them, with × in between
    part: str  # "hour", "weekday" or "month" of dates; else ""
    kind: str  # of the column: "number", "date", "category", "text" or "id"; of two columns, "cross"
    model: int  # the class of the margin, by its place
    effects: tuple[Effect, ...]
    is_counted: bool
    spread: float

    @property
    def name(self) -> str:
        return f"{self.column}: {self.part}" if self.part else self.column

    def foremost(self, most: int) -> list[Effect]:
        """The `most` categories or words that make up most of the spread; all effects of any other curve."""
        if self.part or len(self.effects) <= most or self.pieces:
            return list(self.effects)
        return sorted(self.effects, key=lambda each: -abs(each.effect) * sqrt(1 if each.rows is None else each.rows))[
            :most
        ]

    @property
    def pieces(self) -> list[Effect]:
        """The effects that are drawn as a line, in order."""
        return [effect for effect in self.effects if effect.kind in ("range", "point")]

    @property
    def largest(self) -> float:
        return max((abs(effect.effect) for effect in self.effects), default=0.0)


def foremost_columns(curves: list[Curve], top: int | None) -> list[Curve]:
    """All curves of the first `top` columns; of every column where `top` is None."""
    wanted = list(dict.fromkeys(curve.column for curve in curves))[:top]
    return [curve for curve in curves if curve.column in wanted]


def rounding_of(curves: Iterable[Curve], bases: Iterable[float] = ()) -> float:
    """The size up to which an effect is mere rounding, given these curves and the margins of average rows."""
    return 1e-9 * max([1e-3, *(curve.largest for curve in curves), *(abs(base) for base in bases)])
