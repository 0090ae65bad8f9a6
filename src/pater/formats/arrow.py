"""Parquet and Arrow files: the same tables, column by column.

Knows pyarrow (the extra `arrow`), `columns` and `batches`. Places count rows here. Such a file is read from where its
footer says, so it cannot come from a pipe.
"""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.row_weights import NO_WEIGHT, are_weights
from ..preprocessing.arrow_memory import floats_of, whole_numbers_of
from .absent import no_column
from .batches import Batch
from .blocks import Place
from .columns import Columns
from .errors import Fault, InputError
from .hashed_names import Seen
from .labels import Texts, label_faults
from .names import check_names
from .plain import PlainRows, note
from .sources import STANDARD_INPUT, Source

ROWS = 1 << 15
HASHED_ROWS = 1 << 14  # where a run may resume, in checkpoints of all versions

# Texts of a Parquet file can be read as its dictionaries, which takes half the time. Where a dictionary was too large
# for its page, Arrow adds all later texts of the row group to it, so this is done for short columns only.
MOST_CODED_BYTES = 1 << 21  # of a column in each row group
_CODED_AS = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}  # Arrow makes dictionaries of no other


class RecordBlock(NamedTuple):
    """Some rows of a columnar file. The columns in `coded` hold texts that are read as dictionaries."""

    records: Any
    first_line: int
    end: Place
    coded: frozenset[str] = frozenset()


