"""One encoder for each kind of column. Each says which slots a row fills, and what that means.

Knows `columns`, `values`, `features` and the kernels. A slot is a group of indicators, at most one of which is set in a
row; places are counted within a slot. `encoding` decides which output columns they become.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.matrices import readable
from .categories import EXACT, Naming, categories, hash_of, is_nothing, kept, nothing_in
from .columns import Column, as_texts, without_unused
from .encoding_kernels import parts_of_dates, place_categories
from .features import MONTHS, WEEKDAYS, Feature
from .known_names import KnownNames
from .name_index import NameIndex
from .settings import EncodingSettings
from .values import moments_of, numbers_of

Places = NDArray[np.int32]
Tokens = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
NO_TOKENS: Tokens = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
COUNTERS = 1 << 12  # for texts that have no column of their own yet
MOST_WORDS = 1000  # that are read from one text
WORD = re.compile(r"\w+")


def _missing(absent: NDArray[np.bool_]) -> Places:
    return np.where(absent, 0, -1).astype(np.int32)


@dataclass
class ColumnEncoder:
    """What all encoders share: a name, and an indicator of missing values. By itself, the encoder of an id column."""

    name: str
    kind = "id"

    def slots(self) -> list[int]:
        """How many places each slot has."""
        return [1]

    def values(self, column: Column) -> NDArray[np.float64] | None:
        """The numbers that are standardised and binned, if the column has any."""
        return None

    def places(self, column: Column, values: NDArray[np.float64] | None, *, learn: bool) -> list[Places]:
        """For each slot, the place of each row in it, or −1. The slot of missing numbers is left to the kernel."""
        return [_missing(nothing_in(as_texts(column)))]

    def number_in(self, cell: Any) -> float | None:
        """The number that `values` finds in one cell; None if the cell must be made a column first."""
        return None

    def place_of(self, cell: Any) -> int | None:
        """The place that `places` finds for one cell in the only slot; None if the cell must be made a column first."""
        return None

    def tokens(self, column: Column, *, learn: bool) -> Tokens:
        """The row, place and value of every token; a row may have any number. Places continue after the last slot."""
        return NO_TOKENS

    def n_tokens(self) -> int:
        """The number of places for tokens."""
        return 0

    def feature(self, slot: int, place: int) -> Feature:
        """The meaning of a place; the slot number of tokens is one past the last."""
        return Feature(self.name, "missing")

    def copy(self) -> ColumnEncoder:
        """An independent copy; the encoder itself where it learns nothing."""
        return self

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}


@dataclass
class NumberEncoder(ColumnEncoder):
    """A column of numbers: its fine bins, the coarse bins that they form, and how numbers are written as texts."""

    edges: NDArray[np.float64]
    groups: NDArray[np.int64]
    style: str = "plain"
    kind = "number"

    def values(self, column: Column) -> NDArray[np.float64] | None:
        return numbers_of(column, self.style)

    def number_in(self, cell: Any) -> float | None:
        if type(cell) is float or type(cell) is int:
            return cell + 0.0  # zero has one sign
        return nan if cell is None else None

    def places(self, column: Column, values: NDArray[np.float64] | None, *, learn: bool) -> list[Places]:
        return []

    def group_of(self, bin: int, resolution: str) -> int:
        """The indicator of a fine bin at a resolution, or −1."""
        if resolution == "none" or not self.edges.size:
            return -1
        return bin if resolution == "fine" else int(self.groups[bin])

    def bins(self, resolution: str) -> list[Feature]:
        """The bins at a resolution, as features."""
        if resolution == "none" or not self.edges.size:
            return []
        groups = np.arange(self.groups.size) if resolution == "fine" else self.groups
        edges = [-inf, *self.edges[np.diff(groups) > 0].tolist(), inf]
        return [
            Feature(self.name, "bin", low=low, high=high, is_date=self.kind == "date") for low, high in pairwise(edges)
        ]

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "style": self.style}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"edges": self.edges, "groups": self.groups}


@dataclass
class DateEncoder(NumberEncoder):
    """A column of moments: seconds as a number, and hour, weekday and month as indicators.

    `unit` is how many of the column's numbers make a second, or 0 where numbers are not moments. Hours are left out
    where all moments are whole days. The clock of a stream has neither bins nor a z-score: it leaves every bin behind,
    and standardised by the rows before it, it is about the same in every row, like an intercept.
    """

    unit: float = 0.0
    hours: bool = True
    clock: bool = False
    kind = "date"

    def slots(self) -> list[int]:
        return [1, 24, 7, 12]

    def values(self, column: Column) -> NDArray[np.float64] | None:
        return moments_of(column, self.unit)

    def number_in(self, cell: Any) -> float | None:
        return nan if cell is None else None

    def places(self, column: Column, values: NDArray[np.float64] | None, *, learn: bool) -> list[Places]:
        places = np.empty((3, len(column[0])), np.int32)
        parts_of_dates(values, self.hours, places)
        return list(places)

    def feature(self, slot: int, place: int) -> Feature:
        if slot == 0:
            return super().feature(slot, place)
        kind, texts = (("hour", [f"hour {h}" for h in range(24)]), ("weekday", WEEKDAYS), ("month", MONTHS))[slot - 1]
        return Feature(self.name, kind, texts[place])

    def to_json(self) -> dict[str, Any]:
        clock = {"clock": True} if self.clock else {}
        return {**super().to_json(), "unit": self.unit, "hours": self.hours, **clock}


@dataclass
class CategoryEncoder(ColumnEncoder):
    """A column of categories: a dictionary up to a bound, one place for all rare ones, buckets beyond the bound."""

    settings: EncodingSettings
    names: dict[str, int] = field(default_factory=dict)
    seen: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(COUNTERS, np.uint8))
    known_names: KnownNames = field(default_factory=KnownNames)  # of the texts in each bucket
    naming: Naming = EXACT
    index: NameIndex | None = field(default=None, repr=False, compare=False)  # of `names`, while it has all of them
    kind = "category"

    def slots(self) -> list[int]:
        return [self.settings.max_categories + 2 + self.settings.buckets]

    def begin(self, column: Column) -> None:
        """Give a place to each text that is frequent enough in the rows that the encoder begins with."""
        texts, s = without_unused(categories(column)), self.settings
        counts = np.bincount(texts.codes[texts.codes >= 0], minlength=len(texts.names))
        others = []
        for name, count in zip(texts.names, counts.tolist(), strict=True):
            at = hash_of(name) % COUNTERS
            if count >= s.min_count and len(self.names) < s.max_categories:
                self.names[name] = len(self.names)
            else:
                self.seen[at] = min(s.min_count, int(self.seen[at]) + count)
                others.append((at, name))
        for at, name in others if len(self.names) == s.max_categories else []:
            if self.seen[at] == s.min_count:
                self.known_names.note(s.max_categories + 2 + at % s.buckets, name)

    def places(self, column: Column, values: NDArray[np.float64] | None, *, learn: bool) -> list[Places]:
        texts, s = categories(column, self.names, self.naming), self.settings
        assert texts.hashes is not None
        codes, names = readable(texts.codes), texts.names
        own = self._own(names, texts.hashes)
        places, before = np.empty(codes.size, np.int32), len(self.names)
        limits = s.max_categories, s.min_count, s.buckets
        n_own = place_categories(codes, own, texts.hashes, before, limits, self.seen, learn, places)
        if n_own > before:
            born = np.flatnonzero(own >= before)
            self.names.update((names[k], int(own[k])) for k in born[np.argsort(own[born])].tolist())
        if learn and len(self.known_names.full()) < s.buckets and places.max(initial=0) > s.max_categories + 1:
            self._note_names(codes, places, names)
        return [places]

    def place_of(self, cell: Any) -> int | None:
        return self.names.get(cell) if type(cell) is str else None

    def _own(self, names: Sequence[str], hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The place of each category, or −1; with one more −1 at the end."""
        if self.index is None or len(self.names) != len(self.index):
            self.index = NameIndex(self.names)
        return self.index.places(names, hashes)

    def _note_names(self, codes: NDArray[np.int64], places: Places, names: Sequence[str]) -> None:
        """Remember the first few texts of each bucket, in the order of the rows."""
        is_open = np.zeros(self.slots()[0], np.bool_)
        is_open[self.settings.max_categories + 2 :] = True
        is_open[self.known_names.full()] = False
        hashed = np.flatnonzero(is_open[places])
        found, first = np.unique(codes[hashed], return_index=True)
        for k in np.argsort(first).tolist():
            self.known_names.note(int(places[hashed[first[k]]]), names[int(found[k])])

    def feature(self, slot: int, place: int) -> Feature:
        most = self.settings.max_categories
        if place < most:
            return Feature(self.name, "category", list(self.names)[place])
        if place == most:
            return Feature(self.name, "rare")
        if place == most + 1:
            return Feature(self.name, "missing")
        return Feature(self.name, "bucket", **self.known_names.told(place, str(place - most - 2), but=self.names))

    def copy(self) -> CategoryEncoder:
        own = dict(self.names), self.seen.copy(), self.known_names.copy()
        return CategoryEncoder(self.name, self.settings, *own, self.naming)

    def to_json(self) -> dict[str, Any]:
        naming = self.naming.to_json(self.names, self.known_names)
        return {**super().to_json(), "names": list(self.names), "examples": self.known_names.to_json(), **naming}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"seen": self.seen}


