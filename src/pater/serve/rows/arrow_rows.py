"""Rows of a request that came as an Arrow stream.

Knows pyarrow (the extra `arrow`) and `rows`. A cell means what it means in JSON: a moment is its text in ISO 8601, and
a dictionary column is read as its values. So the lines that a stream is exported as give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, overload

import numpy as np

from ...formats.arrow_files import pyarrow
from ...formats.columns import INDICES, Columns
from ...formats.errors import InputError, listed, shortened
from ...formats.json_cells import Cells, Faults
from ...formats.json_rows import EVERY
from ...formats.json_schema import LABEL, columns_of_rows
from ...formats.plain_rows import INFINITE, note
from ...formats.schema import Wishes
from ...preprocessing.columns import Numbers, Texts
from ...preprocessing.tables import TRUTHS, of_arrow
from ..errors import Refusal
from .bodies import LIMITS, Limits, Parts, check_ids, check_names, refuse
from .rows import DEFAULT_WISHES, SOURCE, Rows, finished, reader_of

WEIGHT, ID = "weight", "id"
_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_YEAR_1, _YEAR_10000 = -62135596800.0, 253402300800.0  # seconds since 1970


def rows_of_arrow(
    content: bytes,
    columns: Columns | None,
    *,
    labelled: bool,
    wishes: Wishes = DEFAULT_WISHES,
    limits: Limits = LIMITS,
    keep_missing: bool = False,
) -> Rows:
    """The rows of an Arrow stream; see `rows_of_json`."""
    if columns is not None and columns.kind == INDICES:
        raise Refusal(422, "the model learns from numbered features, which come as JSON.")
    stream, faults = _Stream(content, columns, limits, wishes), Faults()
    if not labelled and stream.label is not None:
        raise Refusal(422, f"rows to predict have no label, but there is a column {shortened(stream.label)!r}.")
    if labelled and stream.label is None:
        wanted = (columns.label if columns is not None else wishes.label) or LABEL
        raise Refusal(422, f"there is no column {wanted!r} of labels.")
    n_rows, cells = stream.n_rows, stream.cells(faults)
    given = _Given(cells, n_rows)
    parts = Parts(given, *(stream.values(name) for name in (stream.label, stream.weight, stream.id)))
    check_ids(parts.ids, limits, faults)
    if columns is None:
        refuse(faults)
        columns = _settled(given, parts.labels, wishes)
    nothing = Cells(Texts(np.full(n_rows, -1, np.int64), []))
    reader = reader_of(columns, labelled, keep_missing, limits.features)
    batch = reader.table({name: cells.get(name, nothing) for name in reader.names}, n_rows, faults)
    return finished(batch, columns, parts, faults, labelled=labelled, arrow=content)


def _settled(given: Sequence[Any], labels: list[Any], wishes: Wishes) -> Columns:
    if not given:
        raise Refusal(422, "there are no rows to learn the columns from.")
    try:
        return columns_of_rows(given[:1], labels, SOURCE, wishes)
    except InputError as error:
        raise Refusal(422, str(error)) from None


class _Given(Sequence[Any]):
    """The features of each row as JSON values, made when asked for."""

    def __init__(self, cells: dict[str, Cells], n_rows: int) -> None:
        self._cells, self._n_rows = cells, n_rows
        self._values: list[list[Any]] | None = None

    def __len__(self) -> int:
        return self._n_rows

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return [self[r] for r in range(*row.indices(self._n_rows))]
        if self._values is None:
            self._values = [_values(cells) for cells in self._cells.values()]
        if row >= self._n_rows:
            raise IndexError(row)
        return {name: values[row] for name, values in zip(self._cells, self._values, strict=True)}


def _values(cells: Cells) -> list[Any]:
    """The cells of a column as JSON values."""
    column = cells.column
    if isinstance(column, Numbers):
        return [None if value != value else value for value in column.values.tolist()]
    names: list[Any] = [False, True] if column.names is TRUTHS else list(column.names)
    return [names[code] if code >= 0 else None for code in column.codes.tolist()]


class _Stream:
    """A stream that was read, and the roles of its columns."""

    def __init__(self, content: bytes, columns: Columns | None, limits: Limits, wishes: Wishes) -> None:
        try:
            self._pa = pyarrow()
        except InputError:
            raise Refusal(415, "Arrow streams need the package pyarrow on the server: pip install pyarrow.") from None
        self._table = self._read(content, limits)
        self.n_rows = self._table.num_rows
        names = self._table.column_names
        table = {name for name, _ in columns.table} if columns is not None else set()
        of_label = (columns.label if columns is not None else wishes.label) or LABEL
        of_weight = (columns.weight if columns is not None else wishes.weight) or WEIGHT
        self.label, self.weight, self.id = (
            name if name in names and name not in table else None for name in (of_label, of_weight, ID)
        )
        self._features = [name for name in names if name not in (self.label, self.weight, self.id)]
        if columns is None:
            check_names(self._features, limits)
        unknown = [name for name in self._features if columns is not None and name not in table]
        unknown = [name for name in unknown if wishes.drop is not EVERY and name not in wishes.drop]
        if unknown:
            raise Refusal(
                422, f"there is no column {shortened(unknown[0])!r}; the model learns from {listed(sorted(table))}."
            )

    def _read(self, content: bytes, limits: Limits) -> Any:
        pa, batches, n_rows = self._pa, [], 0
        try:
            _refuse_compressed(pa, content)
            with pa.ipc.open_stream(content) as stream:
                names = stream.schema.names
                if len(names) > limits.columns + 3:
                    raise Refusal(413, f"there are {len(names):,} columns; at most {limits.columns:,} are taken.")
                if len(set(names)) < len(names):
                    raise Refusal(422, "two columns have the same name.")
                for field in stream.schema:
                    if not _is_readable(field.type, pa.types):
                        raise Refusal(
                            422, f"column {shortened(field.name)!r} is of type {field.type}, which cannot be read."
                        )
                for batch in stream:
                    n_rows += batch.num_rows
                    if n_rows > limits.rows:
                        raise Refusal(413, f"there are more than {limits.rows:,} rows. Send them in parts.")
                    batch.validate(full=True)
                    batches.append(batch)
                return pa.Table.from_batches(batches, stream.schema).combine_chunks()
        except (pa.ArrowException, OSError, ValueError, struct.error, MemoryError) as error:
            what = str(error).strip().partition("\n")[0] or type(error).__name__
            raise Refusal(400, f"the stream of Arrow cannot be read: {shortened(what)}") from None

    def cells(self, faults: Faults) -> dict[str, Cells]:
        """The cells of the features, by column."""
        found = {}
        for name in self._features:
            try:
                found[name] = self._cells(self._table.column(name), name, faults)
            except (self._pa.ArrowException, TypeError, ValueError, NotImplementedError, ArithmeticError) as error:
                what = str(error).strip().partition("\n")[0]
                raise Refusal(422, f"column {shortened(name)!r} cannot be read: {what}") from None
        return found

    def _cells(self, array: Any, name: str, faults: Faults) -> Cells:
        pa, types, kind = self._pa, self._pa.types, array.type
        if types.is_dictionary(kind):
            array = pa.chunked_array([chunk.dictionary_decode() for chunk in array.chunks], kind.value_type)
            kind = array.type
        if types.is_timestamp(kind) or types.is_date(kind):
            return Cells(_moments(array, pa, name, faults))
        if types.is_duration(kind):
            return Cells(Numbers(_seconds(array, pa, kind.unit)))
        if types.is_large_string(kind) or types.is_string_view(kind):
            array = array.cast(pa.string())
        column = of_arrow(array)
        if isinstance(column, Texts):
            truths = types.is_boolean(kind)
            return Cells(column._replace(names=TRUTHS) if truths else column, np.array([0.0, 1.0]) if truths else None)
        note(faults, np.isinf(column[0]), INFINITE.format(name=name))
        return Cells(Numbers(column[0] + 0.0))

    def values(self, name: str | None) -> list[Any]:
        """The JSON values of a column that is not a feature; all None if there is no such column."""
        if name is None:
            return [None] * self.n_rows
        array = self._table.column(name)
        kind = array.type.value_type if self._pa.types.is_dictionary(array.type) else array.type
        if self._pa.types.is_decimal(kind) or self._pa.types.is_float16(kind):
            array = array.cast(self._pa.float64())
        elif self._pa.types.is_temporal(kind):
            raise Refusal(422, f"column {shortened(name)!r} is of type {kind}; it must hold numbers or text.")
        found: list[Any] = array.to_pylist()
        return found


def _is_readable(kind: Any, types: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    times = types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind)
    return bool(texts or numbers or times or types.is_null(kind))


def _seconds(array: Any, pa: Any, unit: str) -> Any:
    """Whole numbers of a unit as seconds; nanoseconds are cut to whole microseconds."""
    counts = array.cast(pa.int64())
    there = ~np.asarray(counts.is_null())
    values = np.asarray(counts.fill_null(0), np.int64)
    seconds = (values // 1000) / 1e6 if unit == "ns" else values / _A_SECOND[unit]
    return np.where(there, seconds, np.nan)


def _moments(array: Any, pa: Any, name: str, faults: Faults) -> Texts:
    """Moments as texts, in the local time of their time zone."""
    if pa.types.is_date(array.type):
        array = array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        days = np.asarray(array.fill_null(0), np.int64)
        seconds = np.where(np.asarray(array.is_null()), np.nan, days * 86400.0)
    else:
        if array.type.tz is not None:
            import pyarrow.compute as compute

            array = compute.local_timestamp(array)
        seconds = _seconds(array, pa, array.type.unit)
    outside = ~((seconds >= _YEAR_1) & (seconds < _YEAR_10000)) & ~np.isnan(seconds)
    for r in np.flatnonzero(outside).tolist():
        faults.setdefault(r, f"the moment in column {name!r} is not in the years 1 to 9999")
    there = ~np.isnan(seconds) & ~outside
    moments, places = np.unique(np.rint(seconds[there] * 1e6).astype("M8[us]"), return_inverse=True)
    whole = moments == moments.astype("M8[s]")
    texts = np.where(whole, np.datetime_as_string(moments, unit="s"), np.datetime_as_string(moments, unit="us"))
    codes = np.full(seconds.size, -1, np.int64)
    codes[there] = places
    return Texts(codes, texts.tolist())


def _refuse_compressed(pa: Any, content: bytes) -> None:
    """Raise a `Refusal` if buffers are compressed, since they could be of any size once they are read."""
    messages = pa.ipc.MessageReader.open_stream(content)
    with suppress(StopIteration):
        while True:
            message = messages.read_next_message()
            if message.type in ("record batch", "dictionary") and _is_compressed(message.metadata.to_pybytes()):
                raise Refusal(415, "the stream of Arrow is compressed; send it without compression.")


def _is_compressed(metadata: bytes) -> bool:
    """Whether the record batch that an Arrow message describes has compressed buffers.

    A message is a FlatBuffer, a tree of tables: field 2 of the message is a record batch, or a dictionary with a record
    batch as its field 1; field 3 of the record batch is the compression.
    """
    message = struct.unpack_from("<I", metadata, 0)[0]
    kind = _field(metadata, message, 1)
    batch = _table(metadata, message, 2)
    if batch and kind and metadata[kind] == 2:
        batch = _table(metadata, batch, 1)
    return bool(batch and _field(metadata, batch, 3))


def _field(data: bytes, table: int, number: int) -> int:
    """The offset of a field of a FlatBuffer's table; 0 if it is absent."""
    places = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, places)[0]
    at = struct.unpack_from("<H", data, places + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return table + at if at else 0


def _table(data: bytes, table: int, number: int) -> int:
    at = _field(data, table, number)
    return at + struct.unpack_from("<I", data, at)[0] if at else 0
