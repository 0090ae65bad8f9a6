"""The batch solutions that one pass is to reach.

Knows scikit-learn and `pater.estimators.ter`; knows no protocol.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from pater.estimators.ter import TERClassifier

from .learners import LINES


def batch_verdicts(
    X_train: NDArray[np.float64], codes: NDArray[np.int64], X_test: NDArray[np.float64]
) -> dict[str, NDArray[np.bool_]]:
    """What each batch solution says of the test rows: are they positive?"""
    return {
        name: np.asarray(made.fit(X_train, codes).decision_function(X_test) >= 0)
        for name, made in zip(LINES, _solvers(), strict=True)
    }


def _solvers() -> tuple[Any, ...]:
    """In the order of `LINES`. Newton's steps end at the minimum, so that no step limit has a part in the result."""
    return (
        LogisticRegression(solver="newton-cholesky"),
        LogisticRegression(solver="newton-cholesky", class_weight="balanced"),
        LinearDiscriminantAnalysis(),
        TERClassifier(),
    )


@contextmanager
def collinear_columns_are_no_news() -> Iterator[None]:
    """Some sets have constant or collinear columns; LDA then takes the pseudo-inverse, and would say so every time.

    To be entered where no other thread is at work: Python has one list of such filters for all of them.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Variables are collinear", UserWarning)
        yield
