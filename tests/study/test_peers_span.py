"""In the span of the training rows, a learner with a full covariance gives the same as in all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import LogisticRegression

from pater import TERClassifier
from pater.models.search import Grid
from pater.models.spec import Spec
from pater.study.peers.gradient import Descent, descend
from pater.study.peers.learners import LEARNERS, is_full
from pater.study.peers.span import in_own_span

FULL = list(dict.fromkeys(spec for learner in LEARNERS for spec in learner.specs if is_full(spec)))


def _wide(n: int = 40, d: int = 90) -> tuple[csr_array, csr_array, np.ndarray]:
    """Sparse rows with more columns than rows, and their classes, one of which is rare."""
    generator = np.random.default_rng(5)
    X = csr_array(np.asarray(random_array((2 * n, d), density=0.2, rng=generator).toarray()))
    codes = (X.toarray() @ generator.standard_normal(d) > 0.3).astype(np.int64)
    return X[:n], X[n:], codes[:n]


def _name(spec: Spec | Descent) -> str:
    if isinstance(spec, Descent):
        return f"{spec.loss} {spec.rate:g} {spec.gamma:g}"
    return f"{spec.rule} {spec.form} {spec.r:g} {spec.class_weight}"


def _margins(spec: Spec | Descent, X_train: Any, X_test: Any, codes: np.ndarray) -> np.ndarray:
    if isinstance(spec, Descent):
        learned = descend(spec, X_train, codes == 1)
        return np.asarray(X_test @ learned.w + learned.bias)
    grid = Grid([spec])
    grid.start(np.array([0, 1]), X_train.shape[1], fixed=True)
    grid.learn(X_train, codes)
    w, bias = grid.models[0].state.own_weights(average=spec.average)
    return np.asarray(X_test @ w[0] + bias[0])


def test_the_span_keeps_every_inner_product() -> None:
    train, test, _ = _wide()
    inside, beside = in_own_span(train, test)
    assert inside.shape == (40, 40)
    assert np.triu(inside, 1).max() == 0
    np.testing.assert_allclose(inside @ inside.T, (train @ train.T).toarray(), atol=1e-12)
    np.testing.assert_allclose(beside @ inside.T, (test @ train.T).toarray(), atol=1e-12)


def test_rows_that_depend_on_others_take_no_column() -> None:
    train, test, _ = _wide()
    again = csr_array(np.vstack([train.toarray(), train.toarray()[3:6], np.zeros((1, train.shape[1]))]))
    inside, beside = in_own_span(again, test)
    assert inside.shape == (44, 40)
    np.testing.assert_allclose(inside @ inside.T, (again @ again.T).toarray(), atol=1e-12)
    np.testing.assert_allclose(beside @ inside.T, (test @ again.T).toarray(), atol=1e-12)


@pytest.mark.parametrize("spec", FULL, ids=_name)
def test_a_full_covariance_cannot_tell(spec: Spec | Descent) -> None:
    train, test, codes = _wide()
    inside, beside = in_own_span(train, test)
    expected = _margins(spec, train, test, codes)
    assert np.ptp(expected) > 0
    np.testing.assert_allclose(
        _margins(spec, csr_array(inside), beside, codes), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max()
    )


def test_a_diagonal_one_can() -> None:
    train, test, codes = _wide()
    inside, beside = in_own_span(train, test)
    spec = Spec("arow", covariance="diagonal")
    assert np.abs(_margins(spec, inside, beside, codes) - _margins(spec, train, test, codes)).max() > 0.01


@pytest.mark.parametrize(
    "model", [LogisticRegression(solver="newton-cholesky", tol=1e-8), TERClassifier()], ids=lambda m: type(m).__name__
)
def test_nor_can_a_penalty_on_the_norm(model: Any) -> None:
    train, test, codes = _wide()
    inside, beside = in_own_span(train, test)
    expected = model.fit(train.toarray(), codes).decision_function(test.toarray())
    np.testing.assert_allclose(model.fit(inside, codes).decision_function(beside), expected, rtol=1e-6, atol=1e-8)
