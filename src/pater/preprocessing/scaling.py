"""Standardising a stream as it passes: each row by what was seen up to and including it.

Knows Numba only. The running mean is subtracted from dense columns, and they are divided by their running deviation; a
missing value becomes 0, the mean. Sparse columns are only divided, by their deviation about the mean of all rows, zeros
included, as StandardScaler(with_mean=False) does. A column that has not varied yet is left as it is (dense: 0).
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import exact_kernel
from ..kernels.run import Rows


@exact_kernel
def _scale_dense(X, learn, count, mean, square):
    for r in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[r, j]
            if np.isnan(x):
                X[r, j] = 0.0
                continue
            if learn:
                count[j] += 1.0
                gap = x - mean[j]
                mean[j] += gap / count[j]
                square[j] += gap * (x - mean[j])
            X[r, j] = (x - mean[j]) / np.sqrt(square[j] / count[j]) if square[j] > 0.0 else 0.0


@exact_kernel
def _scale_sparse(indptr, indices, data, learn, rows, count, mean, square):
    for r in range(indptr.size - 1):
        rows += learn
        for k in range(indptr[r], indptr[r + 1]):
            j, x = indices[k], data[k]
            if learn:
                count[j] += 1.0
                gap = x - mean[j]
                mean[j] += gap / count[j]
                square[j] += gap * (x - mean[j])
            if count[j] > 0.0:
                zeros = 1.0 - count[j] / rows
                spread = square[j] + count[j] * mean[j] * mean[j] * zeros
                if spread > 0.0:
                    data[k] = x / np.sqrt(spread / rows)


@exact_kernel
def _look_up(columns, count, mean, square, numbers):
    for k in range(columns.size):
        j = columns[k]
        numbers[k, 0], numbers[k, 1], numbers[k, 2] = count[j], mean[j], square[j]


@exact_kernel
def _put_back(columns, count, mean, square, numbers):
    for k in range(columns.size):
        j = columns[k]
        count[j], mean[j], square[j] = numbers[k, 0], numbers[k, 1], numbers[k, 2]


@dataclass
class Scaler:
    """For each column: how many values were seen, their mean and the sum of their squared distances from it."""

    rows: int
    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    square: NDArray[np.float64]

    @classmethod
    def new(cls, n_features: int) -> Scaler:
        return cls(0, np.zeros(n_features), np.zeros(n_features), np.zeros(n_features))

    def __call__(self, rows: Rows, *, learn: bool) -> None:
        """Scale rows in place; with `learn`, learn from each row before scaling it."""
        if len(rows) == 1:
            _scale_dense(rows[0], learn, self.count, self.mean, self.square)
            self.rows += learn * len(rows[0])
        else:
            _scale_sparse(*rows, learn, self.rows, self.count, self.mean, self.square)
            self.rows += learn * (rows[0].size - 1)

    def scaled(self, rows: Rows, *, learn: bool) -> Rows:
        """A scaled copy of the rows."""
        *form, numbers = rows
        rows = (*form, numbers.copy())
        self(rows, learn=learn)
        return rows

    def way_back(self, rows: Rows) -> Callable[[], None]:
        """A function that makes the scaler forget these rows after it has learned from them."""
        n_rows, numbers = self.rows, (self.count, self.mean, self.square)
        if len(rows) == 1:
            columns = np.arange(self.count.size, dtype=np.uint32)
        else:
            columns = rows[1][int(rows[0][0]) : int(rows[0][-1])]  # what comes after may be anything
        before = np.empty((columns.size, 3))
        _look_up(columns, *numbers, before)

        def forget() -> None:
            self.rows, (self.count, self.mean, self.square) = n_rows, numbers
            _put_back(columns, *numbers, before)

        return forget

    def grow(self, n_features: int) -> None:
        self.count, self.mean, self.square = (
            np.concatenate([array, np.zeros(n_features - array.size)]) for array in (self.count, self.mean, self.square)
        )

    def arrays(self, n_features: int) -> dict[str, NDArray[Any]]:
        """The arrays that a model file keeps, for the first `n_features` columns."""
        return {f"scaler.{name}": getattr(self, name)[:n_features] for name in ("count", "mean", "square")}

    @classmethod
    def from_arrays(
        cls, described: dict[str, Any], arrays: dict[str, NDArray[Any]], n_features: int, *, newer: bool = False
    ) -> Scaler:
        """The scaler of a model file. Raises a ValueError if it is not sound.

        What a `newer` version of the format adds to the description is left out.
        """
        found = [arrays.pop(f"scaler.{name}", np.zeros(0)) for name in ("count", "mean", "square")]
        rows = described.get("rows")
        if type(rows) is not int or not 0 <= rows <= 1 << 53 or not (newer or set(described) == {"rows"}):
            raise ValueError("its scaler is not sound")
        count, mean, square = found
        shapes = all(array.shape == (n_features,) and array.dtype == np.float64 for array in found)
        if not shapes or not all(np.isfinite(array).all() for array in found):
            raise ValueError("its scaler does not fit its features")
        if (count < 0).any() or (count > rows).any() or (square < 0).any():
            raise ValueError("its scaler is out of range")
        return cls(rows, count, mean, square)
