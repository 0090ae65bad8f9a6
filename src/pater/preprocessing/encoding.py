"""The encoding of a table: raw columns in, sparse rows out, learned as the rows pass.

Knows the encoders of columns and the kernels; knows no scikit-learn and no file. Output columns come in four groups:
z-scores, bins, crosses, and, at the end, where there is room for more, indicators in order of first appearance. The
first three groups are fixed from the beginning. Each resolution of the bins is a view of the same rows with its own
columns. A column has a level: 0 if it is neither bin nor cross, 1 and 2 for the bins of a resolution in turn, and one
more for crosses, so that a learner can leave out what is too detailed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column_encoders import ColumnEncoder, DateEncoder, NumberEncoder, Places, Tokens
from .columns import Table, Texts, part, rows_in, without_unused
from .counts import Counts
from .crosses import Crosses
from .encoded import Encoded, Layout, Piece, TokensByRow
from .encoding_kernels import find_bins, settle, standardise
from .features import Feature
from .kinds import encoder_of
from .settings import RESOLUTIONS, EncodingSettings
from .slots import Slots
from .unread_cells import Unread, unread_in

PIECE = 1 << 14  # rows that are encoded at a time: a block of CSV, so that intermediate arrays stay small


@dataclass
class Encoding:
    """How the columns of a table are encoded, and what has been learned for it.

    columns
        The encoders of the table's columns, in order.
    crosses
        Which of them are crossed, and how.
    moments
        For each column of numbers or dates: the count, the mean and the sum of squared distances from it.
    places
        For everything that can have an indicator: the number of its output column among indicators, or −1.
    known
        How many indicators there are so far.
    rows
        How many rows were learned from.
    counts
        How many of them had each bin and each indicator; None where an older file does not say.
    """

    settings: EncodingSettings
    columns: list[ColumnEncoder]
    crosses: Crosses
    moments: NDArray[np.float64]
    places: NDArray[np.int32]
    known: int = 0
    rows: int = 0
    counts: Counts | None = None
    _layouts: dict[str, Layout] = field(default_factory=dict, repr=False)

    @classmethod
    def begun(cls, table: Table, settings: EncodingSettings) -> Encoding:
        """The encoding of a stream that begins with these rows, after learning from them.

        Everything is decided from all of them together, and each is encoded by that. Raises a ValueError that names
        the columns if there is nothing to learn from them.
        """
        columns = [encoder_of(name, column, settings) for name, column in table.items()]
        encoding = cls.of_columns(settings, columns, Crosses.begun(settings, columns, table))
        encoding.rows = rows_in(table)
        encoding._piece(table, learn=True, begins=True)
        if not encoding.known and all(column.kind == "id" for column in columns):
            names = ", ".join(repr(name) for name in encoding.names)
            are = f"{names} is" if len(columns) == 1 else f"each of {names} is"
            raise ValueError(f"no column can be learned from: {are} different in nearly every row, as ids are.")
        return encoding

    @classmethod
    def of_columns(cls, settings: EncodingSettings, columns: list[ColumnEncoder], crosses: Crosses) -> Encoding:
        """An encoding of these columns that has seen no row."""
        edges = [column.edges.size for column in columns if isinstance(column, NumberEncoder)]
        size = sum(sum(column.slots()) + column.n_tokens() for column in columns)
        counts = Counts.none(len(edges), max(edges, default=0) + 1)
        return cls(settings, columns, crosses, np.zeros((len(edges), 3)), np.full(size, -1, np.int32), counts=counts)

    @cached_property
    def numbers(self) -> list[NumberEncoder]:
        """The columns that have a z-score, in their order."""
        return [column for column in self.columns if isinstance(column, NumberEncoder)]

    @cached_property
    def slots(self) -> Slots:
        """Where the indicators of each column stand among all."""
        return Slots.of(self.columns)

    @cached_property
    def _with_places(self) -> list[tuple[ColumnEncoder, int | None, int, int]]:
        """The columns with more than bins, each with its place among numbers and the starts of its slots and tokens."""
        numbers = {column.name: j for j, column in enumerate(self.numbers)}
        placed = zip(self.columns, self.slots.starts, strict=True)
        return [(each, numbers.get(each.name), *starts) for each, starts in placed if each.kind != "number"]

    @cached_property
    def _clocks(self) -> list[int]:
        return [j for j, each in enumerate(self.numbers) if isinstance(each, DateEncoder) and each.clock]

    @property
    def names(self) -> list[str]:
        """The names of the table's columns."""
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column of the table: "number", "date", "category", "text" or "id"."""
        return {column.name: column.kind for column in self.columns}

    def width(self, resolution: str) -> int:
        """The number of output columns so far."""
        return self.layout(resolution)[1] + self.known

    def encode(self, table: Table, *, learn: bool = False) -> Encoded:
        """Encode rows; with `learn`, learn from each row before encoding it, and give new indicators their columns."""
        self.check(table)
        n_rows = rows_in(table)
        parts = [table] if n_rows <= PIECE else [part(table, at, at + PIECE) for at in range(0, n_rows, PIECE)]
        pieces = [self._piece(_lean(each), learn) for each in parts]
        self.rows += n_rows if learn else 0
        return self.encoded(pieces)

    def encoded(self, pieces: list[Piece]) -> Encoded:
        """Wrap pieces that were encoded just now."""
        if len(self._layouts) < len(RESOLUTIONS):
            for name in RESOLUTIONS:
                self.layout(name)
        return Encoded(pieces, self._layouts, self.crosses.width, self.known)

    def check(self, table: Mapping[str, Any]) -> None:
        """Raise a ValueError if the table lacks a column."""
        for column in self.columns:
            if column.name not in table:
                raise ValueError(f"the table has no column {column.name!r}; the encoder knows {self.names}.")

    def _piece(self, table: Table, learn: bool, *, begins: bool = False) -> Piece:
        """Encode some rows. Where the encoding `begins` with them, their texts have been counted already."""
        x = np.empty((len(self.numbers), rows_in(table)))
        unread: dict[str, Unread] = {}
        for j, column in enumerate(self.numbers):
            x[j] = column.values(table[column.name])
            found = unread_in(column.kind, table[column.name], x[j])
            if found is not None:
                unread[column.name] = found

        def places(each: ColumnEncoder, values: NDArray[np.float64] | None) -> Sequence[Places | int]:
            return each.places(table[each.name], values, learn=learn and not begins)

        piece = self.coded(x, places, lambda each: each.tokens(table[each.name], learn=learn), learn)
        piece.unread = unread
        return piece

    def coded(
        self,
        x: NDArray[np.float64],
        places: Callable[[ColumnEncoder, NDArray[np.float64] | None], Sequence[Places | int]],
        tokens: Callable[[ColumnEncoder], Tokens],
        learn: bool,
    ) -> Piece:
        """Encode rows from their numbers and from functions that find the places and tokens of the other columns."""
        slots, n_rows, words = self.slots, x.shape[1], []
        z, bins = np.empty(x.T.shape), np.empty(x.T.shape, np.int16)
        local = np.empty((n_rows, slots.bases.size), np.int32)
        local.fill(-1)
        standardise(x, learn, self.moments, float(self.settings.clip), z)
        if self._clocks:
            z[:, self._clocks] = 0.0
        find_bins(x, slots.edges, slots.n_edges, slots.missing, bins, local)
        for each, j, first, start in self._with_places:
            for slot, found in enumerate(places(each, None if j is None else x[j])):
                local[:, first + slot] = found
            if each.n_tokens():
                rows, of_tokens, sizes = tokens(each)
                words.append((rows, of_tokens + start, sizes))
        starts, of_words, sizes = _by_rows(words, n_rows)
        crosses = self.crosses.places(x, bins, local, slots, learn)
        self.known = int(settle(local, slots.bases, starts, of_words, self.places, self.known, learn))
        if learn and self.counts is not None:
            self.counts.note(bins, local, of_words, self.known)
        return Piece(z, bins, crosses, local, (starts, of_words, sizes))

    def levels(self, resolution: str) -> NDArray[np.uint8]:
        """The level of each output column so far. All later columns have level 0."""
        numbers = self.numbers
        of_bins = [
            np.full(sum(len(_bins(column, resolution, layer)) for column in numbers), layer + 1, np.uint8)
            for layer in range(len(RESOLUTIONS[resolution]))
        ]
        fixed = np.concatenate([np.zeros(len(numbers), np.uint8), *of_bins])
        crosses = np.full(self.crosses.width, 1 + fixed.max(initial=0), np.uint8)
        return np.concatenate([fixed, crosses, np.zeros(self.known, np.uint8)])

    def layout(self, resolution: str) -> Layout:
        """The output columns of each bin of each column of numbers, and how many come before the indicators."""
        if resolution not in self._layouts:
            numbers, layers = self.numbers, RESOLUTIONS[resolution]
            most = max([1, *(column.edges.size + 1 for column in numbers)])
            at = np.full((len(layers), len(numbers), most), -1, np.int32)
            width = len(numbers)
            for layer, kind in enumerate(layers):
                for j, column in enumerate(numbers):
                    kept = _kept(column, resolution, layer)
                    places = np.where(kept, width + np.cumsum(kept) - 1, -1)
                    for bin in range(column.edges.size + 1 if kept.size else 0):
                        at[layer, j, bin] = places[column.group_of(bin, kind)]
                    width += int(np.count_nonzero(kept))
            self._layouts[resolution] = at, width + self.crosses.width
        return self._layouts[resolution]

    def features(self, resolution: str = "nested") -> list[Feature]:
        """What each output column stands for."""
        numbers = self.numbers
        found = [Feature(column.name, "z", is_date=column.kind == "date") for column in numbers]
        for layer in range(len(RESOLUTIONS[resolution])):
            for column in numbers:
                found += _bins(column, resolution, layer)
        found += self.crosses.features()
        meanings: list[Feature] = []
        at = 0
        order = []
        for each in self.columns:
            sizes = [*each.slots(), each.n_tokens()]
            for slot, size in enumerate(sizes):
                for place in np.flatnonzero(self.places[at : at + size] >= 0).tolist():
                    meanings.append(each.feature(slot, place))
                    order.append(int(self.places[at + place]))
                at += size
        return found + [meanings[k] for k in np.argsort(order)]

    def copy(self) -> Encoding:
        """An independent copy."""
        columns = [column.copy() for column in self.columns]
        counts = None if self.counts is None else self.counts.copy()
        learned = self.moments.copy(), self.places.copy(), self.known, self.rows, counts
        return Encoding(self.settings, columns, self.crosses.copy(columns), *learned, self._layouts)


def _kept(column: NumberEncoder, resolution: str, layer: int) -> NDArray[np.bool_]:
    """Which bins of a layer have a column: all but fine bins that are alone in their coarse bin, which has one."""
    n_bins = len(column.bins(RESOLUTIONS[resolution][layer]))
    return np.ones(n_bins, np.bool_) if layer == 0 or not n_bins else np.bincount(column.groups)[column.groups] > 1


def _bins(column: NumberEncoder, resolution: str, layer: int) -> list[Feature]:
    """The bins of a column of numbers that have a column in this layer."""
    bins = column.bins(RESOLUTIONS[resolution][layer])
    return [bin for bin, kept in zip(bins, _kept(column, resolution, layer), strict=True) if kept]


def _by_rows(tokens: list[Tokens], n_rows: int) -> TokensByRow:
    """Where the tokens of each row start, and the places and values of all tokens, row by row."""
    if not tokens:
        return np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rows, places, values = (np.concatenate(each) for each in zip(*tokens, strict=True))
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
    return starts.astype(np.int64), places[order], values[order]


def _lean(table: Table) -> Table:
    """The same rows without unused texts, where those are many and would be looked at one by one."""
    return {
        name: without_unused(column)
        if isinstance(column, Texts) and column.hashes is None and len(column.names) > column.codes.size
        else column
        for name, column in table.items()
    }
