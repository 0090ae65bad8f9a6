"""The batch solution: eq. 9 where it can be solved, the shortest solution where there are many."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from pater import TERClassifier
from pater.reference import first_order as reference


def noisy(n, d, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.2, 1, -1)
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


def balanced_weights(y, alpha=(1.0, 1.0)):
    return np.where(y > 0, alpha[1] / (y > 0).sum(), alpha[0] / (y < 0).sum())


@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.1, 1.0), (1.0, 0.3)])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_equation_9(alpha, make):
    """The intercept is a constant feature 1 there, and is found by centring here: the same without a ridge."""
    X, y = noisy(400, 6)
    model = TERClassifier(class_weight={-1: alpha[0], 1: alpha[1]}).fit(make(X), y)
    exact = reference.ter(np.hstack([X, np.ones((400, 1))]), y, alpha=alpha)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), exact, rtol=1e-8)
    without = TERClassifier(class_weight={-1: alpha[0], 1: alpha[1]}, fit_intercept=False).fit(make(X), y)
    np.testing.assert_allclose(without.coef_[0], reference.ter(X, y, alpha=alpha), rtol=1e-8)
    assert without.intercept_ == 0


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("ridge", [1e-6, 0.1, 10.0])
def test_ridge(make, ridge):
    """Without an intercept, eq. 9 with ridge·I; with one, the gradient of the stated objective is 0, b unpenalised."""
    X, y = noisy(300, 6)
    plain = TERClassifier(ridge, fit_intercept=False).fit(make(X), y)
    np.testing.assert_allclose(plain.coef_[0], reference.ter(X, y, ridge=ridge), rtol=1e-7)
    model = TERClassifier(ridge).fit(make(X), y)
    residual = balanced_weights(y) * (y - X @ model.coef_[0] - model.intercept_)
    np.testing.assert_allclose(X.T @ residual, ridge * model.coef_[0], atol=1e-9)
    assert residual.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_shortest_of_many_solutions(make, intercept):
    """A repeated column, a column of zeros, more columns than rows: no error, no explosion, the shortest w."""
    X, y = noisy(60, 4)
    doubled = np.hstack([X, X[:, :1], np.zeros((60, 1))])
    model = TERClassifier(fit_intercept=intercept).fit(make(doubled), y)
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 4], rel=1e-6)
    assert abs(model.coef_[0, 5]) < 1e-9
    plain = TERClassifier(fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.decision_function(make(doubled)), plain.decision_function(X), atol=1e-7)

    wide, y = noisy(20, 50)
    model = TERClassifier(fit_intercept=intercept).fit(make(wide), y)
    np.testing.assert_allclose(model.decision_function(make(wide)), y, atol=1e-6)  # interpolates
    centred = wide - (balanced_weights(y) @ wide / 2 if intercept else 0)
    target = y - (balanced_weights(y) @ y / 2 if intercept else 0)
    shortest = np.linalg.pinv(centred) @ target
    np.testing.assert_allclose(model.coef_[0], shortest, atol=1e-6)


def test_a_constant_column_is_the_intercept_s_business():
    X, y = noisy(60, 3)
    model = TERClassifier().fit(np.hstack([X, np.full((60, 1), 7.0)]), y)
    assert abs(model.coef_[0, 3]) < 1e-12
    np.testing.assert_allclose(model.coef_[0, :3], TERClassifier().fit(X, y).coef_[0], rtol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_solved_stably_on_columns_of_very_different_size(make):
    """The normal equations square the condition, 10⁶ here; neither solver may. A stable one loses 6 digits of 16."""
    X, y = noisy(300, 5)
    scale = np.logspace(-3, 3, 5)
    usual = TERClassifier().fit(X, y)
    scaled = TERClassifier().fit(make(X * scale), y)
    np.testing.assert_allclose(scaled.coef_[0] * scale, usual.coef_[0], rtol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("decades", [4, 6])
def test_never_silently_unsolved(make, decades):
    """Fifty columns of very different size take many steps of an iterative solver: it converges, or warns."""
    X, y = noisy(1000, 50)
    scale = np.logspace(-decades / 2, decades / 2, 50)
    usual = TERClassifier().fit(X, y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scaled = TERClassifier().fit(make(X * scale), y)
    if not said:
        np.testing.assert_allclose(scaled.decision_function(make(X * scale)), usual.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_means_far_from_zero(make):
    X, y = noisy(300, 4)
    usual, far = TERClassifier().fit(X, y), TERClassifier().fit(make(X + 1e5), y)
    np.testing.assert_allclose(far.coef_, usual.coef_, rtol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_weight_of_two_is_the_row_twice(make, ridge):
    X, y = noisy(200, 5)
    s = np.random.default_rng(1).integers(0, 4, 200)
    weighted = TERClassifier(ridge).fit(make(X), y, sample_weight=s)
    repeated = TERClassifier(ridge).fit(make(np.repeat(X, s, axis=0)), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-7)


def test_dense_is_sparse_in_either_precision():
    X, y = noisy(500, 30)
    X[np.abs(X) < 0.8] = 0
    X = X.astype(np.float32)
    exact = TERClassifier().fit(X.astype(float), y)
    for form in (X, sp.csr_array(X), sp.csr_array(X.astype(float)), sp.csc_array(X)):
        model = TERClassifier().fit(form, y)
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(model.decision_function(form), exact.decision_function(X), atol=1e-7)


def test_both_classes_weigh_the_same_and_balanced_is_what_they_are():
    """The total error rate requires α/n^c."""
    X, y = noisy(300, 4)
    balanced = TERClassifier(class_weight="balanced").fit(X, y)
    assert np.array_equal(balanced.coef_, TERClassifier().fit(X, y).coef_)
    more = TERClassifier().fit(np.vstack([X, X[y < 0]]), np.concatenate([y, y[y < 0]]))  # more of the same negatives
    np.testing.assert_allclose(more.coef_, TERClassifier().fit(X, y).coef_, rtol=1e-9)


def test_each_class_against_the_rest():
    X, y = noisy(300, 4)
    y[X[:, 0] > 1] = 3
    model = TERClassifier(class_weight={3: 2.0}).fit(X, y)
    for k, (label, alpha) in enumerate([(-1, 1.0), (1, 1.0), (3, 2.0)]):
        alone = TERClassifier(class_weight={True: alpha, False: 1.0}).fit(X, y == label)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-12)


def test_exchanging_the_classes_turns_it_round():
    X, y = noisy(300, 4)
    a, b = TERClassifier().fit(X, y), TERClassifier().fit(X, -y)
    np.testing.assert_allclose(a.coef_, -b.coef_, rtol=1e-12)


@pytest.mark.parametrize("ridge", [-1.0, np.nan, np.inf, "1", None])
def test_bad_ridges(ridge, unchanged_by):
    X, y = noisy(30, 2)
    model = TERClassifier(ridge)
    assert "ridge" in unchanged_by(model, lambda: model.fit(X, y), ValueError)


def test_weights_that_leave_nobody_on_one_side(unchanged_by):
    X, y = noisy(30, 2)
    model = TERClassifier()
    assert "sample_weight" in unchanged_by(model, lambda: model.fit(X, y, sample_weight=(y > 0).astype(float)))


def test_a_sparse_system_is_never_filled_in():
    """30,000 columns: a dense copy would take a gigabyte, a Gram matrix seven."""
    rng = np.random.default_rng(0)
    X = sp.random_array((4000, 30_000), density=1e-3, format="csr", rng=rng)
    y = rng.choice([-1, 1], 4000)
    tracemalloc.start()
    TERClassifier(ridge=1.0).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
