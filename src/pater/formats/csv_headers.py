"""Lines of a text table that are not rows: the header repeated, and a first line meant for a spreadsheet.

Knows NumPy only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER_AGAIN = (
    "this is the header once more, as where files were joined; name the files one after the other instead, "
    "as in pater train a.csv b.csv"
)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_AROUND = 6  # bytes around a name: a mark, blanks, quotes
_LOOKED_AT = 64  # names
_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([;,|\t:^~!# ])\"?\r?\n", re.IGNORECASE)


def told_delimiter(text: bytes) -> tuple[str | None, int]:
    """The delimiter in a first line such as `sep=;`, and where the next line begins; None and 0 without such a line."""
    found = _SEPARATOR.match(text)
    return (found[1].decode("latin-1"), found.end()) if found else (None, 0)


def headers_again(cells: Any) -> NDArray[np.int64]:
    """The rows of these cells that repeat the header of their file, field by field.

    This takes next to no time: the field sizes and first bytes of one or two columns usually leave nothing to compare.
    Names that are numbers may well be data, so they are not looked for.
    """
    header, text = cells.block.header, cells.text
    rows: NDArray[np.int64] = np.zeros(0, np.int64)
    for k, (j, name) in enumerate(_telling(header[:_LOOKED_AT])):
        starts, ends = (
            (cells.starts[:, j], cells.ends[:, j]) if k == 0 else (cells.starts[rows, j], cells.ends[rows, j])
        )
        found = np.flatnonzero((ends - starts).astype(np.uint32) - np.uint32(len(name)) <= _MOST_AROUND)
        first = text[starts[found]]
        found = found[(first == name[0]) | (first == 32) | (first == 9) | (first == BYTE_ORDER_MARK[0])]
        rows = rows[found] if k else found
        if not rows.size:
            return rows
    return np.array([r for r in rows.tolist() if _is_header(cells, r)], np.int64)


@lru_cache(maxsize=32)
def _telling(header: tuple[str, ...]) -> tuple[tuple[int, bytes], ...]:
    """The two longest names that are not numbers, which are least like data."""
    names = [(j, name.replace('"', '""').encode()) for j, name in enumerate(header) if name and not _is_number(name)]
    return tuple(sorted(names, key=lambda found: -len(found[1]))[:2])


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _is_header(cells: Any, r: int) -> bool:
    text = cells.block.text
    for name, start, end in zip(cells.block.header, cells.starts[r].tolist(), cells.ends[r].tolist(), strict=True):
        field = text[start:end].removeprefix(BYTE_ORDER_MARK).strip()
        if field[:1] == b'"' == field[-1:]:  # after a byte order mark, it does not open a field
            field = field[1:-1]
        if field != name.encode() and field.replace(b'""', b'"').strip() != name.encode():
            return False
    return True
