"""The batch solutions that one pass is to reach.

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
    """What each batch solution says of the test rows, positive from 0 on, and the processor's seconds for its fit."""
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
    """In the order of `LINES`, the last of which decides by what the one before has learned.

    Newton's steps end at the minimum, so that no step limit has a part in the result.
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
    """Some sets have constant or collinear columns; LDA then takes the pseudo-inverse, and would say so every time.

    To be entered where no other thread is at work: Python has one list of such filters for all of them.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Variables are collinear", UserWarning)
        yield
