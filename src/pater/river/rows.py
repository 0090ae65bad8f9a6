"""From dicts and frames to sparse rows: a name is a column, in the order in which names turn up.

Knows River's way to frames, and SciPy; knows no learner.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, into_series, to_numpy
from scipy.sparse import csr_array

from ..models.labels import as_labels

ENCODE = (
    "Put River's preprocessing.OneHotEncoder before the learner, or learn from whole tables with "
    "pater.preprocessing.TableEncoder."
)
FILL_IN = "Leave the feature out, which counts as 0, or fill it in with River's preprocessing.StatImputer."


class Columns(dict[Hashable, int]):
    """The column of each name."""

    @contextmanager
    def with_more(self, names: Iterable[Hashable]) -> Iterator[None]:
        """Give columns to those names that have none; after an error in the block they have none again."""
        new = [name for name in names if name not in self]
        for name in new:
            self[name] = len(self)
        try:
            yield
        except BaseException:
            for name in new:
                del self[name]
            raise


def numbers_of(x: Any) -> dict[Hashable, float]:
    """The features of a row, each a finite number; an error names the first that is none."""
    if not hasattr(x, "items"):
        raise TypeError(f"x must be a dict of features and numbers, got {x!r}.")
    return {name: _number(name, value) for name, value in x.items()}


def _number(name: Hashable, value: Any) -> float:
    if value is None:
        raise ValueError(f"feature {name!r} is None. {FILL_IN}")
    try:
        if isinstance(value, str | bytes | bytearray):  # which float() would read
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"feature {name!r} is {value!r}, which is no number. {ENCODE}") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"feature {name!r} is {'NaN' if math.isnan(number) else 'infinite'}. {FILL_IN}")
    return number


def matrix_of_dict(x: dict[Hashable, float], columns: Columns, width: int) -> csr_array:
    """A matrix of one row, of the features that have columns."""
    pairs = sorted((columns[name], value) for name, value in x.items() if name in columns)
    places = np.array([place for place, _ in pairs], np.int32)
    values = np.array([value for _, value in pairs], np.float64)
    return csr_array((values, places, np.array([0, places.size], np.int32)), shape=(1, width))


class Frame:
    """A frame of pandas, polars or another library that River takes."""

    def __init__(self, X: Any) -> None:
        self.frame = into_frame(X)
        self.names: list[Hashable] = list(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    def matrix(self, columns: Columns, width: int) -> csr_array:
        """The rows, of the features that have columns. Of sparse columns, what is 0 is left out."""
        known = [place for place, name in enumerate(self.names) if name in columns]
        places = np.array([columns[self.names[place]] for place in known], np.int64)
        order = np.argsort(places)
        native = self.frame.to_native()
        if known and self.frame.implementation.is_pandas_like() and _is_sparse(native):
            coo = native.iloc[:, known].sparse.to_coo()
            numbers = coo.astype(np.float64)
            matrix = csr_array((numbers.data, (coo.row, places[coo.col])), shape=(len(self), width))
            matrix.sort_indices()
            self._check(matrix.data, lambda k: self._entry_of(matrix, places, known, k))
            return matrix
        values = np.ascontiguousarray(self._numbers()[:, np.array(known, np.int64)[order]])
        self._check(values.ravel(), lambda k: (k // len(known), self.names[known[int(order[k % len(known)])]]))
        n_rows, n_known = len(self), len(known)
        kind = np.int32 if n_rows * n_known < 1 << 31 else np.int64
        starts = np.arange(n_rows + 1, dtype=kind) * n_known
        indices = np.tile(places[order].astype(kind), n_rows)
        return csr_array((values.ravel(), indices, starts), shape=(n_rows, width))

    def _numbers(self) -> NDArray[np.float64]:
        try:
            for name in self.names:
                kind = self.frame[name].dtype
                if not (kind.is_numeric() or str(kind) in ("Boolean", "Object", "Unknown")):
                    raise TypeError
            numbers: NDArray[np.float64] = to_numpy(self.frame)
            return numbers
        except (TypeError, ValueError):
            for row, values in enumerate(self.frame.iter_rows()):
                for name, value in zip(self.names, values, strict=True):
                    try:
                        _number(name, value)
                    except (TypeError, ValueError) as error:
                        raise type(error)(f"row {row}: {error}") from None
            raise

    def _entry_of(self, matrix: Any, places: NDArray[np.int64], known: list[int], k: int) -> tuple[int, Hashable]:
        column = known[int(np.flatnonzero(places == matrix.indices[k])[0])]
        return int(np.searchsorted(matrix.indptr, k, side="right")) - 1, self.names[column]

    def _check(self, values: NDArray[np.float64], entry: Any) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            k = int(np.argmin(finite))
            row, name = entry(k)
            what = "NaN" if np.isnan(values[k]) else "infinite"
            raise ValueError(f"row {row}: feature {name!r} is {what}. {FILL_IN}")


def _is_sparse(frame: Any) -> bool:
    return all(hasattr(kind, "fill_value") and kind.fill_value == 0 for kind in frame.dtypes)


def labels_of(y: Any) -> tuple[NDArray[Any], Any]:
    """The labels of a frame's rows, and the name of the series that they came in."""
    try:
        series = into_series(y)
        labels, name = series.to_numpy(), series.name
    except TypeError:  # a list or an array
        labels, name = np.asarray(y, object) if isinstance(y, list | tuple) else np.asarray(y), None
    labels = as_labels(labels)
    return (np.asarray(labels.tolist()) if labels.dtype.kind == "O" else labels), name
