"""Judge each row of a stream before it is learned from.

Knows only `predict` and `partial_fit` of estimators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 10
"""Rows that are judged, then learned from, at a time. An estimator lags this far behind what learns row by row."""


def answers(model: Any, X: NDArray[np.float64], y: NDArray[np.int64], chunk: int = CHUNK) -> NDArray[np.bool_]:
    """Which rows the model calls positive before it learns from them; the first rows count as negative."""
    says = np.zeros(len(y), dtype=bool)
    for start in range(0, len(y), chunk):
        rows = slice(start, start + chunk)
        if start:
            says[rows] = model.predict(X[rows]) == 1
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    return says


def balanced_accuracy(says: NDArray[np.bool_], y: NDArray[np.int64]) -> float:
    """The mean of the rates at which positives and negatives were recognised, in percent."""
    positive = y == 1
    return 50.0 * float(np.mean(says[positive]) + np.mean(~says[~positive]))
