"""Whole rows of CSV and TSV, block by block, each with the header of its file.

Knows `csv_fields`, `delimiters` and `blocks`. The delimiter and the decimal mark are recognised once per file.
"""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import csv_fields as fields
from .blocks import BLOCK_BYTES, LONE_RETURNS, Place, blocks
from .csv_headers import BYTE_ORDER_MARK, told_delimiter
from .delimiters import decimal_of, recognised
from .errors import InputError
from .names import check_names
from .sources import STANDARD_INPUT, Source
from .suggestions import DATA_FIRST, looks_like_a_row

LONG_BLOCK_BYTES = 1 << 21


class TableBlock(NamedTuple):
    """Some whole rows below the header of their file."""

    text: bytes
    header: tuple[str, ...]
    first_line: int
    end: Place
    delimiter: str = ","
    decimal: str = "."


def table_blocks(
    source: Source, delimiter: str | None, decimal: str | None = None, *, hashed: bool, size: int | None = None
) -> Generator[TableBlock]:
    """The blocks of a table, each with the header of its file; a delimiter that is not given is recognised."""
    if size is None:  # a pipe is read in shorter ones, as more rows may be long in coming
        size = BLOCK_BYTES if hashed or source.name == STANDARD_INPUT else LONG_BLOCK_BYTES
    header: tuple[str, ...] | None = None
    if source.start:  # the header stands at the beginning of the file
        with closing(table_blocks(replace(source, start=0, stop=None, before=0), delimiter, hashed=False)) as whole:
            first = next(whole)
            header, delimiter = first.header, first.delimiter

    begins: int | None = None  # where the header begins: after a line for a spreadsheet, if there is one

    def cut(text: bytes) -> int:
        nonlocal delimiter, begins
        if begins is None:
            told, begins = (None, 0) if source.start else told_delimiter(text)
            delimiter = delimiter or told or recognised(text)
        assert delimiter is not None
        last = _row_end(text, delimiter)
        return last if header is not None or last >= begins else -1

    for block in blocks(source, hashed=hashed, size=size, cut=cut):
        text, first_line = block.text, block.first_line
        assert delimiter is not None
        if header is None:
            text, first_line = text[begins:], first_line + bool(begins)
            end = _row_end(text, delimiter, first=True) % max(1, len(text))  # all of it if a quote stays open
            header = _header(text[:end], delimiter, f"{source.shown}, line {first_line}")
            text, first_line = text[end + 1 :], first_line + text.count(b"\n", 0, end + 1)
        yield TableBlock(text, header, first_line, block.end, delimiter, decimal_of(delimiter, decimal))


def row_ends(source: Source, delimiter: str | None, size: int) -> Iterator[int]:
    """Places in a file where rows end, about every `size` bytes."""
    for block in table_blocks(source, delimiter, hashed=False, size=min(BLOCK_BYTES, size)):
        yield block.end.offset


def _row_end(text: bytes, delimiter: str, *, first: bool = False) -> int:
    if b'"' not in text:
        return text.find(b"\n") if first else text.rfind(b"\n")
    return int(fields.row_end(np.frombuffer(text, np.uint8), ord(delimiter), first))


def _header(line: bytes, delimiter: str, where: str) -> tuple[str, ...]:
    text = line.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace").strip("\r\n")
    if text.startswith("{") and text.endswith("}"):
        raise InputError(f"{where}: this looks like JSON lines; say --format jsonl, or name the file .jsonl.")
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter, strict=True), [])]
    except csv.Error as error:
        if "\r" in text:
            raise InputError(f"{where}: the header cannot be read, as {LONE_RETURNS}.") from None
        raise InputError(f"{where}: the header cannot be read: {error}.") from None
    if not any(names):
        raise InputError(f"{where}: expected a header with the names of the columns.")
    if len(set(names)) < len(names) and looks_like_a_row(names):
        raise InputError(f"{where}: {DATA_FIRST}.")
    if names.count("") > 1:
        raise InputError(f"{where}: {_nameless(names, delimiter)}.")
    check_names(names, f"{where}: the header")
    return tuple(names)


def _nameless(names: list[str], delimiter: str) -> str:
    """What to do about columns without names, which spreadsheets write beside a table."""
    named = max(j for j, name in enumerate(names, start=1) if name)
    what = f"{names.count('')} columns have no name"
    if any(not name for name in names[:named]):
        return f"{what}; give each a name"
    by = "" if delimiter == "\t" else f" -d '{delimiter}'"
    return (
        f"{what}, those after {names[named - 1]!r}; give each a name, or delete these columns: in the spreadsheet, or, "
        f"if no field holds a delimiter, by cut{by} -f 1-{named} IN > OUT"
    )
