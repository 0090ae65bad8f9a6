"""A stream of bytes cut into blocks of whole lines.

Knows `sources` and `many_bytes`. Where a block ends depends only on where it begins and on the bytes, not on how they
arrive: a run that resumes at the end of a block cuts the rest as the first run would have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .errors import InputError
from .many_bytes import how_many
from .sources import Source

BLOCK_BYTES = 1 << 20  # runs of earlier versions may resume where blocks of this size end
LONGEST_LINE = 1 << 25
NEWLINE, RETURN = 10, b"\r"
LONE_RETURNS = "its lines end with a carriage return (CR) alone; convert it, for example by tr '\\r' '\\n' < IN > OUT"


class Place(NamedTuple):
    """How far a source was read: decompressed bytes and lines (in a columnar file, rows twice), and their hash."""

    offset: int = 0
    lines: int = 0
    digest: str = ""


START = Place()


class Block(NamedTuple):
    """Some whole lines, the last one ended by a newline, and the place after them."""

    text: bytes
    first_line: int
    end: Place


B = TypeVar("B", bound=Any)  # a block of any format, with an `end`


def last_newline(text: bytes) -> int:
    """Where the last whole line ends, or −1."""
    return text.rfind(b"\n")


def blocks(
    source: Source, *, hashed: bool = False, size: int = BLOCK_BYTES, cut: Callable[[bytes], int] = last_newline
) -> Iterator[Block]:
    """The blocks of `source`; with `hashed`, the place after each holds the hash of all bytes so far.

    `cut` finds the end of the last whole line.
    """
    reader = source.open()
    try:
        digest = hashlib.sha256()
        offset, line, rest, at_end = 0, source.before, b"", False
        while not at_end:
            text = rest + reader.read(size - len(rest))
            at_end = len(text) < size
            last = cut(text)
            while not at_end and last < 0:
                if len(text) >= LONGEST_LINE:
                    raise InputError(f"{source.shown}, line {line + 1}: {_too_long(text)}.")
                more = reader.read(len(text))
                at_end = len(more) < len(text)
                text += more
                last = cut(text)
            end = len(text) if at_end else last + 1
            whole, rest = text[:end], text[end:]
            if not whole:
                break
            if hashed:
                digest.update(whole)
            offset += len(whole)
            text = whole if whole.endswith(b"\n") else whole + b"\n"
            first, line = line + 1, line + how_many(np.frombuffer(text, np.uint8), NEWLINE)
            yield Block(text, first, Place(offset, line, digest.hexdigest() if hashed else ""))
    finally:
        reader.close()


def _too_long(text: bytes) -> str:
    """What is wrong with a line that does not end within the longest one."""
    size = f"{LONGEST_LINE >> 20} MiB"
    if b"\n" in text:  # which ends no row of a table, so it stands in quotes
        return (
            f"a quote is opened here and not closed within {size}; close it, or double a quote that is part of a field"
        )
    return f"longer than {size}{f', as {LONE_RETURNS}' if text.count(RETURN) > 1 else ''}"


def after(place: Place, blocks: Iterator[B], source: str) -> Iterator[B]:
    """The blocks after `place`; an error if what comes before has changed."""
    if place.offset == 0:
        yield from blocks
        return
    for block in blocks:
        if block.end.offset >= place.offset:
            if block.end != place:
                break
            yield from blocks
            return
    raise InputError(
        f"{source} changed before line {place.lines + 1}, where this run should continue. "
        "Bring the old input back, or start over without --resume."
    )
