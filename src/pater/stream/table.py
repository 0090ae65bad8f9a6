"""CSV and TSV with a header: columns by name, text hashed as `column=value`.

Knows `fields`, `columns` and `batches`. Which columns are numbers is decided by the first block, unless a model or the
caller says it. A missing value contributes nothing: 0 in a column of numbers (with scaling, its mean), no feature in a
hashed one.
"""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import fields
from .batches import Batch, tidy
from .blocks import Place, blocks
from .columns import NUMBER, TABLE, Columns
from .errors import Fault, InputError
from .hashing import place_of
from .labels import label_faults
from .sources import Source

_WRONG = {
    fields.TOO_FEW: "too few fields: the header has {width}",
    fields.TOO_MANY: "too many fields: the header has {width}",
    fields.AFTER_QUOTE: "text after the closing quote of a field",
    fields.OPEN_QUOTE: "a quote is opened and never closed",
}


class TableBlock(NamedTuple):
    """Some whole rows below the header of their file."""

    text: bytes
    header: tuple[str, ...]
    first_line: int
    end: Place


class Cells:
    """The fields of a block."""

    def __init__(self, block: TableBlock, delimiter: int) -> None:
        self.block, self.text = block, np.frombuffer(block.text, np.uint8)
        n_lines, width = block.text.count(b"\n"), len(block.header)
        self.starts, self.ends = np.zeros((n_lines, width), np.int64), np.zeros((n_lines, width), np.int64)
        self.lines, self.codes = np.empty(n_lines, np.int64), np.empty(n_lines, np.uint8)
        self.places = np.empty(n_lines, np.int64)
        n = fields.split(self.text, delimiter, width, self.starts, self.ends, self.lines, self.codes, self.places)
        self.starts, self.ends, self.lines = self.starts[:n], self.ends[:n], self.lines[:n] + block.first_line
        self.codes, self.places = self.codes[:n], self.places[:n]
        self.what = {int(r): _WRONG[int(self.codes[r])].format(width=width) for r in np.flatnonzero(self.codes)}

    def __len__(self) -> int:
        return len(self.lines)

    def strings(self, j: int) -> list[str]:
        text = self.block.text
        return [
            text[start:end].strip().replace(b'""', b'"').decode("utf-8", "replace")
            for start, end in zip(self.starts[:, j].tolist(), self.ends[:, j].tolist(), strict=True)
        ]

    def numbers(self, j: int) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        values, kinds = np.empty(len(self)), np.empty(len(self), np.uint8)
        fields.numbers(self.text, self.starts[:, j], self.ends[:, j], self.codes, values, kinds)
        for r in np.flatnonzero(kinds == fields.IS_SLOW):
            values[r] = float(self.block.text[self.starts[r, j] : self.ends[r, j]])
            kinds[r] = fields.IS_NUMBER if np.isfinite(values[r]) else fields.IS_INFINITE
        return values, kinds

    def fault(self, rows: Any, j: int, what: str) -> None:
        """Mark rows as malformed in column j."""
        for r in np.flatnonzero(rows & (self.codes == fields.SOUND)):
            text = self.block.text[self.starts[r, j] : self.ends[r, j]][:40].decode("utf-8", "replace")
            self.what[int(r)] = what.format(name=self.block.header[j], text=text)
            line_start = self.block.text.rfind(b"\n", 0, int(self.starts[r, 0])) + 1
            self.places[r] = self.starts[r, j] - line_start + 1
            self.codes[r] = fields.TOO_FEW


