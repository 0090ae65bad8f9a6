"""One JSON row to be encoded, as a batch: its cells, and a table of them on demand.

Knows `json_cells` and `raw`. Making a column of every cell would take longer than encoding the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..preprocessing.columns import Column
from .json_cells import cells_of
from .plain_rows import holds_nothing
from .raw import RawBatch

ONE_ROW = np.empty((1, 0))
LARGEST = 1 << 1000  # whole numbers below it are surely finite as floats
_PLAIN = frozenset({float, int, str, type(None)})


class RowBatch(RawBatch):
    """A row of plain cells; `table` is made from them on demand."""

    cells: Mapping[str, Any] | None = None
    _kinds: Mapping[str, str]

    @classmethod
    def of(cls, cells: Mapping[str, Any], kinds: Mapping[str, str]) -> RowBatch:
        """The batch of a row, from its cells by column name and the kinds of the columns."""
        batch = cls((ONE_ROW,), 0, None, missing=sum(map(holds_nothing, cells.values())))
        del batch.table
        batch.cells, batch._kinds = cells, kinds
        return batch

    def column(self, name: str) -> Column:
        """A column of the table."""
        assert self.cells is not None
        kind = self._kinds[name]
        return cells_of((self.cells[name],), name, {}, kind).raw(kind)

    def __getattr__(self, name: str) -> Any:
        if name != "table" or self.cells is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.table = {column: self.column(column) for column in self._kinds}
        return self.table


def are_plain(cells: Iterable[Any]) -> bool:
    """Whether nothing can be wrong with these cells."""
    kinds = set(map(type, cells))
    return kinds <= _PLAIN and (int not in kinds or all(type(cell) is not int or abs(cell) < LARGEST for cell in cells))
