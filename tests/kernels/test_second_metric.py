"""Σ stays symmetric and positive definite, and everything that holds for other learners holds with it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pater import (
    ALMAClassifier,
    AROWClassifier,
    ConfidenceWeightedClassifier,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
)
from pater.kernels import state
from pater.kernels.state import State, TooWideError
from pater.kernels.triangle import ALL, UNKNOWN, packed_size
from pater.models.covariance_merge import absorb_row, widen_by
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.search import Grid
from pater.models.spec import Spec

LEARNERS = {
    "so-pater-i": SecondOrderPATERClassifier("I"),
    "so-pater-ii": SecondOrderPATERClassifier("II"),
    "so-pater-i step": SecondOrderPATERClassifier("I", form="step"),
    "so-pater-ii step": SecondOrderPATERClassifier("II", form="step"),
    "arow": AROWClassifier(),
    "cw": ConfidenceWeightedClassifier("CW"),
    "scw-i": ConfidenceWeightedClassifier("SCW-I"),
    "scw-ii": ConfidenceWeightedClassifier("SCW-II"),
    "so-perceptron": SecondOrderPerceptron(),
}
BOTH = [(name, covariance) for name in LEARNERS for covariance in ("full", "diagonal")]


def made(name, covariance, **params):
    model = LEARNERS[name]
    return type(model)(**{**model.get_params(), "covariance": covariance, **params})


def variances(model):
    """D for the columns of the triangle in use."""
    s = model._model.state
    n = int(s.scalars["width"][0])
    return s.second[0][np.arange(1, n + 1).cumsum() - 1]


def matrix(triangle, n):
    upper = np.zeros((n, n))
    rows, columns = np.tril_indices(n)
    upper[columns, rows] = triangle[: packed_size(n)]
    D = np.diag(upper).copy()
    np.fill_diagonal(upper, 1.0)
    return upper @ np.diag(D) @ upper.T


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11, 33])
def test_the_update_is_sherman_and_morrisons(n):
    rng = np.random.default_rng(n)
    triangle, precision = np.zeros(packed_size(n)), np.eye(n)
    widen_by(triangle, 0, n)
    f, k = np.empty(n), np.empty(n)
    for noise in rng.exponential(size=60):
        x, S = rng.normal(size=n), np.linalg.inv(precision)
        total = absorb_row(triangle, n, x, noise, f, UNKNOWN, k, ALL)
        np.testing.assert_allclose(k, S @ x, rtol=0, atol=1e-10 * np.abs(S @ x).max())
        assert total == pytest.approx(noise + x @ S @ x, rel=1e-10)
        precision += np.outer(x, x) / noise
        np.testing.assert_allclose(matrix(triangle, n), np.linalg.inv(precision), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["so-pater-ii", "arow"])
def test_positive_definite_after_a_million_rows(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 4)) * [1, 100, 1e-3, 5] + [0, 1000, 0, 1]
    X[:, 3] = X[:, 0] + 1e-9 * X[:, 3]  # nearly the same column
    y = rng.integers(0, 2, len(X))
    model = made(name, "full").fit(X, y)
    D = variances(model)
    assert (D > 0).all()
    assert np.isfinite(model.coef_).all()
    S = matrix(model._model.state.second[0], 5)
    np.testing.assert_allclose(S, S.T, rtol=1e-12)
    np.linalg.cholesky(S / np.sqrt(np.outer(np.diag(S), np.diag(S))) + 1e-12 * np.eye(5))


@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_collinear_and_constant_columns(name, covariance, stream):
    X, y = stream(500, 3)
    X = np.hstack([X, X, np.ones((500, 1)), np.zeros((500, 1)), 1e6 * X[:, :1]])
    model = made(name, covariance).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert (model.coef_[0, 7] == 0).all()
    if covariance == "full":
        assert (variances(model) > 0).all()
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_huge_and_tiny_scales(name, covariance, form, scale, stream, as_form):
    X, y = stream(300, 5)
    X[:, :2] *= scale
    for rows in (X, X[:, :1]):
        rows = as_form(rows, form)
        model = made(name, covariance, average=True).partial_fit(rows, y, classes=[-1, 1])
        for values in (model._model.state.vectors, model.coef_, model.intercept_, model.decision_function(rows)):
            assert np.isfinite(values).all()
        if covariance == "full":
            assert (variances(model) > 0).all()


@pytest.mark.parametrize("scale", [1e12, 1e16, 1e50, 1e90])
def test_a_leader_fits_its_targets_however_large_the_rows_are(scale, stream):
    """Beyond 10¹²·√r a row counts for less, in Σ⁻¹ and in the class sum alike: margins stay about 1."""
    X, y = stream(600, 5)
    model = SecondOrderPATERClassifier().fit(X * scale, y)
    assert 0.05 < np.median(np.abs(model.decision_function(X * scale))) < 5


@pytest.mark.parametrize("form", ["dense-f8", "csr-f4-i8"])
@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_the_result_does_not_depend_on_how_the_stream_is_cut(name, covariance, form, stream, as_form, bits):
    X, y = stream(700, 6, density=0.5)
    X, s = as_form(X, form), np.random.default_rng(0).exponential(size=700)
    params = {"average": True, "class_weight": {-1: 0.5, 1: 2.0}}
    whole = made(name, covariance, **params).fit(X, y, sample_weight=s)
    cut = made(name, covariance, **params)
    for start, stop in ((0, 1), (1, 2), (2, 40), (40, 299), (299, 700)):
        cut.partial_fit(X[start:stop], y[start:stop], sample_weight=s[start:stop])
    assert bits(cut) == bits(whole)


@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_dense_and_sparse_rows_are_the_same(name, covariance, stream, weights):
    X, y = stream(600, 12, density=0.4)
    if name == "cw":
        y = np.where(X @ np.arange(12) > 3, 1, -1)  # noise would be amplified beyond comparison
    dense, sparse = (made(name, covariance).fit(Z, y) for Z in (X, sp.csr_array(X)))
    np.testing.assert_allclose(weights(dense), weights(sparse), rtol=0, atol=1e-9 * np.abs(weights(dense)).max())


@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_exchanging_the_classes_negates_the_weights(name, covariance, form, stream, as_form, weights):
    X, y = stream(600, 7)
    y[0] = 1
    X = as_form(X, form)
    a, b = (made(name, covariance).fit(X, labels) for labels in (y, -y))
    assert (weights(a) == -weights(b)).all()


@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_a_failed_call_leaves_every_bit(name, covariance, stream, bits):
    X, y = stream(200, 5)
    model = made(name, covariance).partial_fit(X, y)
    before = bits(model)
    bad = X.copy()
    bad[150, 2] = np.nan
    huge = X.copy()
    huge[199, 0] = 1e150
    for rows in (bad, huge, bad[149:151]):
        with pytest.raises(ValueError, match=r"[Rr]ow"):
            model.partial_fit(rows, y[: len(rows)])
        assert bits(model) == before


@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_weight_zero_is_a_no_op(name, covariance, stream, bits):
    X, y = stream(300, 4)
    s = (np.arange(300) % 3 > 0).astype(float)
    a = made(name, covariance).fit(X, y, sample_weight=s)
    b = made(name, covariance).fit(X[s > 0], y[s > 0])
    assert bits(a) == bits(b)


def test_what_a_weight_of_two_means(weights):
    """In AROW and the second-order perceptron, half the r; in SCW, twice the C: the sample's part in the objective."""
    X, y = [[1.0, 2.0]], [1]
    for learner, other in (
        (AROWClassifier(r=1.0), AROWClassifier(r=0.5)),
        (SecondOrderPerceptron(r=1.0), SecondOrderPerceptron(r=0.5)),
        (ConfidenceWeightedClassifier("SCW-I", C=0.1), ConfidenceWeightedClassifier("SCW-I", C=0.2)),
        (ConfidenceWeightedClassifier("SCW-II", C=0.1), ConfidenceWeightedClassifier("SCW-II", C=0.2)),
    ):
        for covariance in ("full", "diagonal"):
            learner.set_params(covariance=covariance)
            other.set_params(covariance=covariance)
            twice = learner.partial_fit(X, y, classes=[0, 1], sample_weight=[2.0])
            np.testing.assert_allclose(weights(twice), weights(other.partial_fit(X, y, classes=[0, 1])), rtol=1e-12)
            del learner._model, other._model


