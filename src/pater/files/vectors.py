"""Writing the vectors of a state to a file one after the other, and putting them back in their places.

Knows `state`. No vector is copied needlessly, so that a model is in memory only once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.batched_layout import cells
from ..kernels.state import Metric, State

_NAMES = {True: ["U", "S_pos", "S_neg", "V"], False: ["U", "V"]}  # a herd has no V
_OF_METRIC = {"diagonal": ["Q"], "full": ["P_pos", "P_neg"]}  # P_pos and P_neg only with class means


def kinds(means: bool, metric: Metric, layout: str) -> list[str]:
    names = [name for name in _NAMES[means] if layout != "herd" or name != "V"]
    return names + (_OF_METRIC.get(metric, []) if means or metric == "diagonal" else [])


def columns_in_use(state: State) -> NDArray[np.int64]:
    """The columns that hold anything but zeros; or all columns, if at least half do."""
    used = np.zeros(state.n_features, np.bool_)
    for vector in each_vector(state):
        used |= vector.view(np.uint64) != 0  # −0 counts as nonzero: a model must come back bit for bit
    return np.flatnonzero(used) if 2 * used.sum() < used.size else np.arange(used.size)


class Vectors:
    """The vectors as they stand in the file, (models, kinds, columns kept), fetched one by one while writing."""

    dtype, ndim = np.dtype(np.float64), 3

    def __init__(self, state: State, kept: NDArray[np.int64]) -> None:
        self._state, self._kept = state, kept
        self.shape = (state.n_models, len(kinds(state.has_means, state.metric, state.layout)), kept.size)
        self.nbytes = 8 * math.prod(self.shape)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        for vector in each_vector(self._state):
            yield vector if self._kept.size == self._state.n_features else vector[self._kept]


def each_vector(state: State) -> Iterator[NDArray[np.float64]]:
    """Every vector of every model, without copying."""
    if state.layout == "herd":
        of_model = {
            model: (slab, herd) for slab, herd in zip(state.vectors, state.herds, strict=True) for model in herd.models
        }
        for model in range(state.n_models):
            slab, herd = of_model[model]
            yield from (cells(slab, herd)[:, column] for column in herd.at(model))
        return
    for vectors in state.vectors.swapaxes(1, 2) if state.layout == "split" else state.vectors:
        yield from vectors.T


class Room:
    """Puts vectors from a file in their places in a state; columns that were not kept stay zero."""

    def __init__(self, state: State, kept: NDArray[np.int64] | None) -> None:
        self.finite, self.agreed = True, True
        self._places = list(each_vector(state))
        self._filled: set[int] = set()  # addresses of vectors that are filled: models may share some
        self._kept = slice(None) if kept is None else kept

    def __setitem__(self, k: int, vector: NDArray[np.float64]) -> None:
        place = self._places[k]
        address = place.ctypes.data
        if address in self._filled:
            self.agreed &= same_bits(place[self._kept], vector)
        else:
            place[self._kept] = vector
            self._filled.add(address)
        self.finite &= bool(np.isfinite(vector).all())


class Rows:
    """Fills the first numbers of each row of a table from a file."""

    def __init__(self, table: NDArray[np.float64], size: int) -> None:
        self.finite = True
        self._table, self._size = table, size

    def __setitem__(self, k: int, row: NDArray[np.float64]) -> None:
        self._table[k, : self._size] = row
        self.finite &= bool(np.isfinite(row).all())


class Same:
    """Stands in for the destination of rows of a file, and checks that they are those that were to be written."""

    def __init__(self, written: Any) -> None:
        self.finite, self.agreed = True, True
        self._rows = iter(written if written.ndim > 1 else [written])

    def __setitem__(self, k: int, row: NDArray[Any]) -> None:
        self.agreed &= same_bits(next(self._rows), row)
        self.finite &= row.dtype != np.float64 or bool(np.isfinite(row).all())


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two vectors of 8-byte numbers are the same bit for bit, so that −0 is not 0."""
    return a.shape == b.shape and bool((a.view(np.uint64) == b.view(np.uint64)).all())
