"""Writing predictions to a file or a pipe as CSV, JSON lines or Parquet, one for each row, in order.

Knows `learner` and `reading`. A row that was skipped as malformed keeps its place, with empty fields.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..files.writing import is_stream, writing
from ..formats.arrow_files import pyarrow
from ..formats.batches import Batch
from ..formats.errors import ArgumentError, Hint, InputError, Skipped
from ..formats.outputs import check_output, ending_of, packed
from ..formats.reading import make_input
from ..formats.unread_warnings import UnreadCells
from ..models.predict import labels_of
from .learner import Learner

FORMATS = ("csv", "jsonl", "parquet")


class Writer(Protocol):
    """Writes tables by columns; None is an empty cell."""

    def write(self, table: dict[str, list[Any]]) -> None: ...

    def close(self) -> None: ...


class _Csv:
    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._begun = file, False

    def write(self, table: dict[str, list[Any]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._begun:
            writer.writerow(table)
        self._begun = True
        writer.writerows(zip(*table.values(), strict=True))
        self._file.write(text.getvalue().encode())

    def close(self) -> None:
        pass


class _JsonLines:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, table: dict[str, list[Any]]) -> None:
        rows = zip(*table.values(), strict=True)
        lines = [json.dumps(dict(zip(table, row, strict=True)), ensure_ascii=False, allow_nan=False) for row in rows]
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        pass


class _Parquet:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writer: Any = None

    def write(self, table: dict[str, list[Any]]) -> None:
        pa = pyarrow()
        if self._writer is None:
            self._schema = pa.table(table).schema
            self._writer = pyarrow(".parquet").ParquetWriter(self._file, self._schema)
        self._writer.write_table(pa.table(table, schema=self._schema))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


_WRITERS: dict[str, Any] = {"csv": _Csv, "jsonl": _JsonLines, "parquet": _Parquet}


def predict_to(
    learner: Learner,
    paths: Iterable[str],
    output: Path | None,
    *,
    margins: bool,
    probabilities: bool,
    output_format: str | None,
    format: str | None,
    on_error: str,
    threads: int | None,
    delimiter: str | None = None,
    decimal: str | None = None,
    threshold: float | None = None,
    model: Path | None = None,
    stream: IO[bytes] | None = None,
) -> Skipped:
    """Predict and write; return what was skipped as malformed. A file appears only when it is complete.

    The output never replaces an input, including the file of the `model`. Without `output`, predictions go to `stream`,
    by default standard output. A row without a finite margin is an error, or is skipped like a malformed one. A
    `threshold` replaces the model's own.
    """
    kind = output_format or _kind_of(output)
    if kind not in FORMATS:
        raise ArgumentError("output_format", f"must be one of {', '.join(FORMATS)}, got {kind!r}.")
    if kind == "parquet" and is_stream(output):
        raise InputError("Parquet must be written to a file: name it with --output.")
    check_output(output, kind)
    source = make_input(
        paths,
        format=format,
        columns=learner.columns,
        labelled=False,
        on_error=on_error,
        features=1 << 30,
        threads=threads,
        delimiter=delimiter,
        decimal=decimal,
        keep_missing=learner.scale,
    )
    tagged = any(each.format == "vw" for each in source.sources)
    skipped, unread = Skipped(), UnreadCells()
    inputs: list[str | Path] = [*(each.name for each in source.sources), *([model] if model else [])]
    try:
        with stream if output is None and stream else packed(writing(output, inputs), output) as file:
            writer: Writer = _WRITERS[kind](file)
            rows, begun = 0, False
            for batch in source.batches():
                begun = True
                rows += len(batch) + len(batch.faults)
                said = learner.finite_margins(batch, skip=on_error == "skip")
                unread.add(batch.unread, len(batch))
                skipped.add(batch.faults)
                labels = learner.labels(said) if threshold is None else labels_of(said, learner.classes, threshold)
                writer.write(_table(learner, batch, labels, said, margins, probabilities, tagged))
            if not begun:  # an empty file has an empty answer, with its names
                said = np.zeros((0, 1 if learner.classes.size == 2 else learner.classes.size))
                nothing = Batch((np.zeros((0, 0)),), 0, None)
                writer.write(_table(learner, nothing, learner.labels(said), said, margins, probabilities, tagged))
            writer.close()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{output or 'standard output'}: cannot be written: {error.strerror or error}.") from None
    unread.tell()
    if not rows:
        names = ", ".join(each.shown for each in source.sources)
        warnings.warn(f"{names}: there are no rows to predict.", Hint, stacklevel=2)
    return skipped


def _kind_of(output: Path | None) -> str:
    endings = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
    return endings.get(ending_of(output) if output else "", "csv")


def write_table(rows: list[dict[str, Any]], output: Path, inputs: Iterable[str | Path]) -> None:
    """Write rows that have the same names to a file, in the format of its ending."""
    kind = _kind_of(output)
    if kind == "parquet" and is_stream(output):
        raise InputError("Parquet must be written to a file.")
    try:
        with writing(output, inputs) as file:
            writer: Writer = _WRITERS[kind](file)
            writer.write({name: [row[name] for row in rows] for name in rows[0]})
            writer.close()
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror or error}.") from None


def _table(
    learner: Learner,
    batch: Batch,
    labels: NDArray[Any],
    values: NDArray[np.float64],
    margins: bool,
    probabilities: bool,
    tagged: bool,
) -> dict[str, list[Any]]:
    classes = learner.classes.tolist()
    table: dict[str, Any] = {"label": labels.tolist()}
    if margins:
        names = ["margin"] if values.shape[1] == 1 else [f"margin_{label}" for label in classes]
        table |= dict(zip(names, values.T.tolist(), strict=True))
    if probabilities:
        names = [f"probability_{label}" for label in classes]
        table |= dict(zip(names, learner.probabilities(values).T.tolist(), strict=True))
    if tagged:
        table["tag"] = batch.tags or [""] * len(batch)
    if batch.faults:
        lines = np.concatenate([batch.lines, [fault.line for fault in batch.faults]])
        order = np.argsort(lines, kind="stable").tolist()
        nothing = [None] * len(batch.faults)
        for name, column in table.items():
            padded = [*column, *nothing]
            table[name] = [padded[k] for k in order]
    return table
