"""The same models with their columns in other places, to merge models that met columns in another order.

Knows `state`, `model`, `batch` and `pool`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.pages import zeros
from ..kernels.state import State, triangle_size
from .batch import BatchModel
from .entrants import entrants
from .model import Model
from .pool import Pool
from .state_operations import resized
from .views import Views


def with_columns_at(learner: Model | Pool, columns: NDArray[np.int64], n_features: int) -> Model | Pool:
    """A copy in which column j moves to `columns[j]` of `n_features`, or is dropped where that is −1.

    Other columns are as if no row had ever had anything there. Predictions stay the same.
    """
    if isinstance(learner, BatchModel):
        return learner.with_columns_at(columns, n_features)
    if not isinstance(learner, Pool):
        return replace(learner.copy(), state=placed(learner.state, columns, n_features))
    views = Views(n_features, learner.views.levels)
    entered = entrants(learner.specs, views, more_may_come=learner.more_may_come)
    staying = [k for k in learner.models if entered.fits[k]]
    if not staying:  # others begin
        result = learner.copy()
        result.resize(n_features)
        return result
    models = {}
    for k in staying:
        level, model = learner.level(k), learner.models[k]
        seen = columns[learner.views.places(level) >= 0]
        to = np.where(seen >= 0, views.places(level)[seen], -1)
        models[k] = replace(model, state=placed(model.state, to, views.width(level)))
    leader = learner.leader if learner.leader in models else staying[0]
    result = replace(learner.copy(), views=views, models=models, leader=leader, _entered=entered)
    result.made = learner.made + learner.since(learner.leader) - result.since(result.leader)
    return result


def placed(state: State, columns: NDArray[np.int64], n_features: int) -> State:
    """The same for a state."""
    if np.array_equal(columns, np.arange(columns.size)):
        return resized(state, n_features)
    result = state.copy()
    result.arrange("split")
    kept = np.flatnonzero(columns >= 0)
    vectors = zeros((*result.vectors.shape[:2], n_features))
    vectors[:, :, columns[kept]] = result.vectors[:, :, kept]
    reached = np.minimum(result.scalars["width"], columns.size + 1)
    second = None
    if result.second is not None:
        second = zeros((state.n_models, triangle_size(state.n_models, n_features)))
        for old, new, width in zip(result.second, second, reached.tolist(), strict=True):
            if width:
                new[:] = _turned(old, width, columns, n_features)
    result.scalars["width"] = np.where(reached > 0, n_features + (result.second is not None), 0)
    if kept.size < columns.size:
        result.scalars["products_known"] = 0  # of class sums that have lost columns
    return replace(result, vectors=vectors, second=second)


def _turned(
    triangle: NDArray[np.float64], width: int, columns: NDArray[np.int64], n_features: int
) -> NDArray[np.float64]:
    """The packed factors of the same Σ in another order of columns, the intercept staying the first."""
    from scipy.linalg import rq  # half a second that only merging needs

    rows, across = np.tril_indices(width)
    root = np.zeros((width, width))
    root[across, rows] = triangle[: rows.size]
    deviations = np.sqrt(np.diag(root).copy())
    np.fill_diagonal(root, 1.0)
    root *= deviations
    places = np.concatenate([[0], columns[: width - 1] + 1])
    there = np.flatnonzero((places > 0) | (np.arange(width) == 0))
    fresh = np.setdiff1d(np.arange(n_features + 1), places[there])
    wide = np.zeros((n_features + 1, width + fresh.size))
    wide[places[there], :width] = root[there]
    wide[fresh, width + np.arange(fresh.size)] = 1.0
    upper = rq(wide, mode="economic")[0]  # Σ = root·rootᵀ without ever being formed
    scale = np.diag(upper).copy()
    upper /= scale
    np.fill_diagonal(upper, scale * scale)
    rows, across = np.tril_indices(n_features + 1)
    return np.asarray(upper[across, rows], np.float64)
