"""The columns of a table as plain rows: a column each, or hashed.

Knows `columns`, `batches`, `hashing` and `murmur`. For formats that give a table column by column, as numbers or as
coded texts. A missing value contributes nothing: 0 in a column of numbers (with scaling, its mean), no feature in a
hashed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.categories import BLANKS, is_nothing
from .batches import OVERFLOW, Batch, tidy
from .columns import NUMBER, TABLE, Columns
from .csv_fields import NOT_FINITE_SUM, gather
from .hashed_names import LONGEST, NOTHING_SEEN, News, Seen
from .hashing import marked_place_of, places_of
from .murmur import SEVERAL

Coded = tuple[Sequence[Any], NDArray[np.int64]]
INFINITE = "infinity in column {name!r} is not a value to learn from"


class PlainRows:
    """Makes rows from the columns of a table."""

    def __init__(self, columns: Columns, *, keep_missing: bool = False, seen: Seen | None = None) -> None:
        self.columns, self.keep_missing, self.seen = columns, keep_missing, seen
        self.places, self.signs = places_of([name for name, _ in columns.table] if columns.bits else [], columns.bits)

    def batch(
        self,
        n: int,
        numbers: Callable[[str], NDArray[np.float64]],
        coded: Callable[[str], Coded],
        faults: dict[int, str],
    ) -> Batch:
        """The rows, without their labels; what is wrong with some of them is noted in `faults`.

        `numbers` gives a column as floats, NaN where a value is missing; `coded` gives the distinct values of a column
        and the code of each row, with one more code for nothing.
        """
        missing, news = 0, list[tuple[int, int, str, int]]()
        shape = len(self.columns.table), n
        places, values = np.empty(shape, np.int64), np.empty(shape)
        for k, (name, kind) in enumerate(self.columns.table):
            if kind == NUMBER:
                x = numbers(name)
                note(faults, np.isinf(x), INFINITE.format(name=name))
                missing += int(np.isnan(x).sum())
                values[k] = np.where(np.isfinite(x), x, np.nan)
                if self.columns.bits:
                    places[k] = np.where((x == 0) | np.isnan(x), -1, self.places[k])
                    values[k] = self.signs[k] * np.nan_to_num(values[k], nan=0.0)
            else:
                places[k], values[k], some = _categories(*coded(name), name, self.columns.bits)
                news += some
                missing += int((places[k] < 0).sum())
        rows: tuple[NDArray[Any], ...]
        if self.columns.kind == TABLE:
            X = np.ascontiguousarray(values.T)
            rows = (X if self.keep_missing else np.nan_to_num(X, copy=False, nan=0.0),)
        else:
            size = int((places >= 0).sum())
            codes = np.zeros(n, np.uint8)
            indptr, indices, data = np.empty(n + 1, np.uint32), np.empty(size, np.uint32), np.empty(size)
            gather(codes, places, values, indptr, indices, data)
            tidy(indptr, indices, data, codes, 0, NOT_FINITE_SUM)
            note(faults, codes, OVERFLOW)
            filled = int(indptr[-1])
            rows = indptr, indices[:filled], data[:filled]
        n_features = 1 << self.columns.bits if self.columns.bits else len(self.columns.table)
        zeroed = missing > 0 and self.columns.kind == TABLE and not self.keep_missing
        return Batch(rows, n_features, None, missing=missing, news=self._news(news), zeroed=zeroed)

    def _news(self, found: list[tuple[int, int, str, int]]) -> News | None:
        """The names that are new for their columns, in the order of the rows."""
        marks = NOTHING_SEEN if self.seen is None else self.seen.marks
        new = [line for line in found if marks.size and marks[line[0]] not in (line[1], SEVERAL)]
        new.sort(key=lambda line: line[3])
        if not new:
            return None
        columns, own = (np.array([line[k] for line in new], np.int64) for k in (0, 1))
        return News(columns, own, [line[2][:LONGEST] for line in new])


def holds_nothing(value: Any) -> bool:
    """Whether a cell is empty, or a text that means so."""
    return value is None or (isinstance(value, str) and is_nothing(value))


def note(faults: dict[int, str], wrong: Any, what: str) -> None:
    """Note what is wrong with some rows, except those that have a fault already."""
    for r in np.flatnonzero(wrong).tolist():
        faults.setdefault(r, what)


def _categories(
    values: Sequence[Any], codes: NDArray[np.int64], name: str, bits: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], list[tuple[int, int, str, int]]]:
    """Where `name=value` lands in each row, −1 for nothing; and for each value its column, mark, name and first row."""
    texts = [value.strip(BLANKS) if isinstance(value, str) else value for value in [*values, None]]
    names = [None if holds_nothing(text) else f"{name}={text}" for text in texts]
    found = [(-1, 0.0, 0) if each is None else marked_place_of(each, bits) for each in names]
    table = np.array(found)
    used, first = np.unique(codes, return_index=True)
    told = [
        (found[code][0], found[code][2], str(names[code]), row)
        for code, row in zip(used.tolist(), first.tolist(), strict=True)
        if names[code] is not None
    ]
    return table[codes, 0].astype(np.int64), table[codes, 1], told