@pytest.mark.parametrize("variant", ["I", "II"])
def test_a_weight_of_two_is_two_samples_at_once_to_the_leader(variant, weights):
    """Counts, class sums and Σ⁻¹ take it twice, and nothing is learned between the two."""
    X, y = [[1.0, 2.0]], [1]
    once = SecondOrderPATERClassifier(variant, r=2.0).partial_fit(X, y, classes=[0, 1], sample_weight=[2.0])
    twice = SecondOrderPATERClassifier(variant, r=2.0).partial_fit(X * 2, y * 2, classes=[0, 1])
    np.testing.assert_allclose(weights(once), weights(twice), rtol=1e-12)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_three_classes_are_three_models(name, covariance, average, stream):
    X, y = stream(400, 5)
    y = y + (X[:, 0] > 1)
    model = made(name, covariance, average=average).fit(X, y)
    for k, label in enumerate(model.classes_):
        alone = made(name, covariance, average=average).fit(X, np.where(y == label, 1, -1))
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])


@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_a_class_that_turns_up_later(name, covariance, stream):
    X, y = stream(400, 5)
    late = np.where(np.arange(400) >= 200, y + (X[:, 0] > 1), y)
    model = made(name, covariance, probability=True).partial_fit(X, late)
    assert len(model.classes_) == len(np.unique(late))
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.coef_.shape == (len(model.classes_), 5)


