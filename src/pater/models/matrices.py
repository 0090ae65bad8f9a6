"""From a caller's matrix to rows that a pass can read, without a copy where the form allows it.

Knows NumPy and Numba, `doors`, and what SciPy's matrices are made of; knows no estimator. A sparse matrix is first put
in order: native numbers, ascending columns. Then it is checked, and exactly what was checked is passed on. The caller's
matrix is not changed.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import kernel
from ..kernels.doors import (
    FLOATS,
    NO_ROWS,
    OUT_OF_ORDER,
    SOUND,
    WRONG,
    CheckedRows,
    Rows,
    checked,
    number_of_rows,
    scanned,
)
from ..kernels.rows import count, square
from ..kernels.rules import LARGEST_ROW

__all__ = ["FLOATS", "bad_row_message", "csr_rows", "first_bad_row", "number_of_rows", "part", "rows_of"]

SURELY_TAKEN = LARGEST_ROW * (1.0 - 1e-6)  # a pass may sum ‖x‖² in another order


class _Alias:
    """The memory of a read-only array, as a writeable one: the kernels are compiled only for that kind."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.base = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


def readable(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.flags.writeable else np.asarray(_Alias(array))


def is_plain(X: Any) -> bool:
    """Whether this is a dense matrix that the kernels read as it is."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOATS:
        return False
    return X.flags.c_contiguous and X.flags.aligned


def is_sparse(X: Any) -> bool:
    """Whether this is a SciPy matrix; `scipy.sparse` is not imported, since without it there is none."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_plain_csr(X: Any) -> bool:
    """Whether these are sparse rows that need no conversion."""
    return is_sparse(X) and X.format == "csr" and X.ndim == 2 and X.dtype in FLOATS


def dense_rows(X: NDArray[Any]) -> Rows:
    if not is_plain(X):
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix of two dimensions, got an array of shape {X.shape}.")
        X = np.require(np.asarray(X), X.dtype if X.dtype in FLOATS else np.float64, ("C", "A"))
    return (readable(X),)


def csr_rows(X: Any) -> CheckedRows:
    """A SciPy sparse matrix or array as CSR rows; unsorted and repeated columns are put right first."""
    if X.format != "csr" or X.ndim != 2:
        X = _to_csr(X)
    n_rows, width = X.shape
    indptr, indices, signed = _native(X.indptr, X.indices)
    data = _numbers(X.data)
    if _sound_form("CSR", indptr, indices, data, n_rows, width, signed) == OUT_OF_ORDER:
        from scipy.sparse import csr_array

        ordered = csr_array((data, *_signed(indices, indptr)), shape=(n_rows, width), copy=True)
        ordered.has_canonical_format = False
        ordered.sum_duplicates()
        indptr, indices, signed = _native(ordered.indptr, ordered.indices)
        data = _numbers(ordered.data)
        if _sound_form("CSR", indptr, indices, data, n_rows, width, signed) != SOUND:
            raise ValueError("the columns of X cannot be sorted.")
    return checked((indptr, indices, data), width)


def _sound_form(
    name: str, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], n_rows: int, width: int, signed: bool
) -> int:
    """The form of compressed rows, which may be out of order; a ValueError if they are not valid."""
    found = NO_ROWS
    numbers = data.ndim == (3 if name == "BSR" else 1) and len(data) == len(indices)
    if numbers and indptr.size == n_rows + 1 and indptr[0] == 0:
        found = scanned(indptr, indices, len(data), width, signed=signed)
    if found > OUT_OF_ORDER:
        raise ValueError(f"X is not a sound {name} matrix: {WRONG[found].format(last=width - 1)}.")
    return found


