"""From what a caller hands over to rows that a pass can read, without a copy where the form allows it.

Knows NumPy, SciPy and Numba; knows no estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._compile import kernel
from .passes import Rows
from .rows import count, square
from .rules import LARGEST_ROW

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class _Alias:
    """The memory of a read-only array, as one that could be written to: the kernels are compiled for that kind only."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.base = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def _readable(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.flags.writeable else np.asarray(_Alias(array))


def is_plain(X: Any) -> bool:
    """A dense matrix that the kernels read as it is?"""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.flags.c_contiguous


def dense_rows(X: NDArray[Any]) -> Rows:
    if not is_plain(X):
        X = np.ascontiguousarray(X, dtype=X.dtype if X.dtype in FLOATS else np.float64)
    return (_readable(X),)


@kernel
def _form(indptr, indices, n_columns):
    """0 for sound rows of distinct, ascending columns; 1 for a column out of range; 2 for columns out of order."""
    end = indptr[-1]
    largest = indices[0] if end > 0 else indices.dtype.type(0)
    descents = 0
    for k in range(1, end):
        largest = max(largest, indices[k])
        descents += indices[k] <= indices[k - 1]
    if end > 0 and largest >= n_columns:
        return 1
    at_row_ends = 0
    for i in range(1, indptr.size - 1):
        k = indptr[i]
        if 0 < k < end and indptr[i - 1] < k:
            at_row_ends += indices[k] <= indices[k - 1]
    return 2 if descents != at_row_ends else 0


def csr_rows(X: Any) -> Rows:
    """A SciPy sparse matrix or array as CSR rows; columns that are out of order or named twice are put right first."""
    X = X.tocsr()
    if X.dtype not in FLOATS:
        X = X.astype(np.float64)
    indptr, indices, data = X.indptr, X.indices, X.data
    sound = indptr.size == X.shape[0] + 1 and indptr[0] == 0 and indptr[-1] <= min(indices.size, data.size)
    if not sound or (np.diff(indptr) < 0).any():
        raise ValueError("X is not a sound CSR matrix: its indptr does not fit its indices and data.")
    form = _form(*_unsigned(indptr, indices), X.shape[1])
    if form == 1:
        raise ValueError(f"X is not a sound CSR matrix: it holds a column index outside 0..{X.shape[1] - 1}.")
    if form == 2:
        X = X.copy()
        X.has_canonical_format = False
        X.sum_duplicates()
        indptr, indices, data = X.indptr, X.indices, X.data
    return (*_unsigned(indptr, indices), _readable(data))


def _unsigned(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    return tuple(_readable(np.ascontiguousarray(a)).view(f"u{a.dtype.itemsize}") for a in arrays)


def number_of_rows(rows: Rows) -> int:
    return int(rows[0].shape[0]) - (len(rows) == 3)


def rows_of(X: Any) -> Rows:
    return csr_rows(X) if sp.issparse(X) else dense_rows(X)


def part(rows: Rows, start: int, stop: int) -> Rows:
    """Rows start..stop, without a copy."""
    return (rows[0][start:stop],) if len(rows) == 1 else (rows[0][start : stop + 1], *rows[1:])


@kernel
def first_bad_row(rows):
    """The first row that no pass takes, or −1."""
    for i in range(count(rows)):
        if not square(rows, i) <= LARGEST_ROW:
            return i
    return -1