def test_too_many_columns_for_a_full_covariance_are_refused_before_memory_is_taken(monkeypatch):
    places = np.array([[0, 1], [0, 49_999]], np.int32)
    wide = sp.csr_array(([1.0, 1.0], tuple(places)), shape=(2, 50_000))
    with pytest.raises(TooWideError, match="covariance='diagonal'"):
        AROWClassifier().fit(wide, [0, 1])
    AROWClassifier(covariance="diagonal").fit(wide, [0, 1])
    monkeypatch.setattr(state, "LARGEST_TRIANGLES", 8 * 2 * packed_size(11))
    model = Model.new(np.empty(0, int), 10, (Spec("arow"),))
    X = np.random.default_rng(0).normal(size=(6, 10))
    model.learn(rows_of(X), np.array([0, 1, 0, 1, 0, 1]))
    before = model.state.second.tobytes()
    with pytest.raises(TooWideError, match="3 models"):
        model.learn(rows_of(X), np.array([0, 1, 0, 2, 0, 1]))
    assert model.state.second.tobytes() == before
    assert model.classes.tolist() == [0, 1]


def test_columns_that_no_row_reaches_cost_nothing_and_change_nothing(weights):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), rng.integers(0, 2, 200)
    narrow, wide = sp.csr_array(X), sp.csr_array(np.hstack([X, np.zeros((200, 300))]))
    a, b = (SecondOrderPATERClassifier().fit(Z, y) for Z in (narrow, wide))
    assert (a.coef_ == b.coef_[:, :6]).all()
    assert b._model.state.scalars["width"] == 7


def test_a_grid_of_everything():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    specs = [
        Spec("so-pater-i", r=1.0),
        Spec("pater-i"),
        Spec("arow", r=1.0),
        Spec("arow", r=10.0),
        Spec("arow", covariance="diagonal"),
        Spec("scw-i", eta=0.7),
        Spec("so-pater-ii", r=3.0, form="step"),
        Spec("so-pater-i", covariance="diagonal"),
        Spec("alma"),
        Spec("pa-i"),
    ]
    grid = Grid(specs, "accuracy")
    grid.learn(X[:200], y[:200])
    grid.learn(X[200:], y[200:])
    assert sorted(k for places in grid.families for k in places) == list(range(len(specs)))
    assert grid.counts().tp.shape == (1, len(specs))
    for model, places in zip(grid.models, grid.families, strict=True):
        for k, place in enumerate(places):
            alone = Grid([specs[place]], "accuracy")
            alone.learn(X, y)
            np.testing.assert_array_equal(model.state.kinds()[k], alone.models[0].state.kinds()[0])


def test_room_for_more_models_of_the_same_kind():
    for means in (True, False):
        for metric in ("none", "diagonal", "full"):
            some = State.new(2, 3, means=means, metric=metric)
            assert (some.metric, some.has_means) == (metric, means)
            assert (some.empty(5).metric, some.empty(5).n_models) == (metric, 5)


def test_alma_stays_in_the_unit_ball_and_folds_its_scale(stream, weights, bits):
    X, y = stream(5000, 4, noise=5.0)
    model = ALMAClassifier(average=True)
    for start in range(0, 5000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        model.set_params(average=False)
        assert np.linalg.norm(weights(model)) <= 1 + 1e-9
        model.set_params(average=True)
    assert bits(model) == bits(ALMAClassifier(average=True).fit(X, y))