def _native(indptr: Any, indices: Any) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Integers as unsigned ones, both of 4 bytes or both of 8; and whether the indices were signed.

    Negative ones become too large.
    """
    if type(indptr) is not np.ndarray or type(indices) is not np.ndarray or not _alike(indptr, indices):
        arrays = [np.asarray(indptr), np.asarray(indices)]
        for array in arrays:
            if array.dtype.kind not in "iu" or array.ndim != 1:
                what = f"{array.dtype} of {array.ndim} dimensions"
                raise ValueError(f"X is not a sound sparse matrix: its indices are {what}.")
        size = max(4, *(array.itemsize for array in arrays))
        indptr, indices = (np.require(array, f"{array.dtype.kind}{size}", ("C", "A")) for array in arrays)
    kind = _UNSIGNED[indices.itemsize]
    return readable(indptr).view(kind), readable(indices).view(kind), indices.dtype.kind == "i"


_UNSIGNED: dict[int, np.dtype[Any]] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
_INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


def _alike(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether these are as SciPy makes them, so that nothing need be converted."""
    if indptr.ndim != 1 or indices.ndim != 1 or indptr.dtype != indices.dtype or indices.dtype not in _INDEX_TYPES:
        return False
    a, b = indptr.flags, indices.flags
    return a.c_contiguous and a.aligned and b.c_contiguous and b.aligned


