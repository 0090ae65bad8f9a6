"""The second-order passes and ALMA against `reference/second_order.py`, in plain NumPy: weights within 1e-9, relative.

As in `test_passes_against_reference`, a row whose margin is within rounding of the edge may be taken either way, and
from there on the two learn different things, both correctly. The streams here have no such row.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from pater import (
    ALMAClassifier,
    AROWClassifier,
    ConfidenceWeightedClassifier,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
)
from pater.compiler.decorators import COMPILES
from pater.reference import first_order as reference
from pater.reference import second_order as reference_second

N = 1500 if COMPILES else 100  # interpreted code is slow
FORMS = ["dense-f8", "dense-f4", "csr-f8-i4", "csr-f4-i8"]
WEIGHTS = {"plain": (1.0, 1.0), "class weights": (0.3, 1.7), "balanced": "balanced"}
R, ETA, C = 0.7, 0.8, 0.3


@functools.cache
def data(d):
    """Rows of d columns followed by the intercept's ones, labels, and importances, some of them 0."""
    rng = np.random.default_rng(d)
    y = np.where(rng.random(N) < 0.3, 1, -1)
    X = rng.normal(size=(N, d)) + 1.5 * np.outer(y, rng.normal(size=d)) / np.sqrt(d)
    X *= rng.random((N, d)) < 0.7
    X = X.astype(np.float32).astype(np.float64)
    y[rng.random(N) < 0.05] *= -1
    s = rng.exponential(size=N) * (rng.random(N) < 0.9)
    return np.hstack([X, np.ones((N, 1))]), y, s


def pater(variant, form):
    return (
        lambda **params: SecondOrderPATERClassifier(variant, form=form, **params),
        lambda X, y, **options: reference_second.so_pater(X, y, variant, form=form, **options),
    )


def confident(variant):
    return (
        lambda **params: ConfidenceWeightedClassifier(variant, ETA, C, **params),
        lambda X, y, **options: reference_second.confidence_weighted(X, y, variant, ETA, C, **options),
    )


LEARNERS = {
    "arow": (lambda **p: AROWClassifier(R, **p), lambda X, y, **o: reference_second.arow(X, y, R, **o)),
    "so-perceptron": (
        lambda **p: SecondOrderPerceptron(R, **p),
        lambda X, y, **o: reference_second.so_perceptron(X, y, R, **o),
    ),
    "scw-i": confident("SCW-I"),
    "scw-ii": confident("SCW-II"),
    "so-pater-i leader": pater("I", "leader"),
    "so-pater-ii leader": pater("II", "leader"),
    "so-pater-i step": pater("I", "step"),
    "so-pater-ii step": pater("II", "step"),
}


@functools.cache
def expected(name, d, covariance, weights, importance):
    X, y, s = data(d)
    options = {"diagonal": covariance == "diagonal"} if covariance else {}
    run = LEARNERS[name][1] if name in LEARNERS else {"alma": reference_second.alma}[name]
    alpha = WEIGHTS["plain" if weights == "balanced" and "pater" in name else weights]  # which balances itself
    return run(X, y, alpha=alpha, s=s if importance else None, **options)


def compare(model, w, d, form, importance, average, as_form, weights, rtol=1e-9):
    X, y, s = data(d)
    s = s if importance else None
    model.set_params(average=average).fit(as_form(X[:, :-1], form), y, sample_weight=s)
    exact = reference.averaged(w, s) if average else w[-1]
    np.testing.assert_allclose(weights(model)[0], exact, rtol=0, atol=rtol * np.abs(exact).max())


def params_of(kind):
    return {
        "plain": {},
        "class weights": {"class_weight": {-1: 0.3, 1: 1.7}},
        "balanced": {"class_weight": "balanced"},
    }[kind]


@pytest.mark.parametrize(
    ("d", "form"),
    [*((9, form) for form in FORMS), pytest.param(70, "dense-f8", marks=pytest.mark.slow), (70, "csr-f4-i8")],
)
@pytest.mark.parametrize(
    ("kind", "importance"),
    [pytest.param("plain", False, marks=pytest.mark.slow), ("class weights", True), ("balanced", True)],
    ids=lambda v: str(v),
)
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("name", LEARNERS)
def test_kernel_follows_the_reference(name, covariance, kind, importance, d, form, as_form, weights):
    w = expected(name, d, covariance, kind, importance)
    for average in (False, True):
        model = LEARNERS[name][0](covariance=covariance, **params_of(kind))
        compare(model, w, d, form, importance, average, as_form, weights)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [9, 70])
