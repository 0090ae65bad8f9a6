"""What an output column of the encoder stands for, in the units of the table.

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
        The column of the table that it is made of.
    kind
        "z" (the clipped z-score), "bin", "missing", "category", "rare" (all categories that were seen too seldom),
        "bucket" (categories beyond the bound that share a hash), "hour", "weekday", "month", "word" or "cross".
    text
        The category, the hour, the weekday, the month, or of a bucket the first text that came to it; of a
        cross, what both columns hold.
    low, high
        Of a bin: it holds the numbers from `low` on that are below `high`. Of dates in seconds since 1970.
    is_date
        Whether the column holds dates.
    crossed
        The other column, where it is made of two.
    """

    column: str
    kind: str
    text: str = ""
    low: float = -inf
    high: float = inf
    is_date: bool = False
    crossed: str = ""

    @property
    def name(self) -> str:
        """What a person calls it."""
        if self.kind == "z":
            return self.column
        if self.kind == "cross":
            return self.text
        if self.kind == "category":
            return f"{self.column}={self.text}"
        if self.kind in ("bucket", "word"):
            return f"{self.column}~{self.text}"
        return f"{self.column}: {self._range() if self.kind == 'bin' else self.text or self.kind}"

    def _range(self) -> str:
        if isinf(self.low):
            return f"below {self._written(self.high)}"
        if isinf(self.high):
            return f"from {self._written(self.low)}"
        return f"{self._written(self.low)} to {self._written(self.high)}"

    def _written(self, value: float) -> str:
        if self.is_date:
            from datetime import UTC, datetime

            return datetime.fromtimestamp(round(value), UTC).replace(tzinfo=None).isoformat(" ")
        return f"{value:.15g}"
