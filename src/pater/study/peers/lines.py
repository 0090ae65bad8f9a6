"""The batch solutions that one pass should reach.

Knows scikit-learn and `pater.estimators.ter`; knows no protocol.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from pater.estimators.ter import TERClassifier

from .learners import LINES

Floats = NDArray[np.float64]


def batch_solutions(X_train: Floats, codes: NDArray[np.int64], X_test: Floats) -> dict[str, tuple[Floats, float]]:
    """The margins of each batch solution on the test rows, positive from 0 on, and the processor seconds of its fit."""
    found = {}
    for name, made in zip(LINES, _solvers(), strict=False):
        started = time.thread_time()
        made.fit(X_train, codes)
        seconds = time.thread_time() - started
        found[name] = np.asarray(made.decision_function(X_test)), seconds
    trees, seconds = found["HGB"]
    share = np.mean(codes)
    found["HGB at prior"] = trees - np.log(share / (1 - share)), seconds
    return found


def _solvers() -> tuple[Any, ...]:
    """In the order of `LINES`, without the last, which reuses the one before it with another threshold.

    Newton's method ends at the minimum, so that no step limit affects the result.
    """
    return (
        LogisticRegression(solver="newton-cholesky"),
        LogisticRegression(solver="newton-cholesky", class_weight="balanced"),
        LinearDiscriminantAnalysis(),
        TERClassifier(),
        HistGradientBoostingClassifier(random_state=0),
    )


@contextmanager
def collinear_columns_are_no_news() -> Iterator[None]:
    """Silence LDA where columns are constant or collinear; it then uses the pseudo-inverse, and would warn every time.

    Enter this while no other thread is at work: Python has one list of warning filters for all of them.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Variables are collinear", UserWarning)
        yield
