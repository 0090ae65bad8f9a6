"""Facets: the aspects of a column that are crossed with other columns.

Knows the encoders of columns. A facet is the coarse bin of a number, the hour, the weekday or the month of a date, or a
category; "missing" is one of its values too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .column_encoders import CategoryEncoder, ColumnEncoder, DateEncoder, NumberEncoder
from .columns import Table
from .features import Feature
from .slots import Slots
from .values import cut

Codes = NDArray[np.uint64]


class Facet(NamedTuple):
    """One aspect of a column that is crossed.

    column, slot
        The place of the column; and the part of a date, 0 for a category, −1 for a number.
    values
        The values, with "missing" last; empty for categories, since new ones may come.
    codes
        The number of the value of each bin or place; the last, which −1 points to, is that of "missing".
    number
        For a number, its place among columns of numbers.
    split
        For a number with two values, and so without bins, a number between the two; else NaN.
    """

    column: int
    slot: int
    values: tuple[Feature, ...] = ()
    codes: Codes = np.zeros(0, np.uint64)
    number: int = -1
    split: float = np.nan

    def held(
        self, x: NDArray[np.float64], bins: NDArray[np.int16], local: NDArray[np.int32], slots: Slots
    ) -> NDArray[np.signedinteger[Any]]:
        """The bin or place of each row, −1 where the value is missing.

        x, bins
            The numbers, (columns, rows), and their fine bins, (rows, columns).
        local
            The place of each row in each slot.
        """
        held: NDArray[np.signedinteger[Any]]
        if self.slot >= 0:
            held = local[:, slots.starts[self.column][0] + self.slot]
        elif np.isnan(self.split):
            held = bins[:, self.number]
        else:
            held = (x[self.number] >= self.split).astype(np.int64) - np.isnan(x[self.number])
        return held


def facets_of(columns: list[ColumnEncoder], name: str, split: float) -> list[Facet]:
    """The facets of a column."""
    at = next(k for k, column in enumerate(columns) if column.name == name)
    column = columns[at]
    if isinstance(column, CategoryEncoder):
        return [Facet(at, 0)]
    assert isinstance(column, NumberEncoder)
    if isinstance(column, DateEncoder):
        return [_part(column, at, slot) for slot in range(3) if slot or column.hours]
    number = sum(isinstance(before, NumberEncoder) for before in columns[:at])
    bins, groups = column.bins("coarse") or [Feature(name, "bin")], column.groups
    if not np.isnan(split):
        bins, groups = [Feature(name, "bin", high=split), Feature(name, "bin", low=split)], np.arange(2)
    values = (*bins, Feature(name, "missing"))
    return [Facet(at, -1, values, np.append(groups, len(bins)).astype(np.uint64), number, split)]


def _part(column: DateEncoder, at: int, slot: int) -> Facet:
    """The hour, the weekday or the month of a date."""
    values = [column.feature(slot + 1, place) for place in range(column.slots()[slot + 1])]
    missing = Feature(column.name, "missing", f"{values[0].kind} missing")
    return Facet(at, slot, (*values, missing), np.arange(len(values) + 1, dtype=np.uint64))


def splits_of(columns: list[ColumnEncoder], table: Table) -> Iterator[tuple[str, float]]:
    """The columns of numbers with two values, each with a number between the two."""
    for column in columns:
        if column.kind == "number" and isinstance(column, NumberEncoder) and not column.edges.size:
            values = column.values(table[column.name])
            assert values is not None
            edges = cut(values[np.isfinite(values)], 2)
            if edges.size:
                yield column.name, float(edges[0])


def varies(column: ColumnEncoder, splits: dict[str, float]) -> bool:
    """Whether crosses with this column add anything to the other column."""
    if column.kind == "number":
        return column.name in splits or (isinstance(column, NumberEncoder) and column.edges.size > 0)
    return column.kind in ("date", "category")
