"""Tables as they are, column by column, for an encoder: numbers, texts and times, nothing hashed and nothing filled in.

Knows `csv`, `arrow` and `preprocessing/columns.py`. A column of CSV that the first block shows to hold numbers is given
as numbers in every batch where it still does, else as texts, or moments that were texts; what texts are is decided by
the encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.categories import nothing_in
from ..preprocessing.columns import Column, Numbers, Texts, Times, as_texts, selected
from ..preprocessing.spans import Spans, texts_in
from ..preprocessing.tables import of_arrow
from ..preprocessing.values import with_point
from . import csv_fields as fields
from .arrow import RecordParser, pyarrow
from .batches import Batch
from .columns import CATEGORY, NUMBER
from .csv import TableParser
from .csv_cells import Cells
from .csv_dates import moments
from .errors import InputError
from .plain import INFINITE, note


@dataclass
class RawBatch(Batch):
    """Some rows of a table that are to be encoded; `rows` has no columns."""

    table: dict[str, Column] = field(default_factory=dict)

    def take(self, keep: NDArray[np.bool_]) -> None:
        """Leave out the rows that are not kept."""
        super().take(keep)
        self.table = selected(self.table, keep)


def raw_batch(table: dict[str, Column], n_rows: int, missing: int | None = None) -> RawBatch:
    """A table without labels; how often nothing is there is counted, unless it is known."""
    if missing is None:
        missing = missing_in(table.values())
    return RawBatch((np.empty((n_rows, 0)),), 0, None, missing=missing, table=table)


def missing_in(columns: Iterable[Column]) -> int:
    """How often nothing is there, or a text that says so."""
    absent = (nothing_in(column) if isinstance(column, Texts) else np.isnan(column[0]) for column in columns)
    return sum(int(np.count_nonzero(each)) for each in absent)


class RawTableParser(TableParser):
    """Blocks of CSV to the columns of their table."""

    def batch(self, cells: Cells, features: NDArray[np.int64]) -> Batch:
        """The rows of a block, without their labels."""
        values, kinds = cells.numbers(features[self.numeric], by_column=True)
        is_text = np.zeros(kinds.shape[1], np.bool_)
        if kinds.max(initial=0) >= fields.IS_INFINITE:
            is_text = (kinds == fields.IS_TEXT).any(axis=0)
            for k in np.flatnonzero((kinds == fields.IS_INFINITE).any(axis=0)).tolist():
                j = int(features[self.numeric][k])
                cells.fault(kinds[:, k] == fields.IS_INFINITE, j, INFINITE)
        by_column = iter(zip(values.T, is_text.tolist(), strict=True))
        table: dict[str, Column] = {}
        for (name, kind), j in zip(self.columns.table, features.tolist(), strict=True):
            numbers, as_text = next(by_column) if kind == NUMBER else (None, True)
            if numbers is not None and not as_text:
                table[name] = Numbers(numbers)
            elif kind == CATEGORY:
                table[name] = texts_of(cells, j)._replace(declared=True)
            elif kind == NUMBER and cells.block.decimal == ",":
                table[name] = _with_points(texts_of(cells, j))
            else:
                table[name] = times_of(cells, j) or texts_of(cells, j)
        texts = (column for column in table.values() if not isinstance(column, Numbers))
        absent = (each[0] < 0 if isinstance(each, Texts) else np.isnan(each[0]) for each in texts)
        others = sum(int(np.count_nonzero(where)) for where in absent)
        of_numbers = np.isnan(values[:, ~is_text] if is_text.any() else values)  # of all columns at once
        return raw_batch(table, len(cells), others + int(np.count_nonzero(of_numbers)))


def times_of(cells: Cells, j: int) -> Times | None:
    """A column as moments, if it holds nothing else; it can still be had as texts."""
    seconds = np.empty(len(cells))
    is_times = moments(cells.text, cells.starts, cells.ends, j, seconds)
    return Times(seconds, partial(texts_of, cells, j)) if is_times else None


def texts_of(cells: Cells, j: int) -> Texts:
    """The texts of a column, each once."""
    n_rows = len(cells)
    codes, spans = np.empty(n_rows, np.int64), np.empty((n_rows, 3), np.int64)
    places = np.full(1 << max(4, (2 * n_rows).bit_length()), -1, np.int32)
    n = int(fields.distinct(cells.text, cells.starts, cells.ends, j, codes, spans, places))
    starts, ends, text = spans[:n, 0], spans[:n, 1], cells.block.text
    if cells.is_utf8 and not spans[:n, 2].any():
        return texts_in(text, starts.copy(), ends.copy(), codes)
    names = list(Spans(text, starts, ends))
    doubled = np.flatnonzero(spans[:n, 2]).tolist()
    for k in doubled:
        names[k] = names[k].replace('""', '"')
    if len(set(names)) < n:  # what is not the same may be written alike
        known: dict[str, int] = {}
        same = np.array([*(known.setdefault(name, len(known)) for name in names), -1], np.int64)
        codes, names = same[codes], list(known)
    return Texts(codes, names)


def _with_points(texts: Texts) -> Texts:
    """The texts of a column of numbers with points in the place of decimal commas."""
    known: dict[str, int] = {}
    same = np.array([*(known.setdefault(with_point(name), len(known)) for name in texts.names), -1], np.int64)
    return Texts(same[texts.codes], list(known))


def _digits_of(array: Any, column: Column) -> Texts:
    """A column as texts; whole numbers with all their digits, of which a float has 15 for sure."""
    if isinstance(column, Numbers) and pyarrow().types.is_integer(array.type):
        return as_texts(of_arrow(array.cast(pyarrow().string())))
    return as_texts(column)


class RawRecordParser(RecordParser):
    """Record batches to the columns of their table."""

    def batch(self, there: dict[str, Any], n: int, faults: dict[int, str], source: str) -> Batch:
        """The rows of a block, without their labels; `faults` takes note of what is wrong with some."""
        table: dict[str, Column] = {}
        for name, kind in self.columns.table:
            try:
                column = of_arrow(there[name])
            except (TypeError, ValueError, NotImplementedError, ArithmeticError) as error:
                raise InputError(f"{source}: column {name!r} cannot be read: {error}") from None
            if isinstance(column, Numbers | Times):
                note(faults, np.isinf(column[0]), INFINITE.format(name=name))
            if kind == CATEGORY:
                column = _digits_of(there[name], column)._replace(declared=True)
            table[name] = column
        return raw_batch(table, n)
