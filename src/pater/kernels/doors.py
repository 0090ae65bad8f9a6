"""Checks of everything that is handed to the compiled passes, which trust their arguments.

Shapes, types and lengths are checked in every call, which takes a microsecond. The columns of sparse rows take a scan
and are checked once: rows found sound become `CheckedRows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import kernel
from .memory import COUNTS
from .rules import RULES
from .state import State

Rows = tuple[NDArray[Any], ...]

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

SOUND, OUT_OF_ORDER, OUT_OF_RANGE, NO_ROWS = range(4)  # the form of sparse rows

_DOUBLE, _LONG = np.dtype(np.float64), np.dtype(np.int64)
_INDICES = (np.dtype(np.uint32), np.dtype(np.uint64))

# Fields of the record of a model's settings. Those that only a rule reads are named in the rule.
_READ_BY_PASSES = {"rule", "positive", "alpha_neg", "alpha_pos", "balanced", "sized", "intercept", "average"}
_READ_BY_PASSES |= {"forgetting", "watch", "fading", "discount", "calibrate", "leader"}


_SECOND = np.array([rule.stays_in_ball or rule.fits_labels for rule in RULES.values()])


class CheckedRows(tuple[NDArray[Any], ...]):
    """Sparse rows that were found sound, with all columns below `width`."""

    width: int


def checked(rows: Rows, width: int) -> CheckedRows:
    """Mark rows as sound: those that `check_rows` has seen, or some of them."""
    result = CheckedRows(rows)
    result.width = width
    return result


def check_rows(rows: Rows, n_features: int) -> Rows:
    """The rows as the kernels take them; a ValueError if they do not fit vectors of `n_features` numbers."""
    if type(rows) is CheckedRows:
        if rows.width > n_features:
            raise ValueError(f"the rows have {rows.width} columns, but the model has {n_features}.")
        return tuple(rows)
    if len(rows) == 1:
        X = rows[0]
        flags = X.flags
        if X.ndim != 2 or X.dtype not in FLOATS or not (flags.carray or (flags.c_contiguous and flags.aligned)):
            raise ValueError("dense rows must be a matrix of single or double precision in C order.")
        if X.shape[1] != n_features:
            raise ValueError(f"the rows have {X.shape[1]} columns, but the model has {n_features}.")
        return rows
    if len(rows) != 3:
        raise ValueError(f"rows are one array or three, not {len(rows)}.")
    found = form_of(rows, n_features)
    if found != SOUND:
        raise ValueError(f"the sparse rows are not sound: {WRONG[found].format(last=n_features - 1)}.")
    return tuple(rows)


WRONG = {
    NO_ROWS: "its indptr does not fit its indices and data",
    OUT_OF_RANGE: "it holds a column index outside 0..{last}",
    OUT_OF_ORDER: "it names columns out of order or more than once",
}


def form_of(rows: Rows, width: int) -> int:
    """The form of three arrays as sparse rows of `width` columns."""
    indptr, indices, data = rows
    if not (indptr.ndim == indices.ndim == data.ndim == 1 and indptr.dtype in _INDICES and indices.dtype in _INDICES):
        return NO_ROWS
    if data.dtype not in FLOATS or not all(array.flags.c_contiguous and array.flags.aligned for array in rows):
        return NO_ROWS
    return scanned(indptr, indices, data.size, width)


def scanned(indptr: NDArray[Any], indices: NDArray[Any], size: int, width: int, *, signed: bool = False) -> int:
    """The form of sparse rows of unsigned indices (`signed`: they were signed before). The scan stays in bounds."""
    if not indptr.size or indptr[-1] > min(indices.size, size):
        return NO_ROWS
    last = min(width, 1 << (8 * indices.itemsize - signed)) - 1
    if last < 0:
        return OUT_OF_RANGE if indptr[-1] > indptr[0] else int(form(indptr, indices, indices.dtype.type(0)))
    return int(form(indptr, indices, indices.dtype.type(last)))


@kernel
def form(indptr, indices, last):
    """The form of rows whose indptr ends within `indices`: 0 is sound, with distinct, ascending columns up to `last`; 1
    has columns out of order or repeated; 2 has columns beyond `last`; 3 has an indptr that decreases.
    """
    start, end = indptr[0], indptr[-1]
    at_row_ends = 0
    for i in range(1, indptr.size):
        k = indptr[i]
        if k < indptr[i - 1] or k > end:
            return 3
        if k < end and indptr[i - 1] < k:
            at_row_ends += indices[k] <= indices[k - 1]
    if start == end:
        return 0
    descents = 0
    outside = 0
    for k in range(start + 1, end):
        descents += indices[k] <= indices[k - 1]
        outside += indices[k] > last
    if outside > 0 or indices[start] > last:
        return 2
    return 1 if descents != at_row_ends else 0


def number_of_rows(rows: Rows) -> int:
    return int(rows[0].shape[0]) - (len(rows) == 3)


def check_lengths(rows: Rows, labels: NDArray[Any], weights: NDArray[np.float64]) -> None:
    """Check that there is one label for each row, and one importance for each row or none at all."""
    n_rows = number_of_rows(rows)
    if labels.shape != (n_rows,):
        raise ValueError(f"there are {n_rows} rows, but labels of shape {labels.shape}: one is needed for each row.")
    if weights.size and weights.shape != (n_rows,):
        raise ValueError(f"there are {n_rows} rows, but weights of shape {weights.shape}: one is needed for each row.")


def check_codes(codes: NDArray[np.int64], weights: NDArray[np.float64], n_rows: int) -> None:
    """Check that the kernels can take the codes of `n_rows` rows, and their importances, if there are any."""
    if codes.shape != (n_rows,) or codes.dtype != _LONG or not codes.flags.c_contiguous:
        raise ValueError(_unfit("codes", codes, (n_rows,), _LONG))
    if weights.size and (weights.shape != (n_rows,) or weights.dtype != _DOUBLE or not weights.flags.c_contiguous):
        raise ValueError(_unfit("weights", weights, (n_rows,), _DOUBLE))


def are_second(state: State, settings: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which models need the second of the two passes of their family: leaders, and point rules that stay in the ball or
    fit labels.
    """
    found: NDArray[np.bool_] = settings["leader"] > 0 if state.has_means else _SECOND[settings["rule"]]
    return found


