"""Columnar files, Parquet and Arrow, opened: their columns and types, and an iterator of their record batches.

Knows pyarrow (the extra `arrow`). Such a file is read from where its footer says, so it cannot come from a pipe.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from .errors import InputError
from .names import check_names
from .sources import STANDARD_INPUT, Source

ROWS = 1 << 15
HASHED_ROWS = 1 << 14  # where a run may resume, in checkpoints of all versions

# Texts of a Parquet file can be read as its dictionaries, which takes half the time. Where a dictionary was too large
# for its page, Arrow adds all later texts of the row group to it, so this is done for short columns only.
MOST_CODED_BYTES = 1 << 21  # of a column in each row group
_CODED_AS = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}  # Arrow makes dictionaries of no other


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
    with opened(source) as (schema, _):
        return schema


def parquet_groups(source: Source) -> list[tuple[int, int]]:
    """The number of rows and of stored bytes in each row group."""
    file = opened(source)
    with file:
        told = file.metadata
        groups = [told.row_group(k) for k in range(told.num_row_groups)]
        sizes = [sum(group.column(j).total_compressed_size for j in range(group.num_columns)) for group in groups]
        return [(group.num_rows, size) for group, size in zip(groups, sizes, strict=True)]


class opened:  # noqa: N801 - used as a function
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
            raise InputError(f"{self._source.name}: {first_line(error)}") from None
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


def first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
