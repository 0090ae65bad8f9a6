"""The parts of encoded rows that models see: all columns, or only those up to a level of detail.

Knows the doors to the kernels. An encoder gives each column a level, 0 for a column that every model sees. The view of
a level has the columns up to it, in their order; that of the highest level has all.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import kernel
from ..kernels.doors import Rows, check_rows, checked

NO_LEVELS = np.zeros(0, np.uint8)
MOST_LEVELS = 8


@dataclass
class Views:
    """The views of rows of `n_features` columns.

    levels
        Of the columns at the beginning; all models see those that come later. Empty if no encoder made the columns.
    """

    n_features: int
    levels: NDArray[np.uint8] = field(default_factory=lambda: NO_LEVELS)
    _places: dict[int, NDArray[np.int64]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def encoded(self) -> bool:
        """Whether the columns are those of an encoder."""
        return self.levels.size > 0

    @cached_property
    def n_levels(self) -> int:
        return int(self.levels.max(initial=0)) + 1

    @cached_property
    def first_widths(self) -> NDArray[np.int64]:
        """How many columns the view of each level had at the beginning."""
        if not self.encoded:
            return np.full(MOST_LEVELS, self.n_features, np.int64)
        return np.cumsum(np.bincount(self.levels, minlength=MOST_LEVELS)).astype(np.int64)

    def width(self, level: int) -> int:
        """How many columns the view of a level has."""
        return self._widths[level] if level < self.n_levels else self.n_features

    @cached_property
    def _widths(self) -> list[int]:
        return [self.n_features - int(np.count_nonzero(self.levels > level)) for level in range(self.n_levels)]

    def resized(self, n_features: int) -> Views:
        """The same views with more columns, or without the last."""
        return Views(n_features, self.levels[:n_features])

    def places(self, level: int) -> NDArray[np.int64]:
        """The place of each column in the view of a level, or −1."""
        if level not in self._places:
            kept = np.ones(self.n_features, np.bool_)
            kept[: self.levels.size] = self.levels <= level
            self._places[level] = np.where(kept, np.cumsum(kept) - 1, -1)
        return self._places[level]

    def of(self, rows: Rows, level: int) -> Rows:
        """The rows in the view of a level."""
        if level >= self.n_levels - 1:
            return rows
        rows, places = check_rows(rows, self.n_features), self.places(level)
        if len(rows) == 1:
            return (np.ascontiguousarray(rows[0][:, places >= 0]),)
        indptr, indices, data = rows
        most = int(indptr[-1] - indptr[0])
        starts, columns, values = np.empty_like(indptr), np.empty(most, indices.dtype), np.empty(most, data.dtype)
        filled = int(_seen(indptr, indices, data, places, starts, columns, values))
        return checked((starts, columns[:filled], values[:filled]), self.width(level))

    def spread(self, values: NDArray[np.float64], level: int) -> NDArray[np.float64]:
        """Numbers for the columns of a view (…, columns) as numbers for all columns: 0 for those outside it."""
        if level >= self.n_levels - 1:
            return values
        result = np.zeros((*values.shape[:-1], self.n_features))
        result[..., self.places(level) >= 0] = values
        return result


@kernel
def _seen(indptr, indices, data, places, starts, columns, values):
    """Copy the entries of sparse rows that have a place, and count them."""
    filled = 0
    starts[0] = 0
    for i in range(indptr.size - 1):
        for t in range(indptr[i], indptr[i + 1]):
            place = places[indices[t]]
            if place >= 0:
                columns[filled], values[filled] = place, data[t]
                filled += 1
        starts[i + 1] = filled
    return filled
