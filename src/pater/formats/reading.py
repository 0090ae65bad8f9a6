"""From paths to batches: finds the parser for each source, and reads and parses ahead in the background.

Knows every format and `background`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from ..kernels.run import available_threads
from .agreement import agreed, check_formats
from .arrow_files import schema_of
from .background import ahead, in_order
from .batches import Batch
from .blocks import START, Place, after, blocks
from .columns import DEFAULT_BITS, HASHED, INDICES, MOST_BITS, Columns
from .csv_blocks import table_blocks
from .delimiters import FIXED, checked, checked_decimal
from .errors import ArgumentError, Fault, InputError, MalformedError
from .hashed_names import Seen
from .jsonl import check_first_lines, columns_of_lines, names_in_lines
from .libsvm import LIMIT_OF_FEATURES
from .parsers import JSON_LINES, ROWS_OF_INDICES, parser_of
from .schema import Wishes, columns_of_schema, columns_of_text, label_of
from .sources import FORMATS, STANDARD_INPUT, Source, sources

MOST_PARSERS = 4
MOST_NAMED_BITS = 26  # more than a model has room for


@dataclass
class Input:
    """Some sources and how to read them. `columns` becomes known with the first block, unless it is given."""

    sources: list[Source]
    columns: Columns | None = None
    wishes: Wishes = field(default_factory=Wishes)
    limit: int = LIMIT_OF_FEATURES
    labelled: bool = True
    skip: bool = False
    keep_missing: bool = False
    threads: int | None = None  # parsing threads; with 0, nothing is read ahead
    others_ignored: bool = False  # whether names in JSON lines that are not columns are ignored, as for a model
    _begun: Iterator[Any] | None = None
    _seen: Seen | None = None  # names behind hashed columns, for rows to learn from

    def describe(self) -> Columns:
        """What the columns are; for a table, found by looking at its first rows."""
        first = self.sources[0]
        if self.columns is None:
            if first.format in ROWS_OF_INDICES:
                bits = self.wishes.bits or (DEFAULT_BITS if first.format == "vw" else 0)
                self.columns = Columns(HASHED if bits else INDICES, bits)
            elif first.format == JSON_LINES:
                self.columns = columns_of_lines(self._first_block(first), first.shown, self.wishes)
            elif first.format in FIXED:
                self.columns = columns_of_text(self._first_block(first), first.shown, self.wishes)
            else:
                self.columns = columns_of_schema(schema_of(first), first.name, self.wishes)
        elif self.labelled and self.columns.table and self.columns.label is None:  # as an estimator leaves it
            self.columns = replace(self.columns, label=label_of(self.wishes.label, self._header(first), first.shown))
        return self.columns

    def _header(self, first: Source) -> Sequence[str]:
        if first.format == JSON_LINES:
            return names_in_lines(self._first_block(first), first.shown)
        if first.format in FIXED:
            return list(self._first_block(first).header)
        return () if first.format in ROWS_OF_INDICES else list(schema_of(first).names)

    def _first_block(self, first: Source) -> Any:
        delimiter = self.wishes.delimiter or FIXED.get(first.format)
        is_table = first.format in FIXED
        some: Any = (
            table_blocks(first, delimiter, self.wishes.decimal, hashed=True) if is_table else blocks(first, hashed=True)
        )
        block = next(some, None)
        if block is None:
            raise InputError(f"{first.shown} is empty.")
        if first.name == STANDARD_INPUT:  # what was read of a pipe is kept: it cannot be read again
            self._begun = itertools.chain([block], some)
        else:
            some.close()
        return block

    def _parser(self, source: Source) -> Any:
        columns = self.describe()
        if self._seen is None and self.labelled and 0 < columns.bits <= MOST_NAMED_BITS:
            self._seen = Seen(columns.bits)
        return parser_of(
            source,
            columns,
            self.wishes,
            labelled=self.labelled,
            limit=self.limit,
            keep_missing=self.keep_missing,
            seen=self._seen,
            others_ignored=self.others_ignored,
        )

    def batches(self, *, first: int = 0, place: Place = START, hashed: bool = False) -> Generator[Batch]:
        """The batches from `place` in source number `first` on. A malformed line is an error or ends up in `faults`."""
        with closing(self._parsed(self._blocks(first, place, hashed))) as parsed:
            for batch in parsed:
                if batch.faults and not self.skip:
                    raise MalformedError(self._first_of(batch))
                if batch.news is not None and self._seen is not None:
                    self._seen.note(batch.news)
                yield batch

    def _first_of(self, batch: Batch) -> Fault:
        """The first fault. A file whose name says nothing is taken for libsvm, so the message asks what it is."""
        fault = batch.faults[0]
        if fault.line == fault.column == 1 and self.sources[batch.source_number].format == "libsvm":
            fault = fault._replace(what=f"{fault.what}; if this is not libsvm, say what it is with --format")
        return fault

    def _parsed(self, work: Iterator[Callable[[], Batch]]) -> Generator[Batch]:
        if self.threads == 0:
            yield from (job() for job in work)
            return
        # At least two: on two processors, the second thread uses the time that the learner leaves on the first.
        threads = self.threads or max(2, min(MOST_PARSERS, available_threads() - 1))
        with (
            closing(ahead(work, depth=threads + 1)) as read,
            closing(in_order(lambda job: job(), read, threads=threads, depth=threads + 1)) as parsed,
        ):
            yield from parsed

    def _blocks(self, first: int, place: Place, hashed: bool) -> Iterator[Callable[[], Batch]]:
        for number, source in enumerate(self.sources[first:], start=first):
            parser = self._parser(source)
            start = place if number == first else START
            check = self.others_ignored and source.format == JSON_LINES and source.start == 0
            for block in after(start, self.blocks(source, hashed=hashed or start.offset > 0), source.shown):
                if check:
                    check_first_lines(block, source.shown, self.describe(), labelled=self.labelled)
                    check = False
                yield _Job(parser, block, source.shown, number)

    def blocks(self, source: Source, *, hashed: bool) -> Iterator[Any]:
        """The blocks in which a source is read, before they are parsed."""
        if source.name == STANDARD_INPUT and self._begun is not None:
            begun, self._begun = self._begun, None
            return begun
        parser = self._parser(source)
        read: Iterator[Any] = (parser.blocks if hasattr(parser, "blocks") else blocks)(source, hashed=hashed)
        return read


@dataclass
class _Job:
    parser: Any
    block: Any
    source: str
    number: int

    def __call__(self) -> Batch:
        batch: Batch = self.parser(self.block, self.source)
        batch.source_number = self.number
        return batch


def make_input(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    columns: Columns | None = None,
    label: str | None = None,
    weight: str | None = None,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    bits: int | None = None,
    features: int = LIMIT_OF_FEATURES,
    labelled: bool = True,
    on_error: str = "stop",
    keep_missing: bool = False,
    threads: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoded: bool | None = False,
) -> Input:
    """An input with checked settings; if `encoded` is None, a table is encoded."""
    if format is not None and format not in FORMATS:
        raise ArgumentError("format", f"must be one of {', '.join(FORMATS)}, got {format!r}.")
    if on_error not in ("stop", "skip"):
        raise ArgumentError("on_error", f"must be 'stop' or 'skip', got {on_error!r}.")
    if bits is not None and not 1 <= bits <= MOST_BITS:
        raise InputError(f"bits must be from 1 to {MOST_BITS}, got {bits}.")
    if not 1 <= features <= 1 << MOST_BITS:
        raise InputError(f"features must be from 1 to {1 << MOST_BITS}, got {features}.")
    found = sources([paths] if isinstance(paths, str | os.PathLike) else paths, format)
    tables = found[0].format not in ROWS_OF_INDICES
    if encoded and not tables:
        raise InputError(f"only tables have columns to encode, but {found[0].shown} is read as {found[0].format}.")
    wishes = Wishes(
        label,
        weight,
        tuple(categorical),
        tuple(drop),
        bits,
        None if delimiter is None else checked(delimiter),
        None if decimal is None else checked_decimal(decimal),
        tables if encoded is None else encoded,
    )
    if wishes.categorical or wishes.drop or any(each is not None for each in (delimiter, decimal, label, weight)):
        check_formats(wishes, found)
    others_ignored = columns is not None
    if columns is not None:
        columns, wishes = agreed(columns, wishes)
    return Input(found, columns, wishes, features, labelled, on_error == "skip", keep_missing, threads, others_ignored)


def read(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    bits: int | None = None,
    features: int = LIMIT_OF_FEATURES,
    labelled: bool = True,
    on_error: str = "stop",
    threads: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    columns: Columns | None = None,
    keep_missing: bool = False,
) -> Iterator[Batch]:
    r"""Read batches from files, in order; separate threads read and parse ahead.

    Parameters
    ----------
    paths : path, glob or iterable of them
        "-" is standard input. Files compressed with gzip, bzip2, xz or zstd are recognised by their first bytes.
    format : {"libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow"} or None, default=None
        By default, recognised by the ending of each file name.
    label, weight : str, optional
        Columns of a table with the label and with the importance of each row.
    categorical, drop : iterable of str
        Columns of a table to treat as categories although they hold numbers, and columns to leave out.
    bits : int, optional
        Hash to 2^bits columns. VW names and text in tables are always hashed, to 2^18 columns by default.
    features : int
        The largest number of features that indices may need.
    labelled : bool, default=True
        Whether a row without a label is an error.
    on_error : {"stop", "skip"}
        "skip" leaves malformed lines out and lists them in `faults` of their batch.
    threads : int, optional
        The number of parsing threads. The result does not depend on it.
    delimiter : str, optional
        The delimiter of CSV fields. By default recognised: a comma, a semicolon or a tab.
    decimal : {".", ","} or None, default=None
        The decimal mark of CSV numbers: by default a comma where fields are separated by semicolons, else a point.
    columns : Columns, optional
        The columns of a learner, `learner.columns`, to read a table as it did in training.
    keep_missing : bool, default=False
        Whether missing numbers of a table are NaN, which a scaling learner treats as the mean, instead of 0.

    Yields
    ------
    Batch
        With `X`, `labels`, `weights`, `tags`, `lines` and `faults`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pater import stream
    >>> path = pathlib.Path(tempfile.mkdtemp(), "three.svm")
    >>> _ = path.write_text("+1 1:0.5 3:2\n-1 2:1 # a comment\n+1 3:1e-1\n")
    >>> for batch in stream.read(path):
    ...     print(batch.labels, batch.X.shape)
    [ 1 -1  1] (3, 4)
    """
    return make_input(
        paths,
        format=format,
        label=label,
        weight=weight,
        categorical=categorical,
        drop=drop,
        bits=bits,
        features=features,
        labelled=labelled,
        on_error=on_error,
        threads=threads,
        delimiter=delimiter,
        decimal=decimal,
        columns=columns,
        keep_missing=keep_missing,
    ).batches()
