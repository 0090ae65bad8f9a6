"""From what a caller hands over to rows that a pass can read, without a copy where the form allows it.

Knows NumPy and Numba, and what SciPy's matrices are made of; knows no estimator.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .passes import Rows
from .rows import count, square
from .rules import LARGEST_ROW

SURELY_TAKEN = LARGEST_ROW * (1.0 - 1e-6)  # a pass may sum ‖x‖² in another order
LARGEST_WEIGHT = 1e20  # times the largest row, squared and summed, it stays a number; and 1/1e20 with the smallest
NO_WEIGHT = f"neither 0 nor a number from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class _Alias:
    """The memory of a read-only array, as one that could be written to: the kernels are compiled for that kind only."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.base = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def readable(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.flags.writeable else np.asarray(_Alias(array))


def is_plain(X: Any) -> bool:
    """A dense matrix that the kernels read as it is?"""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.flags.c_contiguous


def is_sparse(X: Any) -> bool:
    """A matrix of SciPy's? Where nobody has imported `scipy.sparse` there is none, and no need to import it."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_plain_csr(X: Any) -> bool:
    """Sparse rows that need no conversion?"""
    return is_sparse(X) and X.format == "csr" and X.ndim == 2 and X.dtype in FLOATS


def are_weights(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers may be the importance of a row: 0, and what neither overflows nor vanishes in a sum."""
    return np.asarray((weights == 0) | ((weights >= 1.0 / LARGEST_WEIGHT) & (weights <= LARGEST_WEIGHT)))


def dense_rows(X: NDArray[Any]) -> Rows:
    if not is_plain(X):
        X = np.ascontiguousarray(X, dtype=X.dtype if X.dtype in FLOATS else np.float64)
    return (readable(X),)


@kernel
def _form(indptr, indices, n_columns):
    """0 for sound rows of distinct, ascending columns; 1 for columns out of order; 2 out of range; 3 for no rows."""
    end = indptr[-1]
    at_row_ends = 0
    for i in range(1, indptr.size):
        k = indptr[i]
        if k < indptr[i - 1] or k > end:
            return 3
        if 0 < k < end and indptr[i - 1] < k:
            at_row_ends += indices[k] <= indices[k - 1]
    descents = 0
    outside = 0
    for k in range(1, end):
        descents += indices[k] <= indices[k - 1]
        outside += indices[k] >= n_columns
    if outside > 0 or (end > 0 and indices[0] >= n_columns):
        return 2
    return 1 if descents != at_row_ends else 0


def csr_rows(X: Any) -> Rows:
    """A SciPy sparse matrix or array as CSR rows; columns that are out of order or named twice are put right first."""
    X = X.tocsr()
    if X.dtype not in FLOATS:
        X = X.astype(np.float64)
    indptr, indices, data = X.indptr, X.indices, X.data
    form = 3
    if indptr.size == X.shape[0] + 1 and indptr[0] == 0 and 0 <= indptr[-1] <= min(indices.size, data.size):
        form = _form(*_unsigned(indptr, indices), X.shape[1])
    if form == 3:
        raise ValueError("X is not a sound CSR matrix: its indptr does not fit its indices and data.")
    if form == 2:
        raise ValueError(f"X is not a sound CSR matrix: it holds a column index outside 0..{X.shape[1] - 1}.")
    if form == 1:
        X = X.copy()
        X.has_canonical_format = False
        X.sum_duplicates()
        indptr, indices, data = X.indptr, X.indices, X.data
    return (*_unsigned(indptr, indices), readable(np.ascontiguousarray(data)))


def _unsigned(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    return tuple(readable(np.ascontiguousarray(a)).view(f"u{a.dtype.itemsize}") for a in arrays)


def number_of_rows(rows: Rows) -> int:
    return int(rows[0].shape[0]) - (len(rows) == 3)


def rows_of(X: Any) -> Rows:
    return csr_rows(X) if is_sparse(X) else dense_rows(X)


def part(rows: Rows, start: int, stop: int) -> Rows:
    """Rows start..stop, without a copy."""
    return (rows[0][start:stop],) if len(rows) == 1 else (rows[0][start : stop + 1], *rows[1:])


@kernel
def first_bad_row(rows):
    """The first row that no pass takes, or −1."""
    for i in range(count(rows)):
        if not square(rows, i) <= SURELY_TAKEN:
            return i
    return -1


def bad_row_message(rows: Rows, row: int, names: NDArray[Any] | None = None) -> str:
    """What is wrong with a row that no pass takes, and what to do."""
    if len(rows) == 1:
        x, columns = rows[0][row], np.arange(rows[0].shape[1])
    else:
        here = slice(int(rows[0][row]), int(rows[0][row + 1]))
        x, columns = rows[2][here], rows[1][here]
    finite = np.isfinite(x)
    if finite.all():
        return (
            f"Row {row} of X has a norm above {LARGEST_ROW**0.5:.0e}, too large to square and sum. "
            "Scale the features, for example with sklearn.preprocessing.StandardScaler."
        )
    place = int(np.argmin(finite))
    what = "NaN" if np.isnan(x[place]) else "infinity"
    column = int(columns[place])
    name = f" ({names[column]!r})" if names is not None else ""
    return (
        f"X contains {what} in row {row}, column {column}{name}. "
        "Drop such rows or fill them in, for example with sklearn.impute.SimpleImputer."
    )
