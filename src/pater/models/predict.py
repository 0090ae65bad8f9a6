"""Prediction: the margins of rows, without learning.

Dense rows go through BLAS. Sparse rows meet the lazy form directly, so that predicting one row with a model of a
million features does not compute a million weights first.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import exact_part, filled_in, kernel, straight
from ..kernels.doors import Rows, check_rows, number_of_rows
from ..kernels.margins import by_diagonal_means, by_full_means, by_means, by_points
from ..kernels.progress import probability
from ..kernels.rows import count, dot
from ..kernels.state import State

BLOCK = 4096  # rows of single precision widened at a time


def _fill_in(rows, vectors, scalars, average, margins):
    for k in range(vectors.shape[0]):
        for i in range(count(rows)):
            margins[i, k] = margin(rows, i, vectors[k], scalars[k], average)  # noqa: F821


_by_means, _by_diagonal_means, _by_full_means, _by_points = (
    kernel(filled_in(_fill_in, f"margins_{each.__name__}", margin=each))
    for each in (by_means, by_diagonal_means, by_full_means, by_points)
)


@kernel
def _margins(rows, weights, biases, margins):
    for k in range(weights.shape[0]):
        for i in range(count(rows)):
            wx, _ = dot(rows, i, weights[k])
            margins[i, k] = wx + biases[k]


def probabilities(margins: Any, scalars: NDArray[np.void], n_classes: int, *, average: bool) -> NDArray[np.float64]:
    """Probabilities (rows, classes) from the margins (rows, models) of the models with these scalars."""
    margins = np.ascontiguousarray(margins, dtype=np.float64)
    if margins.ndim != 2 or margins.shape[1] != scalars.size:
        raise ValueError(f"margins must be of shape (rows, {scalars.size}), got {margins.shape}.")
    p = np.empty_like(margins)
    _probabilities(margins, scalars, average, p)
    if n_classes == 1:
        return np.ones_like(p)
    if n_classes > 2:
        return np.asarray(p / p.sum(axis=1, keepdims=True))
    both = np.empty((len(p), 2))
    both[:, 0], both[:, 1] = 1 - p[:, 0], p[:, 0]
    return both


def labels_of(margins: Any, classes: NDArray[Any], threshold: float = 0.0) -> NDArray[Any]:
    """The class predicted by margins (rows, models): of two the second from `threshold` on, of more the largest."""
    margins, wanted = np.asarray(margins), classes.size if classes.size > 2 else 1
    if margins.ndim != 2 or margins.shape[1] != wanted:
        raise ValueError(f"margins must be of shape (rows, {wanted}), got {margins.shape}.")
    if classes.size == 1:
        return np.full(len(margins), classes[0])
    return np.asarray(classes[(margins[:, 0] >= threshold).view(np.int8) if wanted == 1 else margins.argmax(axis=1)])


@exact_part
def _size(m, average):
    """The divisor of one model's margins when they are reported (`kernels.state.sizes`)."""
    if not m.size_square > 0.0:
        return 1.0
    return m.mean_size if average and m.mean_size > 0.0 else math.sqrt(m.size_square)


@kernel
def _tell(margins, scalars, average):
    """Convert margins (rows, models) to the units in which they are reported (`State.units`)."""
    largest = 0
    for k in range(margins.shape[1]):
        if not scalars[k].size_square > 0.0:
            largest = max(largest, scalars[k].exponent)
    for k in range(margins.shape[1]):
        m = scalars[k]
        usual, shift = _size(m, average), 0 if m.size_square > 0.0 else m.exponent
        for i in range(margins.shape[0]):
            margins[i, k] = math.ldexp(margins[i, k] / usual, int(shift - largest))


@kernel
def _probabilities(margins, scalars, average, p):
    """Fill p with the probability of +1 for each reported margin (rows, models)."""
    for k in range(margins.shape[1]):
        m = scalars[k]
        usual = _size(m, average)
        for i in range(margins.shape[0]):
            p[i, k] = probability(m, usual * margins[i, k])


def margins_of(rows: Rows, state: State, *, average: bool) -> NDArray[np.float64]:
    """Margins (rows, models) in the units in which they are reported (`State.units`)."""
    rows = check_rows(rows, state.n_features)
    n_rows = number_of_rows(rows)
    margins = np.empty((n_rows, state.n_models))
    ask = _of_sparse_rows(state) if len(rows) == 3 else None
    if ask is not None:
        ask(rows, state.vectors, state.scalars, average, margins)
        return _as_reported(margins, rows, state, average=average)
    w, bias = state.weights(average=average)
    if len(rows) == 3:
        _margins(rows, w, bias, margins)
        return margins
    for start in range(0, n_rows, BLOCK):
        X = rows[0][start : start + BLOCK]
        np.matmul(X.astype(np.float64, copy=False), w.T, out=margins[start : start + BLOCK])
    margins += bias
    return margins


def _of_sparse_rows(state: State) -> Any:
    """The kernel that predicts sparse rows without computing the weights first, if there is one."""
    if not state.has_means:
        return _by_points
    if state.metric == "full":
        return _by_full_means
    if state.layout == "lanes":
        return _by_diagonal_means if state.metric == "diagonal" else _by_means
    return None


def _as_reported(margins: NDArray[np.float64], rows: Rows, state: State, *, average: bool) -> NDArray[np.float64]:
    """Margins of sparse rows from their kernel, in the units in which they are reported."""
    if not state.has_means:
        return margins
    if not np.isfinite(margins).all():  # the lazy form overflowed where the weights themselves may not
        _margins(rows, *state.own_weights(average=average), margins)
    _tell(margins, state.scalars, average)
    return margins


class RowMargins(NamedTuple):
    """Predictions for one sparse row, to be repeated: functions without further checks, and their arguments.

    `ask` fills in the margins, `tell` converts them to the units in which they are reported, and `judge` fills in the
    probabilities. The row is read from its arrays at each call. All this is valid while the state keeps its arrays.
    """

    ask: Any
    to_ask: tuple[Any, ...]
    tell: Any
    to_tell: tuple[Any, ...]
    judge: Any
    to_judge: tuple[Any, ...]
    margins: NDArray[np.float64]
    p: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, state: State, *, average: bool) -> RowMargins:
        rows, (margins, p) = check_rows(rows, state.n_features), np.zeros((2, 1, state.n_models))
        ask = _of_sparse_rows(state)
        assert ask is not None
        to_ask, to_tell = (rows, state.vectors, state.scalars, average, margins), (margins, state.scalars, average)
        to_judge = (margins, state.scalars, average, p)
        tell, judge = straight(_tell, *to_tell), straight(_probabilities, *to_judge)
        return cls(straight(ask, *to_ask), to_ask, tell, to_tell, judge, to_judge, margins, p)
