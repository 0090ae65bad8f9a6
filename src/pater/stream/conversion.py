"""Converting data from one format to another.

Knows `reading`, `table_reading`, and pyarrow for tables. Tables stay tables, column by column. Sparse rows become text
again with the shortest digits that give the same numbers. Hashed features are written by the number of their column.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..files.writing import is_stream, writing
from ..formats.arrow_files import first_line, is_text, pyarrow
from ..formats.batches import Batch
from ..formats.columns import TABLE, Columns
from ..formats.errors import Hint, InputError, Skipped
from ..formats.outputs import check_output, packed
from ..formats.reading import Input
from .json_conversion import check_can_be_json, holds_indices, infinite_rows, lines_of_rows, lines_of_table
from .spooled_input import spooled
from .table_reading import LINES, Tables
from .written_times import table_as_read, type_as_read

TABLES = ("csv", "tsv", "parquet", "arrow")
MOST_COLUMNS = 20_000
WEIGHT, TAG = "weight", "tag"  # columns of a table for what VW has beside its features
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def convert(
    source: Input, output: Path | None, format: str, stream: AbstractContextManager[IO[bytes]] | None = None
) -> tuple[dict[str, int], Skipped]:
    """Write the rows of `source` to a file; return the numbers given to labels that were text, and what was skipped.

    Without `output`, they go to `stream`, by default to standard output.
    """
    check_output(output, format)
    if format in ("parquet", "arrow") and is_stream(output):
        raise InputError(f"{output or 'standard output'}: {format} goes to a file, not to a pipe.")
    inputs = [each.name for each in source.sources]
    opened = stream if output is None and stream else packed(writing(output, inputs), output)
    try:
        if format in (*TABLES, LINES) and (format != LINES or source.sources[0].format in (*TABLES, LINES)):
            with spooled(source) as again, opened as file:  # the type of a column is known when all of it was read
                return {}, _to_table(again, file, format)
        with opened as file:
            return _to_rows(source, file, format)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{output or 'standard output'}: cannot be written: {error.strerror or error}.") from None


def _to_table(source: Input, file: IO[bytes], format: str) -> Skipped:
    first, skipped = source.sources[0], Skipped()
    if first.format not in TABLES and not (first.format == LINES and not holds_indices(first)):
        if format == LINES:
            return _to_rows(source, file, format)[1]
        _rows_to_table(source, file, format, skipped)
        return skipped
    tables = Tables(source)
    if tables.are_text and format in _DELIMITERS:
        file.writelines(tables.lines_of_text(_DELIMITERS[format], skipped))
        return skipped
    schema = tables.schema()
    if format == LINES:
        check_can_be_json(schema)

    def pieces() -> Iterator[Any]:
        for piece in tables.pieces(schema):
            skipped.add(piece.faults)
            rows = infinite_rows(piece.table) if format == LINES else np.zeros(0, np.bool_)
            has_none = "JSON has no infinity; leave such rows out, or the column with --drop"
            yield tables.without(piece, rows, has_none, skipped) if rows.any() else piece.table

    _write_tables(pieces(), schema, file, format)
    return skipped


def _to_rows(source: Input, file: IO[bytes], format: str) -> tuple[dict[str, int], Skipped]:
    codes: dict[str, int] = {}
    skipped, tags = Skipped(), 0
    for batch in source.batches():
        skipped.add(batch.faults)
        if format == LINES:
            file.writelines(lines_of_rows(batch))
            continue
        tags += sum(map(bool, batch.tags or ()))
        _write_text(file, batch, format, codes, numbers_of(source.describe()))
    if tags and format == "libsvm":
        warnings.warn(f"libsvm has no place for tags; {tags:,} are left out.", Hint, stacklevel=2)
    return codes, skipped


def numbers_of(columns: Columns) -> NDArray[np.int64] | None:
    """The index of each column of a table; None if columns are indices themselves, or hashed.

    Columns whose names are all whole numbers keep these, so that rows that became a table can become rows again; others
    are numbered from 1.
    """
    if columns.kind != TABLE:
        return None
    names = [name for name, _ in columns.table]
    if all(map(_INDEX.fullmatch, names)):
        return np.array([int(name) for name in names], np.int64)
    return np.arange(1, len(names) + 1)


def _write_text(
    file: IO[bytes], batch: Batch, format: str, codes: dict[str, int], numbers: NDArray[np.int64] | None
) -> None:
    labels: list[Any] = batch.labels.tolist() if batch.labels is not None else [None] * len(batch)
    labels = [codes.setdefault(label, len(codes)) if isinstance(label, str) else label for label in labels]
    X = batch.X
    in_order = np.arange(batch.n_features) if numbers is None else np.argsort(numbers, kind="stable")
    lines = []
    for r, label in enumerate(labels):
        if len(batch.rows) == 1:
            columns = in_order[X[r, in_order] != 0]
            values = X[r, columns]
        else:
            here = slice(X.indptr[r], X.indptr[r + 1])
            columns, values = X.indices[here], X.data[here]
        places = columns if numbers is None else numbers[columns]
        pairs = " ".join(f"{j}:{_shortest(x)}" for j, x in zip(places.tolist(), values.tolist(), strict=True))
        weight = float(batch.weights[r]) if batch.weights.size else 1.0
        if format == "libsvm":
            if weight != 1.0:
                where = f"{batch.source}, {batch.unit} {batch.lines[r]}"
                raise InputError(f"{where}: libsvm cannot store importance weights.")
            lines.append(f"{label if label is not None else 0} {pairs}".rstrip())
        else:
            head = ["" if label is None else str(label), _shortest(weight) if weight != 1.0 else ""]
            tag = f"'{batch.tags[r]}" if batch.tags and batch.tags[r] else ""
            lines.append(f"{' '.join(part for part in (*head, tag) if part)} | {pairs}".strip())
    file.write("".join(f"{line}\n" for line in lines).encode())


def _shortest(x: float) -> str:
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)


def _rows_to_table(source: Input, file: IO[bytes], format: str, skipped: Skipped) -> None:
    """Write sparse rows as a table, in two readings, since a table needs to know its columns first."""
    width, weighed, tagged, kinds = 0, False, False, set[str]()
    for batch in source.batches():
        width = max(width, batch.n_features)
        kinds.add("" if batch.labels is None else batch.labels.dtype.kind)
        weighed = weighed or bool((batch.weights != 1.0).any())
        tagged = tagged or any(batch.tags or ())
    if width > MOST_COLUMNS:
        raise InputError(f"a table cannot have {width} columns, at most {MOST_COLUMNS}. Keep the data sparse.")
    pa = pyarrow()
    of_label = pa.string() if "O" in kinds else pa.bool_() if kinds == {"b"} else pa.int64()
    beside = [("label", of_label), (WEIGHT, pa.float64()), (TAG, pa.string())]
    kept = [column for column, there in zip(beside, (True, weighed, tagged), strict=True) if there]
    schema = pa.schema([*kept, *((str(j), pa.float64()) for j in range(width))])
    if weighed:
        what = f"the importance of a row is in column {WEIGHT!r}: read it with --weight-column {WEIGHT}."
        warnings.warn(what, Hint, stacklevel=2)
    if tagged:
        what = f"tags are in column {TAG!r}, which is not a feature: leave it out with --drop {TAG}."
        warnings.warn(what, Hint, stacklevel=2)

    def tables() -> Iterator[Any]:
        for batch in source.batches():
            skipped.add(batch.faults)
            n = len(batch)
            X = np.zeros((n, width))
            X[:, : batch.n_features] = batch.X.toarray()
            weights, tags = batch.weights if batch.weights.size else np.ones(n), batch.tags or [""] * n
            of_row = {"label": batch.labels, WEIGHT: weights, TAG: [tag or None for tag in tags]}
            columns = [pa.array(of_row[name], kind) for name, kind in kept]
            yield pa.Table.from_arrays([*columns, *(pa.array(column) for column in X.T)], schema=schema)

    _write_tables(tables(), schema, file, format)


def _write_tables(tables: Iterator[Any], schema: Any, file: IO[bytes], format: str) -> None:
    pa = pyarrow()
    if format == LINES:
        file.writelines(map(lines_of_table, tables))
        return
    if format in _DELIMITERS:  # it has no codes for text
        kinds = [(each.name, pa.string() if is_text(each.type) else type_as_read(each.type)) for each in schema]
        schema, tables = pa.schema(kinds), map(table_as_read, tables)
    writers: dict[str, Callable[[], Any]] = {
        "parquet": lambda: pyarrow(".parquet").ParquetWriter(file, schema),
        "arrow": lambda: pa.ipc.new_file(file, schema),
        "csv": lambda: pyarrow(".csv").CSVWriter(file, schema),
        "tsv": lambda: pyarrow(".csv").CSVWriter(
            file, schema, write_options=pyarrow(".csv").WriteOptions(delimiter="\t")
        ),
    }
    try:
        with writers[format]() as writer:
            for table in tables:
                writer.write_table(table if table.schema.equals(schema) else table.cast(schema))
    except pa.ArrowException as error:
        what = f"{format} cannot hold this table: {first_line(error)}"
        raise InputError(f"{what}. Leave such a column out with --drop.") from None
