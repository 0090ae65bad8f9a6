"""The meaning of an output column of the encoder, in the units of the table.

Knows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Feature:
    """One output column.

    column
        The column of the table that it is made from.
    kind
        "z" (the clipped z-score), "bin", "missing", "category", "rare" (all categories that were seen too seldom),
        "bucket" (categories beyond the bound that share a hash), "hour", "weekday", "month", "word" or "cross".
    text
        The category, the hour, the weekday or the month; the first text that came to a bucket, or the first word; the
        values of both columns of a cross.
    also, and_more
        Other texts that came to a hashed column, and whether there were more than are remembered.
    low, high
        The range of a bin: `low` <= number < `high`. Dates are in seconds since 1970.
    is_date
        Whether the column holds dates.
    crossed
        The second column, if it is made from two.
    """

    column: str
    kind: str
    text: str = ""
    low: float = -inf
    high: float = inf
    is_date: bool = False
    also: tuple[str, ...] = ()
    and_more: bool = False
    crossed: str = ""

    @property
    def name(self) -> str:
        """A short name."""
        if self.kind == "z":
            return self.column
        if self.kind == "cross":
            return self.text
        if self.kind == "category":
            return f"{self.column}={self.text}"
        if self.kind in ("bucket", "word"):
            sign = "=" if self.kind == "bucket" else "~"
            return self._alternatives([f"{self.column}{sign}{text}" for text in (self.text, *self.also)])
        return f"{self.column}: {self.range if self.kind == 'bin' else self.text or self.kind}"

    @property
    def value(self) -> str:
        """The value of the column: "12.5 to 40", "fr", "missing"; or of both columns: "12.5 to 40 × fr"."""
        if self.kind == "cross":
            sides = zip((self.column, self.crossed), self.text.split(" × ", 1), strict=False)
            return " × ".join(side.removeprefix(f"{name}: ").removeprefix(f"{name}=") for name, side in sides)
        if self.kind == "bin":
            return self.range
        if self.kind in ("bucket", "word"):
            return self._alternatives([self.text, *self.also])
        if self.kind == "hour":
            return f"{self.text} to {int(self.text.split()[-1]) + 1}"
        return "rare ones" if self.kind == "rare" else self.text or self.kind

    @property
    def part(self) -> str:
        """The part of a date that it is; empty for anything else."""
        return self.kind if self.kind in ("hour", "weekday", "month") else ""

    @property
    def term(self) -> str:
        """The term that its share of a margin belongs to: the column, or both columns of a cross."""
        return f"{self.column} × {self.crossed}" if self.crossed else self.column

    def told(self, deviation: float | None = None) -> str:
        """A phrase that describes it in the units of the table; `deviation` is that of a z-score's column."""
        if self.kind == "z":
            size = "" if deviation is None else f" ({_span(deviation, self.is_date)})"
            return f"{self.column}, per deviation{size}"
        if self.kind == "cross":
            return self.text
        if self.kind in ("category", "bucket"):
            return f"{self.column} = {self.value}"
        if self.kind == "word":
            return f"{self.column} has {self.value}"
        return f"{self.column}{': ' if self.part or self.kind == 'rare' else ' '}{self.value}"

    def _alternatives(self, names: list[str]) -> str:
        return " or ".join([*names, "others"] if self.and_more else names)

    @property
    def range(self) -> str:
        """The range of a bin as text."""
        if isinf(self.low):
            return f"below {self._written(self.high)}"
        if isinf(self.high):
            return f"from {self._written(self.low)}"
        return f"{self._written(self.low)} to {self._written(self.high)}"

    def _written(self, value: float) -> str:
        return written(value, self.is_date)


def written(value: float, is_date: bool = False) -> str:
    """A number, or a moment in seconds since 1970, as a text."""
    if is_date:
        from datetime import UTC, datetime

        moment = datetime.fromtimestamp(round(value), UTC).replace(tzinfo=None).isoformat(" ")
        return moment.removesuffix(":00").removesuffix(" 00:00")
    return f"{value + 0.0:.15g}"


def _span(value: float, is_time: bool) -> str:
    """A difference of numbers, or of moments, as text."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)) if is_time else ():
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} seconds" if is_time else f"{value:.3g}"
