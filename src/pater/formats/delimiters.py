"""The delimiter and the decimal mark of a text table: as the caller gives them, or as they fit its first lines.

Knows `errors`.
"""

from __future__ import annotations

import csv
import io
from itertools import islice

from .errors import ArgumentError

FIXED = {"csv": None, "tsv": "\t"}  # None: recognised
_LIKELY = ",;\t"
_ROWS, _BYTES = 10, 1 << 16  # looked at
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
_OF_FIELDS = '"+-.'  # quotes, and what numbers are made of


def checked(delimiter: str) -> str:
    """A delimiter as a caller names it; an InputError if it cannot be one."""
    found = _NAMES.get(delimiter.lower(), delimiter)
    usable = len(found) == 1 and (found == "\t" or (found.isascii() and found.isprintable()))
    if not usable or found.isalnum() or found in _OF_FIELDS:
        what = "one ASCII character between fields that is neither a letter nor a digit, nor part of a number or quote"
        raise ArgumentError("delimiter", f"must be {what}, such as ';', '|' or tab, got {delimiter!r}.")
    return found


def checked_decimal(decimal: str) -> str:
    """The decimal mark as a caller names it; an InputError if it is neither a point nor a comma."""
    found = {"comma": ",", "point": "."}.get(decimal.lower(), decimal)
    if found not in (".", ","):
        raise ArgumentError("decimal", f"must be '.' or ',', got {decimal!r}.")
    return found


def decimal_of(delimiter: str, wished: str | None) -> str:
    """The decimal mark: a comma where fields are separated by semicolons, as spreadsheets write them, else a point.

    Numbers with a point are read in any case.
    """
    return wished or ("," if delimiter == ";" else ".")


def recognised(text: bytes) -> str:
    """The delimiter of a text that begins with a header.

    A comma, unless it does not fit the first rows and a semicolon or a tab does; if none fits all of them, the first
    that the header contains.
    """
    start = text[:_BYTES].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    widths = {delimiter: _widths(start, delimiter, cut=len(text) > _BYTES) for delimiter in _LIKELY}
    several = [delimiter for delimiter in _LIKELY if widths[delimiter][:1] > [1]]
    fitting = [delimiter for delimiter in several if len(set(widths[delimiter])) == 1]
    return next(iter(fitting or several), ",")


def _widths(text: str, delimiter: str, *, cut: bool) -> list[int]:
    """The number of fields in each of the first rows."""
    try:
        rows = [row for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), _ROWS) if row]
    except csv.Error:
        return []
    return [len(row) for row in (rows[:-1] if cut and len(rows) > 1 else rows)]
