"""Columns in other places: the same predictions, and the same learning afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pater import AROWClassifier, AutoPATERClassifier, PassiveAggressiveClassifier, PATERClassifier
from pater import SecondOrderPATERClassifier as SecondOrder
from pater.estimators.growth import with_columns_moved

LEARNERS = [
    PATERClassifier("I"),
    PATERClassifier("II", average=True),
    PassiveAggressiveClassifier(),
    SecondOrder(),
    SecondOrder(forgetting=0.99),
    SecondOrder(form="step"),
    SecondOrder(covariance="diagonal"),
    AROWClassifier(),
    AROWClassifier(covariance="diagonal"),
    AutoPATERClassifier(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_moved_columns_say_and_learn_the_same(learner: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6))
    y = (X @ rng.standard_normal(6) + rng.standard_normal(300) > 1).astype(int)
    columns = np.array([3, 0, 7, 1, 6, 4])
    moved = np.zeros((300, 9))
    moved[:, columns] = X
    model = clone(learner).partial_fit(X[:200], y[:200])
    other = with_columns_moved(model, columns, 9)
    np.testing.assert_allclose(other.decision_function(moved), model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert (other.coef_[:, [2, 5, 8]] == 0).all()
    model.partial_fit(X[200:], y[200:])
    other.partial_fit(moved[200:], y[200:])
    np.testing.assert_allclose(other.decision_function(moved), model.decision_function(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_column_that_is_left_out_says_nothing(learner: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4))
    y = (X[:, 0] - X[:, 2] > 0.5).astype(int)
    model = clone(learner).partial_fit(X, y)
    other = with_columns_moved(model, np.array([2, -1, 0, 1]), 3)
    rest = X.copy()
    rest[:, 1] = 0.0
    np.testing.assert_allclose(other.decision_function(X[:, [2, 3, 0]]), model.decision_function(rest), rtol=1e-9)
    assert np.isfinite(other.partial_fit(X[:, [2, 3, 0]], y).coef_).all()