@dataclass
class TextEncoder(ColumnEncoder):
    """A column of free text: its words, hashed, each text a vector of length 1."""

    settings: EncodingSettings
    known_names: KnownNames = field(default_factory=KnownNames)  # of the words in each bucket
    kind = "text"

    def n_tokens(self) -> int:
        return self.settings.word_buckets

    def tokens(self, column: Column, *, learn: bool) -> Tokens:
        texts = without_unused(as_texts(column))
        found = [self._places_of(text, learn) for text in texts.names]
        lengths = np.array([*map(len, found), 0], np.int64)
        starts = np.cumsum(lengths) - lengths
        flat = np.array([place for each in found for place in each], np.int64)
        of_row = lengths[texts.codes]
        rows = np.repeat(np.arange(of_row.size), of_row)
        first = np.repeat(starts[texts.codes] - (np.cumsum(of_row) - of_row), of_row)
        with np.errstate(divide="ignore"):
            return rows, flat[first + np.arange(rows.size)], np.repeat(1.0 / np.sqrt(of_row), of_row)

    def _places_of(self, text: str, learn: bool) -> list[int]:
        words = dict.fromkeys(() if is_nothing(text) else WORD.findall(text.lower())[:MOST_WORDS])
        places = [hash_of(word) % self.settings.word_buckets for word in words]
        if learn:
            for place, word in zip(places, words, strict=True):
                self.known_names.note(place, kept(word))
        return sorted(set(places))

    def feature(self, slot: int, place: int) -> Feature:
        if slot == 0:
            return super().feature(slot, place)
        return Feature(self.name, "word", **self.known_names.told(place, str(place)))

    def copy(self) -> TextEncoder:
        return TextEncoder(self.name, self.settings, self.known_names.copy())

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "examples": self.known_names.to_json()}