def pyarrow(part: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow{part}")
    except ImportError:
        raise InputError("Parquet and Arrow files need the package pyarrow: pip install 'pater[arrow]'.") from None


def is_number(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    types = pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_truth(kind: Any) -> bool:
    return bool(pyarrow().types.is_boolean(kind))


def is_whole(kind: Any) -> bool:
    """Whether labels of this type may be numbers; floats are checked one by one."""
    return is_number(kind)


def schema_of(source: Source) -> Any:
    with _open(source) as (schema, _):
        return schema


def parquet_groups(source: Source) -> list[tuple[int, int]]:
    """The number of rows and of stored bytes in each row group."""
    file = _open(source)
    with file:
        told = file.metadata
        groups = [told.row_group(k) for k in range(told.num_row_groups)]
        sizes = [sum(group.column(j).total_compressed_size for j in range(group.num_columns)) for group in groups]
        return [(group.num_rows, size) for group, size in zip(groups, sizes, strict=True)]


class _open:  # noqa: N801 - used as a function
    """A columnar file as its schema and an iterator of its record batches."""

    def __init__(self, source: Source, wanted: Iterable[str] = (), rows: int | None = None) -> None:
        if source.name == STANDARD_INPUT:
            raise InputError(f"{source.format} cannot be read from standard input; name the file.")
        self._source, self._wanted, self._rows = source, set(wanted), rows
        self.coded: frozenset[str] = frozenset()  # of the wanted columns, those that are read as dictionaries

    def __enter__(self) -> tuple[Any, Iterator[Any]]:
        pa = pyarrow()
        try:
            schema, batches = self._schema_and_batches(pa)
            names = schema.names  # decodes them
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{self._source.name}: {_first_line(error)}") from None
        except UnicodeDecodeError:
            raise InputError(f"{self._source.name}: the name of a column is not UTF-8.") from None
        check_names(names, f"{self._source.name}: it")
        return schema, batches

    def _schema_and_batches(self, pa: Any) -> tuple[Any, Iterator[Any]]:
        if self._source.format == "parquet":
            self._file = self._parquet()
            stop = self._file.num_row_groups if self._source.stop is None else self._source.stop
            groups = range(self._source.start, stop)
            self.coded = self._short_texts(groups)
            if self.coded:
                self._file.close()
                self._file = self._parquet()
            rows = self._rows or self._part_of_group(groups)
            return self._file.schema_arrow, self._file.iter_batches(rows, row_groups=groups, use_threads=False)
        self._file = pa.OSFile(self._source.name)  # not mapped: if the file is cut off meanwhile, the process survives
        try:
            reader = pa.ipc.open_file(self._file)
            return reader.schema, (reader.get_batch(k) for k in range(reader.num_record_batches))
        except pa.ArrowInvalid:
            self._file.seek(0)
            reader = pa.ipc.open_stream(self._file)
            return reader.schema, iter(reader)

    def _parquet(self) -> Any:
        """The file, of which one row group at a time is in memory: with `pre_buffer`, all that was read would stay."""
        coded = list(self.coded)
        return pyarrow(".parquet").ParquetFile(self._source.name, read_dictionary=coded, pre_buffer=False)

    def _short_texts(self, groups: range) -> frozenset[str]:
        """The wanted columns of texts that are short enough in each row group to be read as dictionaries."""
        if not self._wanted:
            return frozenset()
        is_string, told = pyarrow().types.is_string, self._file.metadata
        if told.num_rows < HASHED_ROWS * (told.num_row_groups - 1):
            return frozenset()  # a block would end with each small row group, since the next has another dictionary
        found = {each.name for each in self._file.schema_arrow if each.name in self._wanted and is_string(each.type)}
        for k in groups:
            group = told.row_group(k)
            chunks = [group.column(j) for j in range(group.num_columns)]
            paths = Counter(chunk.path_in_schema for chunk in chunks)  # a.b may also be a field of a
            for chunk in chunks:
                sound = set(chunk.encodings) <= _CODED_AS and paths[chunk.path_in_schema] == 1
                if not sound or chunk.total_uncompressed_size > MOST_CODED_BYTES:
                    found.discard(chunk.path_in_schema)
        return frozenset(found)

    def _part_of_group(self, groups: range) -> int:
        """The rows of a batch: long row groups are cut evenly, since a short rest costs as much as a batch."""
        longest = max((self.metadata.row_group(k).num_rows for k in groups), default=0)
        return -(-longest // -(-longest // ROWS)) if longest > ROWS else ROWS

    @property
    def metadata(self) -> Any:
        """The footer of a Parquet file."""
        return self._file.metadata

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


class RecordParser:
    """Record batches to batches."""

    def __init__(
        self, columns: Columns, *, labelled: bool = True, keep_missing: bool = False, seen: Seen | None = None
    ) -> None:
        self.columns, self.labelled = columns, labelled
        self.plain = PlainRows(columns, keep_missing=keep_missing, seen=seen)
        self.as_dictionaries: tuple[str, ...] = ()  # columns whose texts may be read so

    def blocks(self, source: Source, *, hashed: bool) -> Iterator[RecordBlock]:
        pa = pyarrow()
        digest, rows = hashlib.sha256(), source.before
        most = HASHED_ROWS if hashed else ROWS
        file = _open(source, (), most) if hashed else _open(source, self.as_dictionaries)
        with file as (_, batches):
            while True:
                try:
                    records = next(batches, None)
                    if records is not None:
                        records.validate(full=True)
                except (OSError, pa.ArrowException) as error:
                    raise InputError(f"{source.name}, after row {rows}: {_first_line(error)}") from None
                if records is None:
                    break
                for start in range(0, records.num_rows, most):
                    some = records.slice(start, most)
                    if hashed:
                        digest.update(some.serialize())
                    first, rows = rows + 1, rows + some.num_rows
                    yield RecordBlock(some, first, Place(rows, rows, digest.hexdigest() if hashed else ""), file.coded)
        source.done = source.size or 0

    def __call__(self, block: RecordBlock, source: str) -> Batch:
        records = block.records
        n = records.num_rows
        faults: dict[int, str] = {}
        names = records.schema.names
        there = dict(zip(names, records.columns, strict=True))
        wanted = [name for name, _ in self.columns.table]
        if self.labelled and self.columns.label is not None:
            wanted.append(self.columns.label)
        absent = [name for name in wanted if name not in there]
        if absent:
            raise no_column(absent[0], names, source, "it has")
        labels = self._labels(there, faults, source)
        weights = np.zeros(0)
        if self.columns.weight is not None and self.columns.weight in there:
            weights, _ = _numbers(there, self.columns.weight, source)
            sound = are_weights(weights)
            note(faults, ~sound, f"the importance, {self.columns.weight!r}, is {NO_WEIGHT}")
            weights = np.where(sound, weights, 1.0)
        batch = self.batch(there, block, faults, source)
        batch.labels, batch.weights, batch.source, batch.unit = labels, weights, source, "row"
        batch.lines, batch.end = np.arange(block.first_line, block.first_line + n), block.end
        if faults:
            keep = np.ones(n, bool)
            keep[list(faults)] = False
            batch.faults = [Fault(source, int(batch.lines[r]), 0, faults[r], "row") for r in sorted(faults)]
            batch.take(keep)
        return batch

    def batch(self, there: dict[str, Any], block: RecordBlock, faults: dict[int, str], source: str) -> Batch:
        """The rows of a block, without their labels; what is wrong with some of them is noted in `faults`."""
        return self.plain.batch(
            block.records.num_rows,
            lambda name: _numbers(there, name, source)[0],
            lambda name: _coded(there[name], name, source),
            faults,
        )

    def _labels(self, there: dict[str, Any], faults: dict[int, str], source: str) -> NDArray[Any] | None:
        name = self.columns.label
        if name is None or name not in there:
            return None
        column = there[name]
        if self.columns.numeric_labels:
            try:
                values, absent = _numbers(there, name, source)
            except InputError:
                values, absent = self._words(column, name, source), 0
            wrong = label_faults(values) & ~np.isnan(values)
            kind = np.bool_ if is_truth(column.type) else np.int64
            if not self.labelled:
                return None if absent or wrong.any() else values.astype(kind)
            note(faults, wrong, "the label is not a whole number")
            note(faults, np.isnan(values), "there is no label")
            return np.where(label_faults(values), 0, values).astype(kind)
        texts = _texts(column, name, source)
        if not self.labelled:
            return None if any(rows.any() for _, rows in texts.faults()) else texts.array()
        for what, rows in texts.faults():
            note(faults, rows, what)
        return texts.array()

    def _words(self, column: Any, name: str, source: str) -> NDArray[np.float64]:
        """Labels that are not numbers: the words for truth values, if the labels are known to be these."""
        if not self.columns.truths:
            return np.full(len(column), np.inf)
        texts = _texts(column, name, source)
        missing = np.array([text == "" for text in texts.names])[texts.codes]
        return np.where(missing, np.nan, np.nan_to_num(texts.truths(), nan=np.inf))


def _texts(column: Any, name: str, source: str) -> Texts:
    """Labels as text."""
    names, codes = _coded(column, name, source)
    if any(isinstance(value, bytes) for value in names):
        raise InputError(f"{source}: the labels, {name!r}, are bytes; write them as text.")
    return Texts(["" if value is None else str(value).strip() for value in [*names, None]], codes)


def _numbers(there: dict[str, Any], name: str, source: str) -> tuple[NDArray[np.float64], int]:
    """A column as floats, NaN where a value is missing, and how many are missing."""
    pa, column = pyarrow(), there[name]
    try:
        values = floats_of(column, pa)
    except pa.ArrowException:
        raise InputError(f"{source}: column {name!r} is of type {column.type}, but it should hold numbers.") from None
    return values, int(np.isnan(values).sum())


def _coded(column: Any, name: str, source: str) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct values of a column, and the code of each row; the code after the last stands for nothing."""
    pa = pyarrow()
    try:
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = coded.dictionary.to_pylist()
    except pa.ArrowException:
        raise InputError(f"{source}: column {name!r} is of type {column.type}, but it should hold text.") from None
    return values, whole_numbers_of(coded.indices, len(values))
