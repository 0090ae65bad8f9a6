"""The names behind hashed columns: a bounded dictionary, filled in the order of the rows.

Knows `hashing` and `murmur`. Readers report names that are new for their columns; repeats from a reader that is ahead
are dropped here, so that names do not depend on threads or on where a stream is cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .hashing import marked_place_of
from .murmur import SEVERAL

MOST_COLUMNS = 1 << 16  # with names
LONGEST = 200  # kept of a name
NOTHING_SEEN = np.zeros(0, np.uint8)


class News(NamedTuple):
    """Names found in a block of text, each once, in the order of its rows."""

    columns: NDArray[np.int64]
    marks: NDArray[np.int64]
    names: list[str]


def news_of(found: NDArray[np.int64], decode: Any) -> News | None:
    """The news in lines of column, mark and what `decode` makes a name from, without repeats."""
    if not len(found):
        return None
    first = np.sort(np.unique(found[:, 0] * 256 + found[:, 1], return_index=True)[1])
    some = found[first]
    return News(some[:, 0], some[:, 1], [decode(line) for line in some.tolist()])


@dataclass
class HashedNames:
    """Up to two names for each column: the first, and the first with another mark.

    bits
        The bits of the hash.
    names
        By column, in the order in which columns got their first name.
    """

    bits: int
    names: dict[int, list[str]] = field(default_factory=dict)

    def take(self, news: News) -> None:
        """Add new names, as long as there is room."""
        for column, mark, name in zip(news.columns.tolist(), news.marks.tolist(), news.names, strict=True):
            if len(self.names) >= MOST_COLUMNS:
                return
            self._take(column, mark, name)

    def _take(self, column: int, mark: int, name: str) -> None:
        known = self.names.get(column)
        if known is None:
            self.names[column] = [name]
        elif len(known) == 1 and known[0] != name and marked_place_of(known[0], self.bits)[2] != mark:
            known.append(name)

    def merged(self, other: HashedNames) -> HashedNames:
        """The names of both, those of this one first, with new columns as long as there is room.

        Columns and their first names do not depend on how several merges are grouped; while there is room, no name
        does.
        """
        both = HashedNames(self.bits, {column: list(names) for column, names in self.names.items()})
        for column, names in other.names.items():
            if column in both.names or len(both.names) < MOST_COLUMNS:
                for name in names:
                    both._take(column, marked_place_of(name, self.bits)[2], name)
        return both

    def to_json(self) -> list[Any]:
        return [[column, *names] for column, names in self.names.items()]

    @classmethod
    def from_json(cls, value: Any, bits: int) -> HashedNames:
        """The names in a model file; a ValueError if they are not sound."""
        sound = isinstance(value, list) and len(value) <= MOST_COLUMNS
        for line in value if sound else []:
            sound = sound and isinstance(line, list) and 2 <= len(line) <= 3 and type(line[0]) is int
            sound = sound and 0 <= line[0] < 1 << bits
            sound = sound and all(isinstance(name, str) and len(name) <= LONGEST for name in line[1:])
        if not sound or len({line[0] for line in value}) < len(value):
            raise ValueError("its names of hashed columns are not sound")
        return cls(bits, {column: list(names) for column, *names in value})


def with_news(names: HashedNames | None, news: News, bits: int) -> HashedNames:
    """The names with the news added."""
    names = HashedNames(bits) if names is None else names
    names.take(news)
    return names


class Seen:
    """What readers need not report: the mark of the name by which each column is known."""

    def __init__(self, bits: int) -> None:
        self.marks = np.zeros(1 << bits, np.uint8)
        self._known = 0

    def note(self, news: News) -> None:
        """Note the news, in the order of the blocks."""
        for column, mark in zip(news.columns.tolist(), news.marks.tolist(), strict=True):
            known = self.marks[column]
            if known == 0:
                self._known += 1
            self.marks[column] = mark if known in (0, mark) else SEVERAL
        if self._known >= MOST_COLUMNS:
            self.marks[:] = SEVERAL