@pytest.mark.parametrize(
    ("kind", "importance"), [("plain", False), ("class weights", True), ("balanced", True)], ids=lambda v: str(v)
)
def test_alma_follows_the_reference(kind, importance, d, form, as_form, weights):
    w = expected("alma", d, None, kind, importance)
    assert (np.linalg.norm(w, axis=1) <= 1 + 1e-12).all()
    for average in (False, True):
        compare(ALMAClassifier(**params_of(kind)), w, d, form, importance, average, as_form, weights)


@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize(("share", "weight"), [(1.0, 50.0), (1e6, 1.0), (1e-6, 1.0)])
def test_averaged_alma_under_weights_that_leave_little_of_the_weights_before(share, weight, form, as_form, weights):
    X, y, _ = data(9)
    s = np.full(N, share)
    w = reference_second.alma(X, y, alpha=(1.0, weight), s=s)
    for average in (False, True):
        model = ALMAClassifier(class_weight={-1: 1.0, 1: weight}, average=average)
        model.fit(as_form(X[:, :-1], form), y, sample_weight=s)
        exact = reference.averaged(w, s) if average else w[-1]
        np.testing.assert_allclose(weights(model)[0], exact, rtol=0, atol=1e-9 * np.abs(exact).max())
        assert np.isfinite(model._model.state.scalars["scales"]).all()


@pytest.mark.parametrize("average", [False, True])
def test_a_diagonal_leader_whose_classes_are_the_same_says_nothing(average, weights):
    X, y = np.ones((8, 1)), np.resize([1, -1], 8)
    w = reference_second.so_pater(X, y, "II", diagonal=True)
    model = SecondOrderPATERClassifier("II", covariance="diagonal", fit_intercept=False, average=average)
    for t in range(8):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        exact = reference.averaged(w[: t + 1]) if average else w[t]
        np.testing.assert_allclose(model.coef_[0], exact, atol=1e-12)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_confidence_weighted_follows_the_reference_while_it_can(covariance, form, as_form, weights):
    """CW trusts every label, so that on contradictory rows its variances quickly shrink to nothing."""
    X, y, _ = data(9)
    y = np.where(X @ np.random.default_rng(0).normal(size=10) > 0, 1, -1)  # separable
    model = ConfidenceWeightedClassifier("CW", ETA, covariance=covariance).fit(as_form(X[:300, :-1], form), y[:300])
    w = reference_second.confidence_weighted(X[:300], y[:300], "CW", ETA, diagonal=covariance == "diagonal")
    np.testing.assert_allclose(weights(model)[0], w[-1], rtol=0, atol=1e-8 * np.abs(w[-1]).max())


@pytest.mark.skipif(not COMPILES, reason="v hardly moves after many rows only, which take the interpreter too long")
def test_the_leader_of_variant_two_is_ridge_regression_by_class():
    """If the classes alternate, v hardly moves, and w is the batch solution with those weights."""
    X, _, _ = data(9)
    y = np.resize([1, -1], N)
    w = reference_second.so_pater(X, y, "II", 30.0)[-1]
    exact = np.linalg.solve(X.T @ X + 30.0 * np.eye(10), X.T @ y)
    np.testing.assert_allclose(w, exact, rtol=0, atol=5e-3 * np.abs(exact).max())


def test_arow_is_recursive_least_squares_on_the_rows_inside_the_margin():
    X, y, _ = data(9)
    w = reference_second.arow(X, y, 2.0)
    margins = y * np.einsum("ij,ij->i", np.vstack([np.zeros(10), w[:-1]]), X)
    entered = margins < 1
    exact = np.linalg.solve(X[entered].T @ X[entered] + 2.0 * np.eye(10), X[entered].T @ y[entered])
    np.testing.assert_allclose(w[-1], exact, rtol=1e-9)
