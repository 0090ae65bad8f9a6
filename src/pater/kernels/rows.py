"""Operations on one row and one vector, for dense and for compressed sparse rows.

Rows are a tuple of arrays: `(X,)` dense in C order, or `(indptr, indices, data)`, CSR with unsigned indices (signed
ones would be tested for negative values). The passes are written once, for both. Single precision is widened number by
number, by `np.float64`: Numba's `float()` would not widen it.

`either` joins the dense and the sparse form of a function into one, which chooses when it is compiled or, in the
interpreter, when it is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from ..compiler.decorators import COMPILES, FAST, PART, part


def either(dense: Callable[..., Any], csr: Callable[..., Any]) -> Callable[..., Any]:
    def function(rows, *arguments):
        return (dense if len(rows) == 1 else csr)(rows, *arguments)

    def compiled(rows, *arguments):
        return dense if len(rows) == 1 else csr

    compiled.__signature__ = inspect.signature(dense)  # type: ignore[attr-defined]
    if COMPILES:
        overload(function, jit_options=PART | {"fastmath": FAST})(compiled)
    return function


# Whether the rows are dense.
is_dense = either(lambda rows: True, lambda rows: False)
# How many rows there are.
count = either(lambda rows: rows[0].shape[0], lambda rows: rows[0].size - 1)
# How many numbers row i holds.
size = either(lambda rows, i: rows[0].shape[1], lambda rows, i: rows[0][i + 1] - rows[0][i])


def _last_column(rows, i):
    indptr, indices, _ = rows
    return np.int64(indices[indptr[i + 1] - 1]) + 1 if indptr[i + 1] > indptr[i] else np.int64(0)


# One more than the last column that row i has a number in.
reach = either(lambda rows, i: rows[0].shape[1], _last_column)
# The column and the value of the k-th number of row i.
entry = either(
    lambda rows, i, k: (k, np.float64(rows[0][i, k])),
    lambda rows, i, k: (rows[1][rows[0][i] + k], np.float64(rows[2][rows[0][i] + k])),
)


@part
def dot(rows, i, v):
    """v·x and ‖x‖²."""
    vx = xx = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        vx += v[j] * x
        xx += x * x
    return vx, xx


@part
def square(rows, i):
    """‖x‖²."""
    xx = 0.0
    for k in range(size(rows, i)):
        _, x = entry(rows, i, k)
        xx += x * x
    return xx


@part
def add(rows, i, a, v):
    """v ← v + a·x."""
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        v[j] += a * x


def _spread_dense(rows, i, x):
    row = rows[0][i]
    for j in range(row.size):
        x[j + 1] = np.float64(row[j])
    return row.size + 1


def _spread_csr(rows, i, x):
    indptr, indices, data = rows
    reach = 1
    for k in range(indptr[i], indptr[i + 1]):
        x[indices[k] + 1] = np.float64(data[k])
        reach = np.int64(indices[k]) + 2
    return reach


def _clear_csr(rows, i, x):
    indptr, indices, _ = rows
    for k in range(indptr[i], indptr[i + 1]):
        x[indices[k] + 1] = 0.0


# x[1:] ← row i, where x must be zero before if the row is sparse; returns how many numbers of x the row spans.
spread = either(_spread_dense, _spread_csr)
clear = either(lambda rows, i, x: None, _clear_csr)  # undoes `spread` where the next one needs that


# The vectors of a model, (kinds, features) beside dense rows and (features, kinds) beside sparse ones, as the table
# (features, kinds) that the lazy form works on. In a tuple, as only what is `allocating` may return an array.
table_of = either(lambda rows, vectors: (vectors.T,), lambda rows, vectors: (vectors,))
