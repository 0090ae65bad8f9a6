"""What a pass does with one row and one vector, for dense and for compressed sparse rows.

Knows Numba only. Rows are a tuple of arrays: `(X,)` dense in C order, or `(indptr, indices, data)`, CSR with unsigned
indices (signed ones would be tested for negative values). The passes are written once, for both. Single precision is
widened number by number: Numba's `float()` would not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from .compile import FAST

_OPTIONS: dict[str, Any] = {"jit_options": {"fastmath": FAST, "error_model": "numpy"}}


def count(rows):
    """How many rows there are."""


def size(rows, i):
    """How many numbers row i holds."""


def reach(rows, i):
    """One more than the last column that row i has a number in."""


def entry(rows, i, k):
    """The column and the value of the k-th number of row i."""


def dot(rows, i, v):
    """v·x and ‖x‖²."""


def square(rows, i):
    """‖x‖²."""


def add(rows, i, a, v):
    """v ← v + a·x."""


def spread(rows, i, x):
    """x[1:] ← row i, where x is zero already if the row is sparse; how many numbers of x that reaches over."""


def clear(rows, i, x):
    """Undo `spread`, if the next one needs it."""


@overload(count, **_OPTIONS)
def _count(rows):
    if len(rows) == 1:
        return lambda rows: rows[0].shape[0]
    return lambda rows: rows[0].size - 1


@overload(size, **_OPTIONS)
def _size(rows, i):
    if len(rows) == 1:
        return lambda rows, i: rows[0].shape[1]
    return lambda rows, i: rows[0][i + 1] - rows[0][i]


@overload(reach, **_OPTIONS)
def _reach(rows, i):
    def csr(rows, i):
        indptr, indices, _ = rows
        return np.int64(indices[indptr[i + 1] - 1]) + 1 if indptr[i + 1] > indptr[i] else np.int64(0)

    return (lambda rows, i: rows[0].shape[1]) if len(rows) == 1 else csr


@overload(entry, **_OPTIONS)
def _entry(rows, i, k):
    if len(rows) == 1:
        return lambda rows, i, k: (k, np.float64(rows[0][i, k]))
    return lambda rows, i, k: (rows[1][rows[0][i] + k], np.float64(rows[2][rows[0][i] + k]))


@overload(dot, **_OPTIONS)
def _dot(rows, i, v):
    def dense(rows, i, v):
        x = rows[0][i]
        vx = 0.0
        xx = 0.0
        for j in range(x.size):
            vx += v[j] * np.float64(x[j])
            xx += np.float64(x[j]) * np.float64(x[j])
        return vx, xx

    def csr(rows, i, v):
        indptr, indices, data = rows
        vx = 0.0
        xx = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[k])
            vx += v[indices[k]] * x
            xx += x * x
        return vx, xx

    return dense if len(rows) == 1 else csr


@overload(square, **_OPTIONS)
def _square(rows, i):
    def dense(rows, i):
        x = rows[0][i]
        xx = 0.0
        for j in range(x.size):
            xx += np.float64(x[j]) * np.float64(x[j])
        return xx

    def csr(rows, i):
        indptr, _, data = rows
        xx = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            xx += np.float64(data[k]) * np.float64(data[k])
        return xx

    return dense if len(rows) == 1 else csr


@overload(add, **_OPTIONS)
def _add(rows, i, a, v):
    def dense(rows, i, a, v):
        x = rows[0][i]
        for j in range(x.size):
            v[j] += a * np.float64(x[j])

    def csr(rows, i, a, v):
        indptr, indices, data = rows
        for k in range(indptr[i], indptr[i + 1]):
            v[indices[k]] += a * np.float64(data[k])

    return dense if len(rows) == 1 else csr


@overload(spread, **_OPTIONS)
def _spread(rows, i, x):
    def dense(rows, i, x):
        row = rows[0][i]
        for j in range(row.size):
            x[j + 1] = np.float64(row[j])
        return row.size + 1

    def csr(rows, i, x):
        indptr, indices, data = rows
        reach = 1
        for k in range(indptr[i], indptr[i + 1]):
            x[indices[k] + 1] = np.float64(data[k])
            reach = np.int64(indices[k]) + 2
        return reach

    return dense if len(rows) == 1 else csr


@overload(clear, **_OPTIONS)
def _clear(rows, i, x):
    def csr(rows, i, x):
        indptr, indices, _ = rows
        for k in range(indptr[i], indptr[i + 1]):
            x[indices[k] + 1] = 0.0

    return (lambda rows, i, x: None) if len(rows) == 1 else csr
