"""Converting JSON lines to Arrow tables, and tables and rows to JSON lines.

Knows `formats/jsonl.py` and pyarrow. A file is read twice, because the type of a column is known only when all its
cells are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from decimal import Decimal
from typing import IO, Any

from ..formats.arrow import pyarrow
from ..formats.batches import Batch
from ..formats.blocks import blocks
from ..formats.errors import InputError, MalformedError
from ..formats.json_cells import kind_of, text_of
from ..formats.json_schema import LABEL, is_indices
from ..formats.json_text import written_json
from ..formats.jsonl import FEATURES, ID, WEIGHT, is_apart, objects
from ..formats.names import check_names
from ..formats.sources import Source

_LARGEST = 1 << 63


def holds_indices(source: Source) -> bool:
    """Whether the features of the first line are given by their indices."""
    with closing(_rows(source)) as rows:
        first = next(rows, [{}])[0]
    return is_indices(first.get(FEATURES))


def tables_of_lines(source: Source) -> Iterator[Any]:
    """The lines of a file as tables of one schema. Cells of several kinds become texts."""
    pa = pyarrow()
    kinds: dict[str, set[type]] = {}
    for rows in _rows(source):
        for row in map(_flat, rows):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(float if _is_wide(value) else type(value))
    check_names(list(kinds), f"{source.name}: it")
    schema = pa.schema([(name, _type(name, found, source.name)) for name, found in kinds.items()])
    texts = {name for name in kinds if schema.field(name).type == pa.string()}
    for rows in _rows(source):
        cells = [{k: text_of(v) if k in texts and v is not None else v for k, v in _flat(row).items()} for row in rows]
        columns = [pa.array([row.get(name) for row in cells], schema.field(name).type) for name in kinds]
        yield pa.Table.from_arrays(columns, schema=schema)


def _rows(source: Source) -> Generator[list[dict[str, Any]]]:
    for block in blocks(source):
        faults: list[Any] = []
        rows = objects(block, source.shown, faults).rows
        if faults:
            raise MalformedError(faults[0])
        if rows:
            yield rows


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    if not is_apart(row):
        return row
    return {**row[FEATURES], **{name: row[name] for name in (LABEL, WEIGHT, ID) if name in row}}


def _is_wide(value: Any) -> bool:
    return type(value) is int and not -_LARGEST <= value < _LARGEST


def _type(name: str, kinds: set[type], source: str) -> Any:
    pa, found = pyarrow(), kinds - {type(None)}
    for kind in found & {dict, list}:
        raise InputError(f"{source}: column {name!r} holds {kind_of(kind())}, which a table cannot hold.")
    if found == {bool}:
        return pa.bool_()
    if found <= {int, float}:
        return pa.int64() if found == {int} else pa.float64()
    return pa.string()


class LinesWriter:
    """Writes tables as flat lines."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> LinesWriter:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write_table(self, table: Any) -> None:
        """Write the rows of a table, a line each."""
        rows = ({name: _as_json(value) for name, value in row.items()} for row in table.to_pylist())
        self._file.write(b"".join([written_json(row) + b"\n" for row in rows]))


def _as_json(value: Any) -> Any:
    if isinstance(value, float) and not abs(value) < float("inf"):
        if value == value:
            raise InputError("JSON has no infinity; leave such rows out.")
        return None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        raise InputError("JSON has no bytes; leave such columns out.")
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
