"""The parser of a source, chosen by its format and by what its columns are to be. Knows every format."""

from __future__ import annotations

from typing import Any

from .arrow import RecordParser
from .columns import ENCODED, HASHED, TABLE, Columns
from .csv import TableParser
from .delimiters import FIXED
from .errors import InputError
from .hashed_names import Seen
from .jsonl import JsonLinesParser
from .libsvm import LibsvmParser
from .raw import RawRecordParser, RawTableParser
from .schema import Wishes
from .sources import Source
from .vw import VWParser

ROWS_OF_INDICES = ("libsvm", "vw")
JSON_LINES = "jsonl"


def parser_of(
    source: Source,
    columns: Columns,
    wishes: Wishes,
    *,
    labelled: bool,
    limit: int,
    keep_missing: bool,
    seen: Seen | None,
    others_ignored: bool,
) -> Any:
    """The parser for blocks of the source; an error if its format cannot hold these columns."""
    named = columns.kind == HASHED and not columns.table
    fits = not named if source.format == JSON_LINES else (source.format in ROWS_OF_INDICES) != bool(columns.table)
    if not fits or (source.format == "vw") > (columns.kind == HASHED):
        what, format = _learned_from(columns)
        says_so = f".{source.format}" in source.name  # else the format was assumed
        hint = "" if says_so else f"; if this is {what}, too, say --format {format}"
        raise InputError(f"{source.shown} is {source.format}, but the model learned from {what}{hint}.")
    if source.format == "libsvm":
        return LibsvmParser(bits=columns.bits, limit=limit, labelled=labelled, seen=seen)
    if source.format == "vw":
        return VWParser(bits=columns.bits, labelled=labelled, seen=seen)
    more: dict[str, Any] = {"labelled": labelled, "keep_missing": keep_missing and columns.kind == TABLE, "seen": seen}
    if source.format == JSON_LINES:
        return JsonLinesParser(columns, drop=wishes.drop, others_ignored=others_ignored, limit=limit, **more)
    if source.format in FIXED:
        of_text = RawTableParser if columns.kind == ENCODED else TableParser
        return of_text(columns, delimiter=wishes.delimiter or FIXED[source.format], decimal=wishes.decimal, **more)
    of_records = RawRecordParser if columns.kind == ENCODED else RecordParser
    return of_records(columns, **more)


def _learned_from(columns: Columns) -> tuple[str, str]:
    """What a model has learned from, and a format that holds it."""
    if columns.table:
        return "a table", "csv"
    return ("hashed names", "vw") if columns.kind == HASHED else ("numbered features", "libsvm")
