"""Converting data from one format to another.

Knows `reading`, and pyarrow for tables. Tables stay tables, column by column. Sparse rows become text again with the
shortest digits that give the same numbers. Hashed features are written by the number of their column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..files.writing import is_stream, writing
from ..formats.arrow import pyarrow, schema_of
from ..formats.batches import Batch
from ..formats.columns import INDICES
from ..formats.delimiters import delimiter_of
from ..formats.errors import InputError, Skipped
from ..formats.names import check_names
from ..formats.reading import Input
from ..formats.sources import STANDARD_INPUT, Source
from .json_conversion import LinesWriter, holds_indices, lines_of_rows, tables_of_lines

TABLES = ("csv", "tsv", "parquet", "arrow")
LINES = "jsonl"
MOST_COLUMNS = 20_000


def convert(source: Input, output: Path, format: str) -> tuple[dict[str, int], Skipped]:
    """Write the rows of `source` to a file; return the numbers that replace text labels, and what was skipped."""
    codes: dict[str, int] = {}
    skipped = Skipped()
    first = source.sources[0]
    if format in ("parquet", "arrow") and is_stream(output):
        raise InputError(f"{output}: {format} must be written to a file, not to a pipe.")
    is_table = first.format in TABLES
    if first.format == LINES and format in (*TABLES, LINES):
        if first.name == STANDARD_INPUT:
            raise InputError(
                "the columns of a table must be known first, and a pipe can be read only once; name the file."
            )
        is_table = not holds_indices(first)
    try:
        with writing(output, [each.name for each in source.sources]) as file:
            if is_table and format in (*TABLES, LINES):
                _table_to_table(source.sources, file, format, source.wishes.delimiter)
            elif format in TABLES:
                _rows_to_table(source, file, format, skipped)
            elif format == LINES:
                for batch in source.batches():
                    skipped.add(batch.faults)
                    file.writelines(lines_of_rows(batch))
            else:
                for batch in source.batches():
                    skipped.add(batch.faults)
                    _write_text(file, batch, format, codes, from_one=source.describe().kind != INDICES)
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror or error}.") from None
    return codes, skipped


def _write_text(file: IO[bytes], batch: Batch, format: str, codes: dict[str, int], *, from_one: bool) -> None:
    labels: list[Any] = batch.labels.tolist() if batch.labels is not None else [None] * len(batch)
    labels = [codes.setdefault(label, len(codes)) if isinstance(label, str) else label for label in labels]
    X = batch.X
    lines = []
    for r, label in enumerate(labels):
        if len(batch.rows) == 1:
            columns = np.flatnonzero(X[r])
            values = X[r, columns]
        else:
            here = slice(X.indptr[r], X.indptr[r + 1])
            columns, values = X.indices[here], X.data[here]
        pairs = " ".join(
            f"{j}:{_shortest(x)}" for j, x in zip((columns + from_one).tolist(), values.tolist(), strict=True)
        )
        weight = float(batch.weights[r]) if batch.weights.size else 1.0
        if format == "libsvm":
            if weight != 1.0:
                raise InputError(f"{batch.source}, line {batch.lines[r]}: libsvm cannot store importance weights.")
            lines.append(f"{label if label is not None else 0} {pairs}".rstrip())
        else:
            head = ["" if label is None else str(label), _shortest(weight) if weight != 1.0 else ""]
            tag = f"'{batch.tags[r]}" if batch.tags and batch.tags[r] else ""
            lines.append(f"{' '.join(part for part in (*head, tag) if part)} | {pairs}".strip())
    file.write("".join(f"{line}\n" for line in lines).encode())


def _shortest(x: float) -> str:
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)


def _rows_to_table(source: Input, file: IO[bytes], format: str, skipped: Skipped) -> None:
    """Write sparse rows as a table, reading twice, since the columns must be known first."""
    if any(each.name == STANDARD_INPUT for each in source.sources):
        raise InputError("the columns of a table must be known first, and a pipe can be read only once; name the file.")
    width = max((batch.n_features for batch in source.batches()), default=0)
    if width > MOST_COLUMNS:
        raise InputError(f"a table cannot have {width} columns, at most {MOST_COLUMNS}. Keep the data sparse.")
    pa = pyarrow()
    names = ["label", *map(str, range(width))]

    def tables() -> Iterator[Any]:
        for batch in source.batches():
            skipped.add(batch.faults)
            X = np.zeros((len(batch), width))
            X[:, : batch.n_features] = batch.X.toarray()
            yield pa.table([pa.array(batch.labels), *(pa.array(column) for column in X.T)], names=names)

    _write_tables(tables(), file, format)


def _table_to_table(sources: list[Source], file: IO[bytes], format: str, wished: str | None) -> None:
    pa, csv = pyarrow(), pyarrow(".csv")

    def tables() -> Iterator[Any]:
        for source in sources:
            try:
                if source.format in ("csv", "tsv"):
                    delimiter = delimiter_of(source, wished)
                    options = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
                    with csv.open_csv(source.name, parse_options=options) as reader:
                        check_names(reader.schema.names, f"{source.name}, line 1: the header")
                        yield from (pa.Table.from_batches([batch]) for batch in reader)
                    continue
                if source.format == LINES:
                    yield from tables_of_lines(source)
                    continue
                schema_of(source)  # an error if there is anything wrong with it
                if source.format == "parquet":
                    for batch in pyarrow(".parquet").ParquetFile(source.name).iter_batches():
                        yield pa.Table.from_batches([batch])
                else:
                    yield pa.ipc.open_file(source.name).read_all()
            except (OSError, pa.ArrowException) as error:
                raise InputError(f"{source.name}: {str(error).partition(chr(10))[0]}") from None

    _write_tables(tables(), file, format)


def _write_tables(tables: Iterator[Any], file: IO[bytes], format: str) -> None:
    pa = pyarrow()
    writers: dict[str, Callable[[Any], Any]] = {
        "parquet": lambda schema: pyarrow(".parquet").ParquetWriter(file, schema),
        "arrow": lambda schema: pa.ipc.new_file(file, schema),
        LINES: lambda schema: LinesWriter(file),
        "csv": lambda schema: pyarrow(".csv").CSVWriter(file, schema),
        "tsv": lambda schema: pyarrow(".csv").CSVWriter(
            file, schema, write_options=pyarrow(".csv").WriteOptions(delimiter="\t")
        ),
    }
    first = next(tables, None)
    if first is None:
        raise InputError("there are no rows to convert.")
    with writers[format](first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table.cast(first.schema))
