"""One row of a table, encoded: for streams that come a row at a time.

Knows `encoding`. What `Encoding.encode` makes of a table of one row is made here of its cells, by the same code and to
the same bits. Numbers and known categories, as most cells are, need not become columns first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column_encoders import ColumnEncoder, Places
from .columns import Column
from .encoded import Encoded
from .encoding import Encoding


def encode_row(
    encoding: Encoding, cells: Mapping[str, Any], column_of: Callable[[str], Column], *, learn: bool = False
) -> Encoded:
    """Encode the cells of a row, by the names of their columns; `column_of` makes a column of a cell."""
    encoding.check(cells)
    numbers = encoding.numbers
    x = np.empty((len(numbers), 1))
    for j, column in enumerate(numbers):
        number = column.number_in(cells[column.name])
        x[j] = column.values(column_of(column.name)) if number is None else number

    def places(each: ColumnEncoder, values: NDArray[np.float64] | None) -> Sequence[Places | int]:
        place = each.place_of(cells[each.name])
        return each.places(column_of(each.name), values, learn=learn) if place is None else (place,)

    piece = encoding.coded(x, places, lambda each: each.tokens(column_of(each.name), learn=learn), learn)
    encoding.rows += learn
    return encoding.encoded([piece])
