"""Encoded rows, which are written in the kernels' form at any resolution.

Knows the kernels and `unread_cells`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import CheckedRows, checked
from .row_writing import write_rows
from .unread_cells import Unread, joined

Layout = tuple[NDArray[np.int32], int]
TokensByRow = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Where those of each row start, their places, and their values."""


@dataclass
class Piece:
    """Some rows, encoded as far as all resolutions agree."""

    z: NDArray[np.float64]
    bins: NDArray[np.int16]
    crosses: NDArray[np.int32]
    slots: NDArray[np.int32]
    tokens: TokensByRow
    unread: dict[str, Unread] = field(default_factory=dict)


@dataclass
class Encoded:
    """Encoded rows, available at every resolution."""

    pieces: list[Piece]
    layouts: dict[str, Layout]
    n_crosses: int
    known: int

    def __len__(self) -> int:
        return sum(piece.slots.shape[0] for piece in self.pieces)

    @property
    def unread(self) -> dict[str, Unread]:
        """The cells of these rows that could not be read, by column of the table."""
        return joined([piece.unread for piece in self.pieces if piece.unread])

    def width(self, resolution: str) -> int:
        """How many output columns there were after these rows."""
        return self.layouts[resolution][1] + self.known

    def rows(self, resolution: str = "nested") -> CheckedRows:
        """The rows in the kernels' form: CSR, columns ascending."""
        at, first = self.layouts[resolution]
        most = sum(
            (1 + len(at)) * piece.z.size + piece.crosses.size + piece.slots.size + piece.tokens[1].size
            for piece in self.pieces
        )
        kind = np.uint32 if most < 1 << 31 else np.uint64
        indptr, indices, data = np.zeros(len(self) + 1, kind), np.empty(most, kind), np.empty(most)
        row = filled = 0
        starts = first - self.n_crosses, first
        for piece in self.pieces:
            coded, room = (piece.z, piece.bins, piece.crosses, piece.slots), (indptr[row:], indices, data)
            filled = write_rows((at, starts), *coded, piece.tokens, room, filled)
            row += piece.slots.shape[0]
        return checked((indptr, indices[:filled], data[:filled]), self.width(resolution))
