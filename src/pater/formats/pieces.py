"""Large files cut into pieces that can be read separately: text between rows, Parquet between groups of rows.

Knows `sources`, `blocks`, `csv_blocks` and `arrow_files`. Where a file is cut depends only on its content and on the
wanted size. Compressed files and Arrow's own format stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from .arrow_files import parquet_groups
from .blocks import LONGEST_LINE
from .csv_blocks import row_ends
from .delimiters import FIXED
from .errors import InputError
from .sources import BY_MAGIC, MAGIC_BYTES, Source

_PIECE, _LEAST = 1 << 20, 1 << 12
_QUOTE = b'"'


def pieces(source: Source, size: int, delimiter: str | None = None) -> list[Source]:
    """A file in pieces of about equal size, at most about `size` bytes; itself if it cannot or need not be cut."""
    if source.size is None or source.size <= size or source.format == "arrow":
        return [source]
    try:
        return _cut(source, source.size, size, delimiter)
    except OSError as error:
        raise InputError(f"{source.name}: {error.strerror or error}") from None


def _cut(source: Source, total: int, size: int, delimiter: str | None) -> list[Source]:
    number = -(-total // size)
    if source.format == "parquet":
        return _of_groups(source, number)
    if _is_compressed(source):
        return [source]
    wanted = [total * k // number for k in range(1, number)]
    quoted = source.format in FIXED and _holds(source, _QUOTE)  # quoted fields may hold line ends
    parted = delimiter or FIXED.get(source.format)
    ends = row_ends(source, parted, max(_LEAST, size // 64)) if quoted else iter(())
    cuts = _next_of(ends, wanted) if quoted else _line_ends(source, wanted)
    bounds = [0, *sorted(set(cuts) - {0, total}), total]
    return [replace(source, size=stop - start, start=start, stop=stop) for start, stop in pairwise(bounds)]


def with_lines_counted(piece: Source) -> Source:
    """The piece of a text file with the number of lines before it; for Parquet, the number of rows is already known."""
    if piece.format == "parquet":
        return piece
    return replace(piece, before=sum(part.count(b"\n") for part in _parts(piece, piece.start)))


def _of_groups(source: Source, number: int) -> list[Source]:
    """Runs of neighbouring row groups, cut as evenly as their sizes allow."""
    groups = parquet_groups(source)
    total = sum(size for _, size in groups) or 1
    found: list[Source] = []
    rows = done = 0
    last = -1
    for k, (n_rows, size) in enumerate(groups):
        share = min(number - 1, (2 * done + size) * number // (2 * total))  # where the middle of the group falls
        if share > last:
            found.append(replace(source, size=0, start=k, stop=k, before=rows))
            last = share
        found[-1].stop = k + 1
        found[-1].size = (found[-1].size or 0) + size
        rows, done = rows + n_rows, done + size
    return found if len(found) > 1 else [source]


def _line_ends(source: Source, wanted: list[int]) -> Iterator[int]:
    """The end of the line at each of these places."""
    with open(source.name, "rb") as file:
        for place in wanted:
            file.seek(place - 1)
            rest = file.readline(LONGEST_LINE)
            if rest.endswith(b"\n"):  # else the line is too long to be read, which is reported in its turn
                yield place - 1 + len(rest)


def _next_of(ends: Iterator[int], wanted: list[int]) -> Iterator[int]:
    """The next end after each of these places."""
    places = iter(wanted)
    place = next(places, None)
    for end in ends:
        while place is not None and end >= place:
            yield end
            place = next(places, None)
        if place is None:
            return


def _is_compressed(source: Source) -> bool:
    with open(source.name, "rb") as file:
        start = file.read(MAGIC_BYTES)
    return any(start.startswith(magic) for magic in BY_MAGIC)


def _holds(source: Source, byte: bytes) -> bool:
    return any(byte in part for part in _parts(source, source.size or 0))


def _parts(source: Source, stop: int) -> Iterator[bytes]:
    """The bytes of a plain file up to a place."""
    with open(source.name, "rb", buffering=0) as file:
        while stop > 0 and (part := file.read(min(_PIECE, stop))):
            stop -= len(part)
            yield part