class TableParser:
    """Blocks of a table to batches."""

    def __init__(
        self, columns: Columns, *, delimiter: str = ",", labelled: bool = True, keep_missing: bool = False
    ) -> None:
        self.columns, self.delimiter = columns, ord(delimiter)
        self.labelled, self.keep_missing = labelled, keep_missing

    def blocks(self, source: Source, *, hashed: bool) -> Iterator[TableBlock]:
        return table_blocks(source, chr(self.delimiter), hashed=hashed)

    def __call__(self, block: TableBlock, source: str) -> Batch:
        cells = Cells(block, self.delimiter)
        where = {name: j for j, name in enumerate(block.header)}
        wanted = [name for name, _ in self.columns.table]
        if self.labelled and self.columns.label is not None:
            wanted.append(self.columns.label)
        absent = [name for name in wanted if name not in where]
        if absent:
            raise InputError(f"{source}: there is no column {absent[0]!r}; the header names {', '.join(block.header)}.")
        labels = self._labels(cells, where)
        weights = self._weights(cells, where)
        rows: tuple[NDArray[Any], ...]
        if self.columns.kind == TABLE:
            rows, missing = self._dense(cells, where)
        else:
            rows, missing = self._hashed(cells, where)
        n_features = 1 << self.columns.bits if self.columns.bits else len(self.columns.table)
        batch = Batch(
            rows, n_features, labels, weights, source=source, lines=cells.lines, missing=missing, end=block.end
        )
        if cells.what:
            batch.faults = [
                Fault(source, int(cells.lines[r]), int(cells.places[r]), cells.what[r]) for r in sorted(cells.what)
            ]
            batch.take(cells.codes == fields.SOUND)
        return batch

    def _labels(self, cells: Cells, where: dict[str, int]) -> NDArray[Any] | None:
        name = self.columns.label
        if name is None or name not in where:
            return None
        j = where[name]
        if not self.columns.numeric_labels:
            strings = np.array(cells.strings(j), dtype=np.str_)
            if self.labelled:
                cells.fault(strings == "", j, "there is no label")
            return strings if self.labelled or not (strings == "").any() else None
        values, kinds = cells.numbers(j)
        wrong = label_faults(values) & (kinds != fields.IS_MISSING) | (kinds == fields.IS_TEXT)
        if not self.labelled:
            return None if wrong.any() or np.isnan(values).any() else values.astype(np.int64)
        cells.fault(wrong, j, "{text!r} is no whole number, as the labels before it were")
        cells.fault(np.isnan(values), j, "there is no label")
        return np.where(np.isfinite(values), values, 0).astype(np.int64)

    def _weights(self, cells: Cells, where: dict[str, int]) -> NDArray[np.float64]:
        name = self.columns.weight
        if name is None or name not in where:
            return np.zeros(0)
        values, _ = cells.numbers(where[name])
        cells.fault(~(values >= 0), where[name], "{text!r} is no importance: a number of at least 0")
        return np.nan_to_num(values, nan=1.0)

    def _column_of_numbers(self, cells: Cells, j: int) -> tuple[NDArray[np.float64], int]:
        values, kinds = cells.numbers(j)
        missing = int(((kinds == fields.IS_MISSING) & (cells.codes == fields.SOUND)).sum())
        if kinds.max(initial=0) >= fields.IS_INFINITE:
            cells.fault(kinds == fields.IS_INFINITE, j, "infinity is no value to learn from")
            cells.fault(
                kinds == fields.IS_TEXT,
                j,
                "{text!r} is no number, but column {name!r} holds numbers; if it does not, say --categorical '{name}'",
            )
        return values, missing

    def _dense(self, cells: Cells, where: dict[str, int]) -> tuple[tuple[NDArray[np.float64]], int]:
        X, missing = np.empty((len(cells), len(self.columns.table))), 0
        for k, (name, _) in enumerate(self.columns.table):
            X[:, k], absent = self._column_of_numbers(cells, where[name])
            missing += absent
        if not self.keep_missing:
            np.nan_to_num(X, copy=False, nan=0.0)
        return (X,), missing

    def _hashed(self, cells: Cells, where: dict[str, int]) -> tuple[tuple[NDArray[Any], ...], int]:
        bits, missing = self.columns.bits, 0
        shape = len(self.columns.table), len(cells)
        places, values = np.empty(shape, np.int64), np.empty(shape)
        scratch = np.empty(len(cells.text) + 1 + max((len(name.encode()) for name in where), default=0), np.uint8)
        for k, (name, kind) in enumerate(self.columns.table):
            j = where[name]
            if kind == NUMBER:
                column, sign = place_of(name, bits)
                x, absent = self._column_of_numbers(cells, j)
                places[k] = np.where((x == 0) | np.isnan(x), -1, column)
                values[k] = sign * np.nan_to_num(x, nan=0.0)
            else:
                prefix = np.frombuffer(f"{name}=".encode(), np.uint8)
                fields.categories(
                    cells.text,
                    cells.starts[:, j],
                    cells.ends[:, j],
                    cells.codes,
                    bits,
                    prefix,
                    scratch,
                    places[k],
                    values[k],
                )
                absent = int(((places[k] < 0) & (cells.codes == fields.SOUND)).sum())
            missing += absent
        size = int((places >= 0).sum())
        indptr, indices, data = np.empty(len(cells) + 1, np.uint32), np.empty(size, np.uint32), np.empty(size)
        fields.gather(cells.codes, places, values, indptr, indices, data)
        tidy(indptr, indices, data, cells.codes, 0)
        filled = int(indptr[-1])
        return (indptr, indices[:filled], data[:filled]), missing


def table_blocks(source: Source, delimiter: str, *, hashed: bool) -> Generator[TableBlock]:
    """The blocks of a table, each with the header of its file."""
    header: tuple[str, ...] | None = None
    for block in blocks(
        source, hashed=hashed, cut=lambda text: int(fields.last_row_end(np.frombuffer(text, np.uint8)))
    ):
        text, first_line = block.text, block.first_line
        if header is None:
            line, _, text = text.partition(b"\n")
            header = _header(line, delimiter, source.shown)
            first_line += 1
        yield TableBlock(text, header, first_line, block.end)


def _header(line: bytes, delimiter: str, source: str) -> tuple[str, ...]:
    text = line.decode("utf-8-sig", "replace").strip("\r\n")
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
    except csv.Error as error:
        raise InputError(f"{source}, line 1: the header cannot be read: {error}.") from None
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{source}, line 1: the header names the column {twice[0]!r} twice.")
    if not any(names):
        raise InputError(f"{source}, line 1: expected a header with the names of the columns.")
    return tuple(names)
