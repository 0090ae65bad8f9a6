"""Encoding of a stream of tables: the first rows are held back until they show how to encode their columns.

Knows `columns`, `categories` and `encoding`; knows no scikit-learn and no file. The result does not depend on how the
stream is cut, because everything is decided after the same number of rows. At most that many are held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .categories import nothing_in
from .columns import Column, Numbers, Table, Texts, Times, concatenated, own, part, rows_in
from .crosses import check_names
from .encoded import Encoded
from .encoding import Encoding
from .settings import EncodingSettings

Piece = tuple[Encoded, tuple[Any, ...]]
Held = tuple[Table, tuple[Any, ...]]

MANY = 64  # tables that are held before they are joined


@dataclass
class StreamEncoder:
    """Encodes a stream for a learner.

    encoding
        None while rows are held back.
    held
        Those rows, and the arrays that came with them.
    first_known
        For a shard, how many indicators there were in the encoding that it started from.
    are_numbers
        For columns that are empty in the deciding rows: whether they are to hold numbers rather than texts, if that is
        known. Later rows do not decide it, because they may come in the same batch or not.
    in_one
        Whether rows that were held back are released together, however they were cut; else by the calls they came in.
    """

    settings: EncodingSettings
    encoding: Encoding | None = None
    held: list[Held] = field(default_factory=list)
    first_known: int | None = None
    are_numbers: Mapping[str, bool] = field(default_factory=dict)
    in_one: bool = False
    _ended: tuple[Encoding, list[Piece]] | None = field(default=None, repr=False)

    @classmethod
    def of_shard(cls, begun: Encoding) -> StreamEncoder:
        """An encoder for a shard, which starts as a copy of an encoding that has seen some rows (`shard_encodings`)."""
        return cls(begun.settings, begun.copy(), first_known=begun.known)

    @property
    def n_held(self) -> int:
        """The number of rows that are held back."""
        return sum(rows_in(table) for table, _ in self.held)

    def take(self, table: Table, *beside: Any) -> list[Piece]:
        """Take in rows with the arrays that belong to them (labels, importances); return pieces to learn from.

        There are none while rows are held back; afterwards each call returns its own rows. An error changes nothing.
        """
        n_rows = rows_in(table)
        if self.encoding is not None:
            return [(self.encoding.encode(table, learn=True), beside)]
        self._check(table)
        self._ended = None
        room = self.settings.warm_up - self.n_held
        if n_rows < room:
            if n_rows:
                self.held.append(
                    ({name: own(column) for name, column in table.items()}, tuple(_copied(array) for array in beside))
                )
                if self.in_one and len(self.held) >= MANY:
                    self.held = _together(self.held)
            return []
        first = part(table, 0, room), tuple(_cut(array, 0, room) for array in beside)
        held = [*self.held, first]
        encoding, pieces = _begun(_together(held) if self.in_one else held, self)
        if n_rows > room:
            rest = encoding.encode(part(table, room, n_rows), learn=True)
            pieces.append((rest, tuple(_cut(array, room, n_rows) for array in beside)))
        self.encoding, self.held = encoding, []
        return pieces

    def ended(self) -> tuple[Encoding, list[Piece]]:
        """The encoding if the stream ended here, and the pieces that are still to be learned from.

        Asking changes nothing: a stream that goes on gives the same result as if nobody had asked.
        """
        if self.encoding is not None:
            return self.encoding, []
        if not self.held:
            raise ValueError("there are no rows to learn an encoding from.")
        if self._ended is None:
            if self.in_one:
                self.held = _together(self.held)
            self._ended = _begun(self.held, self)
        return self._ended

    def settle(self) -> list[Piece]:
        """Decide by the rows so far, however few; return the pieces that were held back."""
        self.encoding, pieces = self.ended()
        self.held, self._ended = [], None
        return pieces

    def first_levels(self, resolution: str) -> NDArray[np.uint8]:
        """The level of each output column so far; for a shard, only of those that existed when it started."""
        encoding = self.ended()[0]
        later = 0 if self.first_known is None else encoding.known - self.first_known
        return encoding.levels(resolution)[: encoding.width(resolution) - later]

    def decided_early(self) -> str | None:
        """A warning if the encoding was decided from fewer rows than `warm_up`; else None."""
        if self.encoding is None or self.encoding.rows >= self.settings.warm_up:
            return None
        return (
            f"kinds and bins of columns were decided from {self.encoding.rows:,} rows at most, not from "
            f"{self.settings.warm_up:,} (warm_up), and stay as they are. To decide them anew, learn from all "
            "rows in one stream."
        )

    def copy(self) -> StreamEncoder:
        """An independent copy."""
        encoding = None if self.encoding is None else self.encoding.copy()
        held = list(self.held)
        return StreamEncoder(self.settings, encoding, held, self.first_known, self.are_numbers, self.in_one)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the cached result of `ended`."""
        return {**vars(self), "_ended": None}

    def _check(self, table: Table) -> None:
        if not table:
            raise ValueError("the table has no columns.")
        if self.held and list(self.held[0][0]) != list(table):
            raise ValueError(
                f"the table has the columns {list(table)}, but the rows before had {list(self.held[0][0])}."
            )
        check_names(self.settings, list(table))


def _begun(held: list[Held], of: StreamEncoder) -> tuple[Encoding, list[Piece]]:
    table = concatenated([table for table, _ in held])
    encoding = Encoding.begun({name: _as_told(name, column, of) for name, column in table.items()}, of.settings)
    return encoding, [(encoding.encode(table), beside) for table, beside in held]


def _together(held: list[Held]) -> list[Held]:
    """The same rows in as few tables as possible: neighbours are joined if their arrays are of the same kinds."""
    found = list[Held]()
    for _, some in groupby(held, lambda each: [_kind(array) for array in each[1]]):
        tables, beside = zip(*some, strict=True)
        joined = (arrays[0] if arrays[0] is None else np.concatenate(arrays) for arrays in zip(*beside, strict=True))
        found.append((tables[0], beside[0]) if len(tables) == 1 else (concatenated(tables), tuple(joined)))
    return found


def _as_told(name: str, column: Column, of: StreamEncoder) -> Column:
    if name not in of.are_numbers or isinstance(column, Times) or (isinstance(column, Texts) and column.declared):
        return column
    missing = nothing_in(column) if isinstance(column, Texts) else np.isnan(column.values)
    if not missing.all():
        return column
    n_rows = missing.size
    return Numbers(np.full(n_rows, np.nan)) if of.are_numbers[name] else Texts(np.full(n_rows, -1, np.int64), [])


def _kind(array: Any) -> str | None:
    return None if array is None else np.asarray(array).dtype.kind


def _copied(array: Any) -> Any:
    return array if array is None else np.array(array)


def _cut(array: Any, start: int, stop: int) -> Any:
    """The part of an array that belongs to some rows; None and an empty array belong to any."""
    return array if array is None or not len(array) else array[start:stop]