def check_pass(
    rows: Rows,
    codes: NDArray[np.int64],
    state: State,
    settings: NDArray[np.void],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    margins: NDArray[np.float64] | None,
    stops: Sequence[int],
    counts: NDArray[np.float64] | None,
) -> Rows:
    """The rows as the kernels take them; a ValueError if the arguments of a pass do not fit together."""
    rows = check_rows(rows, state.n_features)
    n_rows, n_models = number_of_rows(rows), state.n_models
    check_codes(codes, weights, n_rows)
    if settings.shape != (n_models,):
        raise ValueError(f"there are settings for {settings.size} models, but the state is of {n_models}.")
    if not _READ_BY_PASSES.issubset(settings.dtype.names or ()):
        raise ValueError(f"settings must be records with the fields {', '.join(sorted(_READ_BY_PASSES))}.")
    if n_models > 1 and state.metric != "none":
        second = are_second(state, settings)
        if second.any() != second.all():
            raise ValueError(
                "settings of leaders and of steps, or of rules that fit labels and of others, are in one pass."
            )
    n_steps = n_rows
    if order.size:
        n_steps = order.size
        if order.shape != (n_steps,) or order.dtype != _LONG or not order.flags.c_contiguous:
            raise ValueError(_unfit("order", order, (n_steps,), _LONG))
        if order.min() < 0 or order.max() >= n_rows:
            raise ValueError(f"order names rows outside 0..{n_rows - 1}.")
    if margins is not None:
        wanted = (n_models, n_steps)
        if margins.shape != wanted or margins.dtype != _DOUBLE or not margins.flags.carray:
            raise ValueError(_unfit("margins", margins, wanted, _DOUBLE))
    if stops:
        if list(stops) != sorted(stops) or stops[0] < 0 or stops[-1] > n_steps:
            raise ValueError(f"stops must ascend from 0 to at most {n_steps}, got {list(stops)}.")
        if counts is not None and counts.shape != (len(stops), n_models, len(COUNTS)):
            raise ValueError(_unfit("counts", counts, (len(stops), n_models, len(COUNTS)), _DOUBLE))
    return rows


def _unfit(name: str, array: NDArray[Any], shape: tuple[int, ...], kind: np.dtype[Any]) -> str:
    return f"{name} must be {kind} of shape {shape}, one piece in memory, got {array.dtype} of shape {array.shape}."
