"""Encoding of a single row, for streams that come a row at a time.

Knows `encoding` and its kernels. A row is encoded from its cells by the same code, and to the same bits, as
`Encoding.encode` would encode a table of that row. Numbers and known categories, as most cells are, need not become
columns first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import straight
from ..kernels.doors import CheckedRows, checked
from .column_encoders import CategoryEncoder, ColumnEncoder, NumberEncoder, Places
from .columns import Column
from .encoded import Encoded
from .encoding import Encoding
from .row_writing import write_row
from .unread_cells import Unread, unread_in


def encode_row(
    encoding: Encoding, cells: Mapping[str, Any], column_of: Callable[[str], Column], *, learn: bool = False
) -> Encoded:
    """Encode the cells of a row, given by column name; `column_of` makes the cell of a column into a column."""
    encoding.check(cells)
    numbers = encoding.numbers
    x = np.empty((len(numbers), 1))
    unread: dict[str, Unread] = {}
    for j, column in enumerate(numbers):
        number = column.number_in(cells[column.name])
        if number is not None:
            x[j] = number
            continue
        cell = column_of(column.name)
        x[j] = column.values(cell)
        found = unread_in(column.kind, cell, x[j])
        if found is not None:
            unread[column.name] = found

    def places(each: ColumnEncoder, values: NDArray[np.float64] | None) -> Sequence[Places | int]:
        place = each.place_of(cells[each.name])
        return each.places(column_of(each.name), values, learn=learn) if place is None else (place,)

    piece = encoding.coded(x, places, lambda each: each.tokens(column_of(each.name), learn=learn), learn)
    piece.unread = unread
    encoding.rows += learn
    return encoding.encoded([piece])


class AskedRow:
    """Encodes rows of numbers and known categories one by one, in the same arrays, without learning from them.

    One kernel does what takes `encode_row` four, and no memory is allocated for intermediate results.
    """

    def __init__(self, encoding: Encoding, resolution: str) -> None:
        at, width = encoding.layout(resolution)
        slots, n = encoding.slots, len(encoding.numbers)
        self._numbers = [(column.name, column.number_in) for column in encoding.numbers]
        placed = zip(encoding.columns, slots.starts, strict=True)
        self._placed = [(each.name, each.place_of, first) for each, (first, _) in placed if each.kind != "number"]
        self._encoding, self._width = encoding, width
        self._x, self._local = np.empty((n, 1)), np.empty((1, slots.bases.size), np.int32)
        most = (1 + len(at)) * n + slots.bases.size
        self._row = np.zeros(2, np.uint32), np.empty(most, np.uint32), np.empty(most)
        room = np.empty((1, n)), np.empty((1, n), np.int16), np.empty((1, 0), np.int32), self._local, self._row
        self._arguments = (
            self._x,
            encoding.moments,
            float(encoding.settings.clip),
            (slots.edges, slots.n_edges, slots.missing, slots.bases),
            encoding.places,
            (at, (width, width)),
            (np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0)),
            room,
        )
        self._write = straight(write_row, *self._arguments)

    @classmethod
    def of(cls, encoding: Encoding, resolution: str) -> AskedRow | None:
        """An `AskedRow` for an encoding; None if it has crosses, or columns of other kinds."""
        plain = all(type(column) in (NumberEncoder, CategoryEncoder) for column in encoding.columns)
        return cls(encoding, resolution) if plain and not encoding.crosses.width else None

    def rows(self, cells: Mapping[str, Any]) -> CheckedRows | None:
        """The row of these cells, valid until the next call; None if a cell must be made a column first."""
        numbers = [number_in(cells[name]) for name, number_in in self._numbers]
        if None in numbers:
            return None
        local = self._local
        local.fill(-1)
        for name, place_of, first in self._placed:
            place = place_of(cells[name])
            if place is None:
                return None
            local[0, first] = place
        self._x[:, 0] = numbers
        filled = self._write(*self._arguments)
        indptr, indices, data = self._row
        return checked((indptr, indices[:filled], data[:filled]), self._width + self._encoding.known)
