"""Dicts and frames as sparse rows: each name is a column, in the order in which names appear.

Knows River's conversion of frames, and SciPy; knows no learner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
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
        """Give columns to names that have none; after an error in the block, they are taken away again."""
        new = [name for name in names if name not in self]
        for name in new:
            self[name] = len(self)
        try:
            yield
        except BaseException:
            for name in new:
                del self[name]
            raise


def features_of(x: Any) -> Any:
    """The names and values of a row; an error if it is not a dict."""
    if not hasattr(x, "items"):
        raise TypeError(f"x must be a dict of features and numbers, got {x!r}.")
    return x.items()


def numbers_of(features: Iterable[tuple[Hashable, Any]]) -> dict[Hashable, float]:
    """Features with their values as finite numbers; an error names the first that is not one."""
    return {name: _checked_number(name, value) for name, value in features}


def _checked_number(name: Hashable, value: Any) -> float:
    if value is None:
        raise ValueError(f"feature {name!r} is None. {FILL_IN}")
    try:
        if isinstance(value, str | bytes | bytearray):  # float() would accept these
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"feature {name!r} is {value!r}, which is not a number. {ENCODE}") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"feature {name!r} is {'NaN' if math.isnan(number) else 'infinite'}. {FILL_IN}")
    return number


def matrix_of_dict(numbers: dict[Hashable, float], columns: Columns, width: int) -> csr_array:
    """A matrix of one row; all names must have columns."""
    pairs = sorted((columns[name], value) for name, value in numbers.items())
    places = np.array([place for place, _ in pairs], np.int32)
    values = np.array([value for _, value in pairs], np.float64)
    return csr_array((values, places, np.array([0, places.size], np.int32)), shape=(1, width))


class Frame:
    """A frame of pandas, polars or another library that River supports."""

    def __init__(self, X: Any) -> None:
        self.frame = into_frame(X)
        self.names: list[Hashable] = list(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    def matrix(self, columns: Columns, width: int) -> csr_array:
        """The rows, with the features that have columns. Zeros in sparse columns are left out."""
        known = [place for place, name in enumerate(self.names) if name in columns]
        known.sort(key=lambda place: columns[self.names[place]])
        names = [self.names[place] for place in known]
        places = np.array([columns[name] for name in names], np.int64)
        frame, n_rows = self.frame[:, known], len(self.frame)
        if known and frame.implementation.is_pandas_like() and _is_sparse(frame.to_native()):
            coo = frame.to_native().sparse.to_coo()
            matrix = csr_array((coo.data.astype(np.float64), (coo.row, places[coo.col])), shape=(n_rows, width))
            matrix.sort_indices()
            at, entered = np.repeat(np.arange(n_rows), np.diff(matrix.indptr)), matrix.indices
            _check_finite(matrix.data, lambda k: (at[k], names[int(np.searchsorted(places, entered[k]))]))
            return matrix
        values = np.ascontiguousarray(_numbers_in(frame, names)).ravel()
        _check_finite(values, lambda k: (k // len(names), names[k % len(names)]))
        kind: Any = np.int32 if values.size < 1 << 31 else np.int64
        starts = np.arange(n_rows + 1, dtype=kind) * kind(len(names))
        return csr_array((values, np.tile(places.astype(kind), n_rows), starts), shape=(n_rows, width))


def _numbers_in(frame: Any, names: list[Hashable]) -> NDArray[np.float64]:
    """A frame as a matrix; an error names the first value that is not a number."""
    for place, (name, kind) in enumerate(zip(names, frame.schema.dtypes(), strict=True)):
        if kind.is_numeric() or str(kind) == "Boolean":
            continue
        for row, value in enumerate(frame[:, place].to_list()):  # NumPy would accept text that looks like a number
            if value is None:
                continue
            try:
                _checked_number(name, value)
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {row}: {error}") from None
    numbers: NDArray[np.float64] = to_numpy(frame) if names else np.zeros((len(frame), 0))
    return numbers


def _check_finite(values: NDArray[np.float64], entry: Callable[[int], tuple[int, Hashable]]) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        k = int(np.argmin(finite))
        row, name = entry(k)
        raise ValueError(f"row {row}: feature {name!r} is {'NaN' if np.isnan(values[k]) else 'infinite'}. {FILL_IN}")


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
