"""Converting JSON lines to Arrow tables, and tables and rows to JSON lines.

Knows `formats/jsonl.py` and pyarrow. A file is read twice, because the type of a column is known only when all its
cells are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any

import numpy as np

from ..formats.arrow_files import first_line, pyarrow
from ..formats.batches import Batch
from ..formats.blocks import blocks
from ..formats.errors import Fault, InputError
from ..formats.json_cells import kind_of, text_of
from ..formats.json_schema import LABEL, is_indices
from ..formats.json_text import written_json
from ..formats.jsonl import FEATURES, ID, WEIGHT, is_apart, objects
from ..formats.names import check_names
from ..formats.numbers import LARGEST_LABEL
from ..formats.sources import Source
from .csv_tables import Piece
from .written_times import in_json

_LARGEST = 1 << 63


def holds_indices(source: Source) -> bool:
    """Whether the features of the first line are given by their indices."""
    with closing(_rows(source)) as found:
        first = next((rows[0] for _, rows, _ in found if rows), {})
    return is_indices(first.get(FEATURES))


def schema_of_lines(source: Source, drop: Sequence[str], refuse: Callable[[Sequence[Fault]], None]) -> Any:
    """What the columns of a file hold. Cells of several kinds become texts."""
    pa = pyarrow()
    kinds: dict[str, set[type]] = {}
    for _, rows, faults in _rows(source):
        refuse(faults)
        for row in map(_flat, rows):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_kind(value))
    check_names(list(kinds), f"{source.shown}: it")
    if not kinds:
        raise InputError(f"{source.shown}: there is no row to convert.")
    kinds |= {name: set() for name in drop if name in kinds}  # dropped columns may hold anything
    return pa.schema([(name, _type(name, found, source.shown)) for name, found in kinds.items()])


def pieces_of_lines(source: Source, schema: Any) -> Iterator[Piece]:
    """The lines of a file as tables of this schema."""
    pa = pyarrow()
    texts = {column.name for column in schema if column.type == pa.string()}
    for lines, rows, faults in _rows(source):
        cells = [{k: _text(v) if k in texts and v is not None else v for k, v in _flat(row).items()} for row in rows]
        columns = [pa.array([row.get(column.name) for row in cells], column.type) for column in schema]
        table = pa.Table.from_arrays(columns, schema=schema)
        yield Piece(table, source.shown, np.array(lines, np.int64), "line", faults)


def _rows(source: Source) -> Generator[tuple[list[int], list[dict[str, Any]], list[Fault]]]:
    for block in blocks(source):
        faults: list[Fault] = []
        lines, rows = objects(block, source.shown, faults)
        yield lines, rows, faults


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    if not is_apart(row):
        return row
    return {**row[FEATURES], **{name: row[name] for name in (LABEL, WEIGHT, ID) if name in row}}


class _Digits:
    """The kind of whole numbers that 64 bits hold exactly, but a float does not."""


def _kind(value: Any) -> type:
    """The type of a cell; a whole number that no column of numbers holds exactly counts as text."""
    if type(value) is not int or abs(value) <= LARGEST_LABEL:
        return type(value)
    return _Digits if -_LARGEST <= value < _LARGEST else str


def _text(value: Any) -> str:
    """A cell as text, whole numbers with all their digits."""
    return str(value) if type(value) is int else text_of(value)


def _type(name: str, kinds: set[type], source: str) -> Any:
    pa, found = pyarrow(), kinds - {type(None)}
    for kind in found & {dict, list}:
        raise InputError(f"{source}: column {name!r} holds {kind_of(kind())}, which a table cannot hold.")
    if found == {bool}:
        return pa.bool_()
    if found and found <= {int, _Digits}:
        return pa.int64()
    if found <= {int, float}:
        return pa.float64()
    return pa.string()


def check_can_be_json(schema: Any) -> None:
    """Raise an error if there is a column that JSON cannot hold."""
    types = pyarrow().types
    for column in schema:
        if types.is_binary(column.type) or types.is_large_binary(column.type):
            raise InputError(f"column {column.name!r} holds bytes, and JSON has none; leave it out with --drop.")


def infinite_rows(table: Any) -> Any:
    """Which rows hold infinity, which JSON cannot express."""
    pc, found = pyarrow(".compute"), np.zeros(table.num_rows, np.bool_)
    for column in table.columns:
        if pyarrow().types.is_floating(column.type):
            found |= pc.is_inf(column).fill_null(False).to_numpy()
    return found


def lines_of_table(table: Any) -> bytes:
    """The rows of a table as flat lines."""
    columns = [_cells(column, name) for name, column in zip(table.column_names, table.columns, strict=True)]
    rows = (dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True))
    return b"".join([written_json(row) + b"\n" for row in rows])


def _cells(column: Any, name: str) -> list[Any]:
    pa = pyarrow()
    try:
        cells = list(map(_as_json, in_json(column, name).to_pylist()))
        if pa.types.is_nested(column.type):
            written_json(cells)
    except (OverflowError, TypeError, pa.ArrowException) as error:
        what = f"column {name!r} of type {column.type} cannot be written as JSON: {first_line(error)}"
        raise InputError(f"{what}. Leave it out with --drop {name!r}.") from None
    return cells


def _as_json(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, Decimal) else value


def lines_of_rows(batch: Batch) -> Iterable[bytes]:
    """Sparse rows as lines with features by their indices."""
    X = batch.X
    labels = [None] * len(batch) if batch.labels is None else batch.labels.tolist()
    for r, label in enumerate(labels):
        here = slice(X.indptr[r], X.indptr[r + 1])
        row: dict[str, Any] = {FEATURES: {"indices": X.indices[here].tolist(), "values": X.data[here].tolist()}}
        if label is not None:
            row[LABEL] = label
        if batch.weights.size and batch.weights[r] != 1.0:
            row[WEIGHT] = float(batch.weights[r])
        if batch.tags and batch.tags[r]:
            row[ID] = batch.tags[r]
        yield written_json(row) + b"\n"
