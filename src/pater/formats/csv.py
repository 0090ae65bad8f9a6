"""CSV and TSV with a header: columns by name, text hashed as `column=value`.

Knows `csv_blocks`, `csv_cells`, `columns` and `batches`. The first block decides which columns are numbers, unless a
model or the caller does. A missing value contributes nothing: 0 in a column of numbers (with scaling, its mean), no
feature in a hashed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.row_weights import NO_WEIGHT, are_weights
from . import csv_fields as fields
from .batches import OVERFLOW, Batch, tidy
from .columns import NUMBER, TABLE, Columns
from .csv_blocks import TableBlock, table_blocks
from .csv_cells import Cells
from .hashed_names import LONGEST, NOTHING_SEEN, News, Seen, news_of
from .hashing import places_of
from .labels import label_faults
from .sources import Source
from .suggestions import no_column

_NO_NUMBER = {
    fields.IS_INFINITE: "infinity is not a value to learn from",
    fields.IS_TEXT: "{text!r} is not a number, but column {name!r} holds numbers; "
    "if it does not, say --categorical '{name}'",
}


class TableParser:
    """Blocks of a table to batches."""

    def __init__(
        self,
        columns: Columns,
        *,
        delimiter: str | None = None,
        decimal: str | None = None,
        labelled: bool = True,
        keep_missing: bool = False,
        seen: Seen | None = None,
    ) -> None:
        self.columns, self.delimiter, self.decimal, self.seen = columns, delimiter, decimal, seen
        self.labelled, self.keep_missing = labelled, keep_missing
        self.numeric = np.array([kind == NUMBER for _, kind in columns.table], np.bool_)
        if columns.bits:
            names = np.array([name for name, _ in columns.table], object)
            self.places, self.signs = places_of(names[self.numeric], columns.bits)
            prefixes = [f"{name}=".encode() for name in names[~self.numeric]]
            self.prefixes = np.frombuffer(b"".join(prefixes) or b"=", np.uint8)
            self.bounds = np.cumsum([0, *map(len, prefixes)])
            self.longest = max(map(len, prefixes), default=0)

    def blocks(self, source: Source, *, hashed: bool) -> Iterator[TableBlock]:
        return table_blocks(source, self.delimiter, self.decimal, hashed=hashed)

    def __call__(self, block: TableBlock, source: str) -> Batch:
        cells = Cells(block, ord(block.delimiter), source)
        where = {name: j for j, name in enumerate(block.header)}
        wanted = [name for name, _ in self.columns.table]
        if self.labelled and self.columns.label is not None:
            wanted.append(self.columns.label)
        absent = [name for name in wanted if name not in where]
        if absent:
            raise no_column(absent[0], block.header, source)
        labels = self._labels(cells, where)
        weights = self._weights(cells, where)
        features = np.array([where[name] for name, _ in self.columns.table], np.int64)
        batch = self.batch(cells, features)
        batch.labels, batch.weights, batch.source = labels, weights, source
        batch.lines, batch.end, batch.faults = cells.lines, block.end, cells.faults
        if cells.what:
            batch.take(cells.codes == fields.SOUND)
        return batch

    def batch(self, cells: Cells, features: NDArray[np.int64]) -> Batch:
        """The rows of a block, without their labels."""
        dense = self.columns.kind == TABLE
        rows, missing, news = self._dense(cells, features) if dense else self._hashed(cells, features)
        width = 1 << self.columns.bits if self.columns.bits else features.size
        zeroed = dense and missing > 0 and not self.keep_missing
        return Batch(rows, width, None, missing=missing, news=news, zeroed=zeroed)

    def _labels(self, cells: Cells, where: dict[str, int]) -> NDArray[Any] | None:
        name = self.columns.label
        if name is None or name not in where:
            return None
        j = where[name]
        if not self.columns.numeric_labels:
            texts = cells.texts(j)
            if self.labelled:
                for what, rows in texts.faults():
                    cells.fault(rows, j, what)
            elif any(rows.any() for _, rows in texts.faults()):
                return None
            return texts.array()
        values, kinds = cells.label_numbers(j)
        if self.columns.truths and (kinds == fields.IS_TEXT).any():
            truths = cells.texts(j).truths()
            is_truth = ~np.isnan(truths)
            values, kinds = np.where(is_truth, truths, values), np.where(is_truth, fields.IS_NUMBER, kinds)
        wrong = label_faults(values) & (kinds != fields.IS_MISSING) | (kinds == fields.IS_TEXT)
        if not self.labelled:
            return None if wrong.any() or np.isnan(values).any() else values.astype(np.int64)
        cells.fault(kinds == fields.IS_INFINITE, j, "{text!r} cannot be a label: it must be a whole number or text")
        cells.fault(wrong, j, "{text!r} is not a whole number of at most 2^53, as the labels before it were")
        cells.fault(np.isnan(values), j, "there is no label")
        return np.where(cells.codes == fields.SOUND, values, 0).astype(np.int64)

    def _weights(self, cells: Cells, where: dict[str, int]) -> NDArray[np.float64]:
        name = self.columns.weight
        if name is None or name not in where:
            return np.zeros(0)
        values = cells.numbers(np.array([where[name]]), by_column=True)[0][:, 0]
        sound = are_weights(values)
        cells.fault(~sound, where[name], f"{{text!r}} is not an importance: {NO_WEIGHT}")
        return np.where(sound, values, 1.0)

    def numbers(self, cells: Cells, wanted: NDArray[np.int64]) -> tuple[NDArray[np.float64], int]:
        values, kinds = cells.numbers(wanted)
        if kinds.max(initial=0) >= fields.IS_INFINITE:
            for r, k in np.argwhere(kinds >= fields.IS_INFINITE).tolist():
                cells.fault_in(r, int(wanted[k]), _NO_NUMBER[int(kinds[r, k])])
        return values, int((kinds[cells.codes == fields.SOUND] == fields.IS_MISSING).sum())

    def _dense(self, cells: Cells, features: NDArray[np.int64]) -> tuple[tuple[NDArray[np.float64]], int, None]:
        X, missing = self.numbers(cells, features)
        if not self.keep_missing:
            np.nan_to_num(X, copy=False, nan=0.0)
        return (X,), missing, None

    def _hashed(self, cells: Cells, features: NDArray[np.int64]) -> tuple[tuple[NDArray[Any], ...], int, News | None]:
        shape = features.size, len(cells)
        places, values = np.empty(shape, np.int64), np.empty(shape)
        x, missing = self.numbers(cells, features[self.numeric])
        places[self.numeric] = np.where((x == 0) | np.isnan(x), -1, self.places).T
        values[self.numeric] = (self.signs * np.nan_to_num(x, nan=0.0)).T
        scratch = np.empty(len(cells.text) + self.longest, np.uint8)
        into = np.flatnonzero(~self.numeric)
        words = cells.text, (cells.starts, cells.ends), (features[into], into)
        seen = NOTHING_SEEN if self.seen is None else self.seen.marks
        found = np.empty((len(cells) * into.size if seen.size else 0, 4), np.int64)
        names = self.prefixes, self.bounds, scratch
        told = fields.categories(*words, self.columns.bits, names, places, values, (seen, found))
        missing += int((places[into][:, cells.codes == fields.SOUND] < 0).sum())
        size = int((places >= 0).sum())
        indptr, indices, data = np.empty(len(cells) + 1, np.uint32), np.empty(size, np.uint32), np.empty(size)
        fields.gather(cells.codes, places, values, indptr, indices, data)
        tidy(indptr, indices, data, cells.codes, 0, fields.NOT_FINITE_SUM)
        for r in np.flatnonzero(cells.codes == fields.NOT_FINITE_SUM).tolist():
            cells.what[r] = 0, OVERFLOW
        filled = int(indptr[-1])
        sound = found[:told][cells.codes[found[:told, 2]] == fields.SOUND]
        sound = sound[np.argsort(sound[:, 2], kind="stable")]  # in the order of the rows
        news = news_of(sound, lambda line: self._name(cells, line[2], int(into[line[3]]), int(features[into[line[3]]])))
        return (indptr, indices[:filled], data[:filled]), missing, news

    def _name(self, cells: Cells, row: int, feature: int, j: int) -> str:
        """The name under which a category is hashed."""
        start, end = int(cells.starts[row, j]), int(cells.ends[row, j])
        text, quoted = cells.block.text[start:end].strip(b" \t"), cells.block.text[start - 1 : start] == b'"'
        value = (text.replace(b'""', b'"') if quoted else text).decode("utf-8", "replace")
        return f"{self.columns.table[feature][0]}={value}"[:LONGEST]