def _signed(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Indices as SciPy needs them, after they were found to be small enough."""
    small = all(array.itemsize < 8 for array in arrays) and all(array.max(initial=0) < 1 << 31 for array in arrays)
    return tuple(array.view(np.int32) if small else array.astype(np.int64) for array in arrays)


def _numbers(data: Any) -> NDArray[Any]:
    """The numbers of a sparse matrix: in single precision if they are so already, else in double."""
    if type(data) is np.ndarray and data.dtype in FLOATS and data.flags.carray:
        return data
    data = np.asarray(data)
    if data.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers.")
    if data.dtype.kind not in "fiubO":
        raise ValueError(f"X must hold numbers, not {data.dtype}.")
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is found as such
            return readable(np.require(data, data.dtype if data.dtype in FLOATS else np.float64, ("C", "A")))
    except (TypeError, ValueError) as error:
        raise type(error)(f"X must hold numbers: {error}.") from None


def _to_csr(X: Any) -> Any:
    """A sparse matrix of another format as CSR. SciPy does not check such a matrix, so it is checked first."""
    from scipy.sparse import bsr_array, coo_array, csc_array

    if X.ndim != 2:
        raise ValueError(f"X must be a matrix of two dimensions, got a sparse array of shape {X.shape}.")
    n_rows, n_columns = shape = X.shape
    if X.format in ("csc", "bsr"):
        indptr, indices, signed = _native(X.indptr, X.indices)
        data = _numbers(X.data)
        if X.format == "csc":
            _sound_form("CSC", indptr, indices, data, n_columns, n_rows, signed)
            return csc_array((data, *_signed(indices, indptr)), shape=shape).tocsr()
        high, wide = data.shape[1:] if data.ndim == 3 else (0, 0)
        if high * wide == 0 or n_rows % high or n_columns % wide:
            raise ValueError(f"X is not a sound BSR matrix: blocks of shape {data.shape} do not fill {shape}.")
        _sound_form("BSR", indptr, indices, data, n_rows // high, n_columns // wide, signed)
        return bsr_array((data, *_signed(indices, indptr)), shape=shape).tocsr()
    if X.format == "dia" and X.data.shape[:1] != (np.unique(X.offsets).size,):
        raise ValueError("X is not a sound DIA matrix: its offsets do not fit its data.")
    if X.format == "lil" and [*map(len, X.rows)] != [*map(len, X.data)]:
        raise ValueError("X is not a sound LIL matrix: its rows do not fit its data.")
    try:
        X = X.tocoo()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(f"X is not a sound {X.format.upper()} matrix: {error}.") from None
    data = _numbers(X.data)
    places = [np.require(np.asarray(array), np.int64, ("C", "A")) for array in (X.row, X.col)]
    for array, size in zip(places, shape, strict=True):
        if array.shape != data.shape or (array.size and (array.min() < 0 or array.max() >= size)):
            raise ValueError(f"X is not a sound sparse matrix: it holds an index outside 0..{size - 1}.")
    kind = np.int32 if max(data.size, *shape) < 1 << 31 else np.int64
    return coo_array((data, tuple(array.astype(kind, copy=False) for array in places)), shape=shape).tocsr()


def rows_of(X: Any) -> Rows:
    return csr_rows(X) if is_sparse(X) else dense_rows(X)


def matrix_of(rows: Rows, n_features: int) -> Any:
    """Sound rows as a NumPy array, or as a SciPy CSR array."""
    if len(rows) == 1:
        return rows[0]
    from scipy.sparse import csr_array

    indptr, indices, data = rows
    signed = (a.view(f"i{a.dtype.itemsize}") for a in (indices, indptr))
    return csr_array((data, *signed), shape=(indptr.size - 1, n_features))


def part(rows: Rows, start: int, stop: int) -> Rows:
    """Rows start..stop, without a copy."""
    if len(rows) == 1:
        return (rows[0][start:stop],)
    some = (rows[0][start : stop + 1], *rows[1:])
    return checked(some, rows.width) if isinstance(rows, CheckedRows) else some


def without_columns_from(width: int, rows: Rows) -> Rows:
    """Sparse rows without the columns after the first `width`."""
    indptr, indices, data = rows
    known = indices < width
    starts = np.concatenate([[0], np.cumsum(known)])
    return checked((starts[indptr].astype(np.uint32), indices[known], data[known]), width)


def first_bad_row(rows: Rows) -> int:
    """The first row that no pass accepts, or −1."""
    return int(_first_bad_row(tuple(rows)))


@kernel
def _first_bad_row(rows):
    """The first row that no pass accepts, or −1."""
    for i in range(count(rows)):
        if not square(rows, i) <= SURELY_TAKEN:
            return i
    return -1


STATE_NOT_FINITE = (
    "The weights of the model are not finite, or too large to be multiplied by row {row} of X, whose own numbers are "
    "sound. Fit again, with features and importances that are less far apart in size."
)


def row_is_bad(rows: Rows, row: int) -> bool:
    """Whether the row itself is one that no pass accepts."""
    return first_bad_row(part(rows, row, row + 1)) >= 0


def bad_row_message(rows: Rows, row: int, names: NDArray[Any] | None = None) -> str:
    """What is wrong with a row that no pass accepts, and what to do."""
    if len(rows) == 1:
        x, columns = rows[0][row], np.arange(rows[0].shape[1])
    else:
        here = slice(int(rows[0][row]), int(rows[0][row + 1]))
        x, columns = rows[2][here], rows[1][here]
    finite = np.isfinite(x)
    if finite.all() and not row_is_bad(rows, row):
        return STATE_NOT_FINITE.format(row=row)
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


def taken(rows: Rows, keep: NDArray[np.bool_]) -> Rows:
    """The rows that are kept, copied."""
    if len(rows) == 1:
        return (np.ascontiguousarray(rows[0][keep]),)
    indptr, indices, data = rows
    sizes: NDArray[Any] = np.diff(indptr.astype(np.int64))
    kept = np.repeat(keep, sizes)
    starts = np.zeros(int(keep.sum()) + 1, np.int64)
    np.cumsum(sizes[keep], out=starts[1:])
    first = int(indptr[0])  # not 0 in a part of other rows
    there = slice(first, first + kept.size)
    some = starts.astype(indptr.dtype), indices[there][kept], data[there][kept]
    return checked(some, rows.width) if isinstance(rows, CheckedRows) else some


def that_weigh(
    rows: Rows, labels: NDArray[Any], weights: NDArray[np.float64]
) -> tuple[Rows, NDArray[Any], NDArray[np.float64]]:
    """The rows without those of weight 0, which are ignored."""
    if weights.all():
        return rows, labels, weights
    keep = weights != 0
    return taken(rows, keep), labels[keep], weights[keep]
