"""The positions of the indicators of a table's columns among all.

Knows the encoders of columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .column_encoders import ColumnEncoder, NumberEncoder


class Slots(NamedTuple):
    """The positions of the columns' indicators among all, and the edges of bins as the kernels read them.

    bases
        Where in `Encoding.places` each slot begins.
    starts
        For each column, the first slot that its `places` fills, and where in `Encoding.places` its tokens begin.
    missing
        For each column of numbers, the slot of missing ones.
    """

    bases: NDArray[np.int64]
    starts: list[tuple[int, int]]
    missing: NDArray[np.int64]
    edges: NDArray[np.float64]
    n_edges: NDArray[np.int64]

    @classmethod
    def of(cls, columns: list[ColumnEncoder]) -> Slots:
        bases: list[int] = []
        starts, missing, edges = [], [], []
        at = 0
        for column in columns:
            first = len(bases)
            for size in column.slots():
                bases.append(at)
                at += size
            if isinstance(column, NumberEncoder):
                missing.append(first)
                edges.append(column.edges)
                first += 1
            starts.append((first, at))
            at += column.n_tokens()
        padded = np.zeros((len(edges), max([1, *map(len, edges)])))
        for row, own in zip(padded, edges, strict=True):
            row[: own.size] = own
        n_edges = np.array([own.size for own in edges], np.int64)
        return cls(np.array(bases, np.int64), starts, np.array(missing, np.int64), padded, n_edges)
