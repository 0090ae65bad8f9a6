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
from ..preprocessing.tables import of_arrow
from ..preprocessing.values import with_point
from . import csv_fields as fields
from .arrow import RecordBlock, RecordParser
from .arrow_files import pyarrow
from .batches import Batch
from .columns import CATEGORY, NUMBER, Columns
from .csv import TableParser
from .csv_cells import Cells
from .csv_dates import moments
from .csv_texts import texts_of
from .errors import InputError
from .plain_rows import INFINITE, note


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
        is_number = self.numeric.copy()
        if kinds.max(initial=0) >= fields.IS_INFINITE:
            for k in np.flatnonzero((kinds == fields.IS_INFINITE).any(axis=0)).tolist():
                j = int(features[self.numeric][k])
                cells.fault(kinds[:, k] == fields.IS_INFINITE, j, INFINITE)
            is_number[self.numeric] = (kinds != fields.IS_TEXT).all(axis=0)
            values = values[:, is_number[self.numeric]]
        found: dict[int, Column] = {
            k: Numbers(column) for k, column in zip(np.flatnonzero(is_number).tolist(), values.T, strict=True)
        }
        others = self._others(cells, features, np.flatnonzero(~is_number).tolist())
        found.update(others)
        absent = (each[0] < 0 if isinstance(each, Texts) else np.isnan(each[0]) for each in others.values())
        missing = sum(int(np.count_nonzero(where)) for where in (np.isnan(values), *absent))
        table = {name: found[k] for k, (name, _) in enumerate(self.columns.table)}
        return raw_batch(table, len(cells), missing)

    def _others(self, cells: Cells, features: NDArray[np.int64], places: list[int]) -> dict[int, Times | Texts]:
        """The columns that do not hold numbers alone: moments, which can still be had as texts, or texts."""
        kinds = [kind for _, kind in self.columns.table]
        have_commas = cells.block.decimal == ","
        dated = [k for k in places if kinds[k] != CATEGORY and not (kinds[k] == NUMBER and have_commas)]
        seconds, are_times = np.empty((len(dated), len(cells))), np.empty(len(dated), np.bool_)
        moments(cells.text, cells.starts, cells.ends, features[dated], seconds, are_times)
        found: dict[int, Times | Texts] = {
            dated[i]: Times(seconds[i], partial(_texts_of_one, cells, int(features[dated[i]])))
            for i in np.flatnonzero(are_times).tolist()
        }
        rest = [k for k in places if k not in found]
        for k, texts in zip(rest, texts_of(cells, features[rest]), strict=True):
            if kinds[k] == CATEGORY:
                texts = texts._replace(declared=True)
            elif kinds[k] == NUMBER and have_commas:
                texts = _with_points(texts)
            found[k] = texts
        return found


def _texts_of_one(cells: Cells, j: int) -> Texts:
    return texts_of(cells, np.array([j]))[0]


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

    def __init__(self, columns: Columns, **options: Any) -> None:
        super().__init__(columns, **options)
        self.as_dictionaries = tuple(name for name, kind in columns.table if kind not in (CATEGORY, NUMBER))

    def batch(self, there: dict[str, Any], block: RecordBlock, faults: dict[int, str], source: str) -> Batch:
        """The rows of a block, without their labels; `faults` takes note of what is wrong with some."""
        table: dict[str, Column] = {}
        for name, kind in self.columns.table:
            try:
                column = of_arrow(there[name], declared=False if name in block.coded else None)
            except (TypeError, ValueError, NotImplementedError, ArithmeticError) as error:
                todo = f" Leave it out with --drop {name!r}." if self.labelled else ""
                raise InputError(f"{source}: column {name!r} cannot be read: {error}.{todo}") from None
            if isinstance(column, Numbers | Times):
                note(faults, np.isinf(column[0]), INFINITE.format(name=name))
            if kind == CATEGORY:
                column = _digits_of(there[name], column)._replace(declared=True)
            table[name] = column
        return raw_batch(table, block.records.num_rows)
