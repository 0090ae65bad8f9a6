"""What the estimators accept: rows, labels and weights in any form that scikit-learn takes, checked once.

Knows scikit-learn, `matrices`, `labels` and `row_weights`. An array that is already in the form of the kernels passes
without a copy and in a few microseconds; everything else goes through scikit-learn's own validation. The kernels check
whether numbers are finite as they read them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from ..kernels.run import NOTHING, Rows
from ..models.labels import as_labels
from ..models.masks import check_unmasked
from ..models.matrices import (
    FLOATS,
    csr_rows,
    is_plain,
    is_plain_csr,
    is_sparse,
    matrix_of,
    number_of_rows,
    readable,
    rows_of,
)
from ..models.row_weights import check_weights
from ..preprocessing.tables import NOT_COLLECTED

ENCODE = "Encode text, categories and dates first: pater.preprocessing.TableEncoder takes columns as they are."


def take_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """The rows of X; sets the estimator's `n_features_in_` and `feature_names_in_`, or checks X against them."""
    known = vars(estimator)
    ready = type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.flags.carray
    if not ready:
        check_unmasked(X, "X")
    if reset:
        if ready and X.size:
            known.pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
            return (X,)
    elif (
        "feature_names_in_" not in known
        and (ready or is_plain(X) or is_plain_csr(X))
        and X.shape[1] == known["n_features_in_"]
        and X.shape[0] > 0
    ):
        return (X,) if ready else rows_of(X)
    _check_two_dimensional(X)
    rows = None
    if is_sparse(X):  # scikit-learn and SciPy trust what a matrix holds, so they get what was checked
        rows = csr_rows(X)
        X = matrix_of(rows, rows.width)
    if type(X).__name__ == "LazyFrame":
        raise TypeError(NOT_COLLECTED)
    dates = _first_of_dates(X)
    if dates is not None:
        raise TypeError(f"X must hold numbers, not dates in column {_called(X, dates)}. {ENCODE}")
    try:
        X = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=list(FLOATS), order="C", ensure_all_finite=False
        )
    except (ValueError, TypeError) as error:
        place = None if np.iscomplexobj(X) else _first_non_number(X)
        if place is None:
            raise
        row, column, value = place
        where = f"row {row}, column {_called(X, column)}"
        why = str(error).partition(". ")[0].removesuffix(".")
        raise type(error)(f"X must hold numbers, not {value!r} in {where}: {why}. {ENCODE}") from None
    return rows_of(X) if rows is None else rows


def _check_two_dimensional(X: Any) -> None:
    """Raise an error for one column or row of a pandas frame."""
    if hasattr(X, "iloc") and X.ndim == 1:
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame: of one column, "
            "df[['name']] instead of df['name']; of one row, df.iloc[[0]] instead of df.iloc[0], or row.to_frame().T."
        )


def _called(X: Any, column: int) -> str:
    """The number of a column, and its name if it has one."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # of pyarrow; of pandas and polars
    return str(column) if names is None else f"{column} ({names[column]!r})"


def _first_of_dates(X: Any) -> int | None:
    """The first column of dates or spans of time, which NumPy would take for numbers."""
    if isinstance(X, np.ndarray):
        return 0 if X.dtype.kind in "Mm" else None
    kinds = list(getattr(X, "dtypes", getattr(getattr(X, "schema", None), "types", ())))
    return next((column for column, kind in enumerate(kinds) if _is_temporal(kind)), None)


def _is_temporal(kind: Any) -> bool:
    """Whether this is the type of dates or spans of time in a frame of pandas, polars or Arrow."""
    if hasattr(kind, "is_temporal"):
        return bool(kind.is_temporal())
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(kind, arrow.DataType):
        return bool(arrow.types.is_temporal(kind))
    return getattr(kind, "kind", "") in ("M", "m")


def _first_non_number(X: Any) -> tuple[int, int, Any] | None:
    """Row, column and value of the first entry that is not a number, if there is one."""
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:
        return None
    if is_sparse(X) or table.ndim != 2:
        return None
    for row, values in enumerate(table):
        for column, value in enumerate(values):
            try:
                float(value)
            except (ValueError, TypeError):
                return row, column, value
    return None


def one_column(y: Any) -> Any:
    """Labels in one column, with a warning if they were a matrix of one; pandas' nullable types become NumPy's."""
    if type(y) is np.ndarray and y.ndim == 1:
        return y
    if y is None:
        raise ValueError("y is None: a classifier requires y to be passed, but the target y is None.")
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)  # of pandas' Int64, Float64 and boolean
    if getattr(kind, "kind", "") in ("i", "u", "f", "b") and not y.isna().any():
        return y.to_numpy(kind)  # scikit-learn would turn them into floats
    check_unmasked(y, "y")
    return column_or_1d(y, warn=True)


def check_labels(y: Any, rows: Rows) -> NDArray[Any]:
    """Check that there is one label per row."""
    labels = as_labels(one_column(y))
    n_rows = number_of_rows(rows)
    if labels.size != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y {labels.size} labels."
        )
    return labels


def check_sample_weight(sample_weight: Any, rows: Rows) -> NDArray[np.float64]:
    """Check that there is one finite, non-negative weight per row; no weights at all mean that each is 1."""
    if sample_weight is None:
        return NOTHING
    check_unmasked(sample_weight, "sample_weight")
    return readable(check_weights(sample_weight, number_of_rows(rows), "sample_weight"))


def not_all_zero(weights: NDArray[np.float64]) -> None:
    if weights.size and not weights.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from.")
