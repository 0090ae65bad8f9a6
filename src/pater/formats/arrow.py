"""Record batches of Parquet and Arrow files as batches, column by column. Places count rows here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.row_weights import NO_WEIGHT, are_weights
from ..preprocessing.arrow_memory import floats_of, whole_numbers_of
from . import arrow_files
from .arrow_files import first_line, is_truth, opened, pyarrow
from .batches import Batch
from .blocks import Place
from .columns import Columns
from .errors import Fault, InputError
from .hashed_names import Seen
from .labels import Texts, is_rounded, label_faults
from .numbers import LARGEST_LABEL
from .plain_rows import PlainRows, note
from .sources import Source
from .suggestions import no_column


class RecordBlock(NamedTuple):
    """Some rows of a columnar file. The columns in `coded` hold texts that are read as dictionaries."""

    records: Any
    first_line: int
    end: Place
    coded: frozenset[str] = frozenset()


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
        most = arrow_files.HASHED_ROWS if hashed else arrow_files.ROWS
        file = opened(source, (), most) if hashed else opened(source, self.as_dictionaries)
        with file as (_, batches):
            while True:
                try:
                    records = next(batches, None)
                    if records is not None:
                        records.validate(full=True)
                except (OSError, pa.ArrowException) as error:
                    raise InputError(f"{source.name}, after row {rows}: {first_line(error)}") from None
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
            for row in np.flatnonzero(np.abs(values) == LARGEST_LABEL).tolist():
                held = column[row].as_py()
                wrong[row] = is_rounded(held.encode()) if isinstance(held, str) else held != values.item(row)
            kind = np.bool_ if is_truth(column.type) else np.int64
            if not self.labelled:
                return None if absent or wrong.any() else values.astype(kind)
            note(faults, wrong, "the label is not a whole number of at most 2^53")
            note(faults, np.isnan(values), "there is no label")
            return np.where(wrong | np.isnan(values), 0, values).astype(kind)
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
