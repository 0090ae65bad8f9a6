"""CSV and TSV with a header: columns by name, text hashed as `column=value`.

Knows `csv_fields`, `delimiters`, `columns` and `batches`. Which columns are numbers is decided by the first block,
unless a model or the caller says it. A missing value contributes nothing: 0 in a column of numbers (with scaling, its
mean), no feature in a hashed one.
"""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import NO_WEIGHT, are_weights
from . import csv_fields as fields
from .batches import OVERFLOW, Batch, how_many, tidy
from .blocks import BLOCK_BYTES, Place, blocks
from .columns import NUMBER, TABLE, Columns
from .delimiters import recognised
from .errors import Fault, InputError, listed, shortened
from .hashed_names import LONGEST, NOTHING_SEEN, News, Seen, news_of
from .hashing import places_of
from .labels import Texts, label_faults
from .names import check_names
from .sources import Source

_WRONG = {
    fields.TOO_FEW: "too few fields: the header has {width}",
    fields.TOO_MANY: "too many fields: the header has {width}",
    fields.AFTER_QUOTE: "text after the closing quote of a field",
    fields.OPEN_QUOTE: "a quote is opened and never closed",
    fields.LONE_RETURN: "a carriage return that ends no line; put text that holds one in quotes",
}
_NO_NUMBER = {
    fields.IS_INFINITE: "infinity is no value to learn from",
    fields.IS_TEXT: "{text!r} is no number, but column {name!r} holds numbers; "
    "if it does not, say --categorical '{name}'",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TableBlock(NamedTuple):
    """Some whole rows below the header of their file."""

    text: bytes
    header: tuple[str, ...]
    first_line: int
    end: Place
    delimiter: str = ","


class Cells:
    """The fields of a block, of those rows that have as many as the header.

    `faults` are the other rows. What turns out to be wrong with the rows that are here is in `what`, by row: the column
    of the text and the message; `codes` is not 0 for them.
    """

    def __init__(self, block: TableBlock, delimiter: int, source: str) -> None:
        self.block, self.source, self.text = block, source, np.frombuffer(block.text, np.uint8)
        n_lines, width = int(how_many(self.text, fields.NEWLINE)), len(block.header)
        n_fields = n_lines + int(how_many(self.text, delimiter))
        starts, ends = np.empty(n_fields, np.int64), np.empty(n_fields, np.int64)
        lines, wrong = np.arange(n_lines), np.empty((3, n_lines), np.int64)
        plain = n_fields == n_lines * width and width > 1 and b'"' not in block.text and b"\r" not in block.text
        if plain and fields.split_plain(self.text, delimiter, width, starts, ends):
            n, n_wrong = n_lines, 0
        else:
            n, n_wrong = fields.split(self.text, delimiter, width, starts, ends, lines, *wrong)
        self.starts, self.ends = starts[: n * width].reshape(n, width), ends[: n * width].reshape(n, width)
        self.lines, self.codes = lines[:n] + block.first_line, np.zeros(n, np.uint8)
        self.what: dict[int, tuple[int, str]] = {}
        self.malformed = [
            Fault(source, line + block.first_line, column, _WRONG[code].format(width=width))
            for line, column, code in wrong[:, :n_wrong].T.tolist()
        ]

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def is_utf8(self) -> bool:
        """Whether every text can be decoded without loss."""
        try:
            self.block.text.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    @property
    def faults(self) -> list[Fault]:
        """All rows that are malformed, in order."""
        here = [Fault(self.source, int(self.lines[r]), *wrong) for r, wrong in self.what.items()]
        return sorted([*self.malformed, *here], key=lambda fault: fault.line)

    def texts(self, j: int) -> Texts:
        """What stands in column j."""
        text, spans = self.block.text, zip(self.starts[:, j].tolist(), self.ends[:, j].tolist(), strict=True)
        rows = (
            text[start:end] if text[start - 1 : start] != b'"' else text[start:end].replace(b'""', b'"')
            for start, end in spans
        )
        return Texts.of(rows, len(self))

    def numbers(
        self, wanted: NDArray[np.int64], *, by_column: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The numbers of some columns, and of which kind each is, (rows, wanted); those of a column side by side."""
        order: Literal["C", "F"] = "F" if by_column else "C"
        values = np.empty((len(self), wanted.size), order=order)
        kinds = np.empty(values.shape, np.uint8, order=order)
        fields.numbers(self.text, self.starts, self.ends, wanted, self.codes, values, kinds)
        for r, k in np.argwhere(kinds == fields.IS_SLOW).tolist():
            j = wanted[k]
            values[r, k] = float(self.block.text[self.starts[r, j] : self.ends[r, j]])
            kinds[r, k] = fields.IS_NUMBER if np.isfinite(values[r, k]) else fields.IS_INFINITE
        return values, kinds

    def fault(self, rows: Any, j: int, what: str) -> None:
        """Mark rows as malformed in column j."""
        for r in np.flatnonzero(rows & (self.codes == fields.SOUND)).tolist():
            self.fault_in(r, j, what)

    def fault_in(self, r: int, j: int, what: str) -> None:
        """Mark row r as malformed in column j, unless it is already."""
        if self.codes[r] == fields.SOUND:
            start, end = int(self.starts[r, j]), int(self.ends[r, j])
            line_start = self.block.text.rfind(b"\n", 0, int(self.starts[r, 0])) + 1
            text = shortened(self.block.text[start:end])
            self.what[r] = start - line_start + 1, what.format(name=self.block.header[j], text=text)
            self.codes[r] = fields.WRONG


class TableParser:
    """Blocks of a table to batches."""

    def __init__(
        self,
        columns: Columns,
        *,
        delimiter: str | None = None,
        labelled: bool = True,
        keep_missing: bool = False,
        seen: Seen | None = None,
    ) -> None:
        self.columns, self.delimiter, self.seen = columns, delimiter, seen
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
        return table_blocks(source, self.delimiter, hashed=hashed)

    def __call__(self, block: TableBlock, source: str) -> Batch:
        cells = Cells(block, ord(block.delimiter), source)
        where = {name: j for j, name in enumerate(block.header)}
        wanted = [name for name, _ in self.columns.table]
        if self.labelled and self.columns.label is not None:
            wanted.append(self.columns.label)
        absent = [name for name in wanted if name not in where]
        if absent:
            raise InputError(f"{source}: there is no column {absent[0]!r}; the header names {listed(block.header)}.")
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
        return Batch(rows, width, None, missing=missing, news=news)

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
        all_values, all_kinds = cells.numbers(np.array([j]))
        values, kinds = all_values[:, 0], all_kinds[:, 0]
        wrong = label_faults(values) & (kinds != fields.IS_MISSING) | (kinds == fields.IS_TEXT)
        if not self.labelled:
            return None if wrong.any() or np.isnan(values).any() else values.astype(np.int64)
        cells.fault(wrong, j, "{text!r} is no whole number, as the labels before it were")
        cells.fault(np.isnan(values), j, "there is no label")
        return np.where(cells.codes == fields.SOUND, values, 0).astype(np.int64)

    def _weights(self, cells: Cells, where: dict[str, int]) -> NDArray[np.float64]:
        name = self.columns.weight
        if name is None or name not in where:
            return np.zeros(0)
        values = cells.numbers(np.array([where[name]]))[0][:, 0]
        sound = are_weights(values)
        cells.fault(~sound, where[name], f"{{text!r}} is no importance: {NO_WEIGHT}")
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
        words = cells.text, cells.starts, cells.ends, features[into]
        seen = NOTHING_SEEN if self.seen is None else self.seen.marks
        found = np.empty((len(cells) * into.size if seen.size else 0, 4), np.int64)
        names = self.prefixes, self.bounds, scratch
        told = fields.categories(*words, self.columns.bits, *names, into, places, values, seen, found)
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
        """What a category is hashed as."""
        start, end = int(cells.starts[row, j]), int(cells.ends[row, j])
        text, quoted = cells.block.text[start:end].strip(b" \t"), cells.block.text[start - 1 : start] == b'"'
        value = (text.replace(b'""', b'"') if quoted else text).decode("utf-8", "replace")
        return f"{self.columns.table[feature][0]}={value}"[:LONGEST]


def table_blocks(
    source: Source, delimiter: str | None, *, hashed: bool, size: int = BLOCK_BYTES
) -> Generator[TableBlock]:
    """The blocks of a table, each with the header of its file; a delimiter that is not given is recognised."""
    header: tuple[str, ...] | None = None

    def cut(text: bytes) -> int:
        nonlocal delimiter
        if delimiter is None:
            delimiter = recognised(text)
        return _row_end(text, delimiter)

    for block in blocks(source, hashed=hashed, size=size, cut=cut):
        text, first_line = block.text, block.first_line
        assert delimiter is not None
        if header is None:
            end = _row_end(text, delimiter, first=True) % len(text)  # an open quote leaves the whole text
            header = _header(text[:end], delimiter, source.shown)
            text, first_line = text[end + 1 :], first_line + text.count(b"\n", 0, end + 1)
        yield TableBlock(text, header, first_line, block.end, delimiter)


def _row_end(text: bytes, delimiter: str, *, first: bool = False) -> int:
    if b'"' not in text:
        return text.find(b"\n") if first else text.rfind(b"\n")
    return int(fields.row_end(np.frombuffer(text, np.uint8), ord(delimiter), first))


def _header(line: bytes, delimiter: str, source: str) -> tuple[str, ...]:
    text = line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace").strip("\r\n")
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter, strict=True), [])]
    except csv.Error as error:
        raise InputError(f"{source}, line 1: the header cannot be read: {error}.") from None
    if not any(names):
        raise InputError(f"{source}, line 1: expected a header with the names of the columns.")
    check_names(names, f"{source}, line 1: the header")
    return tuple(names)
