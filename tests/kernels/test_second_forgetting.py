"""Second order with `forgetting`: as in the reference, bounded whatever pauses, better where the data drift."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest
from test_second_metric import BOTH, made, matrix, variances
from test_second_reference import ETA, LEARNERS, WEIGHTS, compare, data, params_of

import pater
from pater import ConfidenceWeightedClassifier
from pater.kernels.triangle import packed_size
from pater.models.covariance_merge import give_prior_back, widen_by
from pater.reference import second_order as reference_second

SLOW = pytest.mark.slow
COVARIANCES = ["full", "diagonal"]
FORMS = ["dense-f8", "csr-f8-i4"]
KINDS = [("plain", False), ("class weights", True), ("balanced", True)]


@functools.cache
def expected(name, d, covariance, kind, importance, forgetting):
    X, y, s = data(d)
    alpha = WEIGHTS["plain" if kind == "balanced" and "pater" in name else kind]  # which balances itself
    options = {"alpha": alpha, "s": s if importance else None, "forgetting": forgetting}
    return LEARNERS[name][1](X, y, diagonal=covariance == "diagonal", **options)


@pytest.mark.parametrize("form", [*FORMS, "dense-f4", "csr-f4-i8"])
@pytest.mark.parametrize(
    ("d", "forgetting"),
    [(9, 0.98), *(pytest.param(*pair, marks=SLOW) for pair in ((9, 0.999), (9, 0.7), (9, 0.2), (40, 0.99)))],
)
@pytest.mark.parametrize(("kind", "importance"), KINDS, ids=lambda value: str(value))
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("name", LEARNERS)
def test_kernel_follows_the_reference(name, covariance, kind, importance, d, forgetting, form, as_form, weights):
    w = expected(name, d, covariance, kind, importance, forgetting)
    for average in (False, True):
        model = LEARNERS[name][0](covariance=covariance, forgetting=forgetting, **params_of(kind))
        compare(model, w, d, form, importance, average, as_form, weights)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("name", LEARNERS)
def test_all_but_the_last_samples_forgotten(name, covariance, form, as_form, weights):
    """Except for steps with a diagonal Σ: as the class means of so few samples meet, they grow beyond comparison."""
    if covariance == "diagonal" and "step" in name:
        return
    w = expected(name, 9, covariance, "plain", False, 1e-3)
    for average in (False, True):
        model = LEARNERS[name][0](covariance=covariance, forgetting=1e-3)
        compare(model, w, 9, form, False, average, as_form, weights)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("form", FORMS)
def test_confidence_weighted_follows_the_reference_while_it_can(covariance, form, as_form, weights):
    X, _, _ = data(9)
    X = X[:300]
    y = np.where(X @ np.random.default_rng(0).normal(size=10) > 0, 1, -1)  # separable
    model = ConfidenceWeightedClassifier("CW", ETA, covariance=covariance, forgetting=0.98)
    model.fit(as_form(X[:, :-1], form), y)
    options = {"diagonal": covariance == "diagonal", "forgetting": 0.98}
    w = reference_second.confidence_weighted(X, y, "CW", ETA, **options)
    np.testing.assert_allclose(weights(model)[0], w[-1], rtol=0, atol=1e-8 * np.abs(w[-1]).max())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12])
def test_the_prior_comes_back(n):
    rng = np.random.default_rng(n)
    triangle = np.zeros(packed_size(n))
    widen_by(triangle, 0, n)
    for j in range(n):
        triangle[j * (j + 1) // 2 : packed_size(j + 1) - 1] = rng.normal(size=j)
    precision = np.linalg.inv(matrix(triangle, n))
    give_prior_back(triangle, n, 2.5, np.empty(n), np.empty(n))
    expected = np.linalg.inv(precision / 2.5 + 0.6 * np.eye(n))
    np.testing.assert_allclose(matrix(triangle, n), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("name", "covariance"), [pair for pair in BOTH if pair[0] != "cw"])
def test_columns_that_turn_up_late(name, covariance, average, as_form, weights):
    """A dense row reaches all columns, a sparse one only its own: the prior of the others has faded equally."""
    X, y, _ = data(9)
    X, y = X[:600, :-1].copy(), y[:600]
    X[:300, 5:] = 0.0
    dense, sparse = (
        weights(made(name, covariance, forgetting=0.95, average=average).fit(as_form(X, form), y)) for form in FORMS
    )
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-9 * np.abs(dense).max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forgetting", [0.9, *(pytest.param(gamma, marks=SLOW) for gamma in (0.999, 0.3))])
@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_bounded_when_features_pause(name, covariance, forgetting, form, as_form, weights):
    """Half of the features are 0 for 10⁵ rows, and a class stays away: Σ stays a covariance, w a direction."""
    rng = np.random.default_rng(0)
    n = 100_000 if forgetting == 0.999 else 20_000
    X, y = rng.normal(size=(n, 6)), rng.choice([-1, 1], n)
    X[:, 0] += y
    X[500:, 3:] = 0.0
    y[1000:-500] = -1
    X[-100:] = rng.normal(size=(100, 6))
    model = made(name, covariance, forgetting=forgetting, average=False)
    model.fit(as_form(X[:-100], form), y[:-100])
    state, m = model._model.state, model._model.state.scalars[0]
    assert 1 <= m["gain_pos"] == m["gain_neg"] <= (2 if covariance == "full" else 2.0**40)
    if covariance == "full":
        S = matrix(state.second[0], 7) * m["gain_pos"]
        assert (variances(model) > 0).all()
        assert np.linalg.eigvalsh(S).max() <= 2 + 1e-9  # at least half of the prior is always left
    else:
        assert (state.kinds()[0, -1] >= 0).all()
    model.partial_fit(as_form(X[-100:], form), y[-100:])
    assert np.isfinite(state.kinds()).all()
    assert np.isfinite(weights(model)).all()
    if "step" not in name and name != "cw" and forgetting == 0.999:
        assert np.abs(weights(model)).max() < (1e3 if covariance == "diagonal" else 20)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1e-50, 1.0, 1e50])
@pytest.mark.parametrize("forgetting", [0.9, 1e-12])
@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_any_forgetting_and_any_size_leave_numbers(name, covariance, forgetting, size, form, as_form, stream, weights):
    X, y = stream(400, 5, density=0.5)
    s = np.where(np.arange(400) % 3, 1.0, 1e20)
    for average in (False, True):
        model = made(name, covariance, forgetting=forgetting, average=average)
        model.fit(as_form(size * X, form), y, sample_weight=s)
        assert np.isfinite(weights(model)).all()
        assert np.isfinite(model.decision_function(size * X)).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("variant", ["so-pater-i", "so-pater-ii"])
def test_a_class_that_stays_away_spoils_no_average(variant, average, covariance, form, as_form, weights):
    """Its weight in the objective grows without bound in the meantime, and falls when it comes back."""
    X, y, _ = data(9)
    y = np.where(np.arange(len(y)) % 120 < 20, y, -1)
    w = reference_second.so_pater(X, y, variant[9:].upper(), diagonal=covariance == "diagonal", forgetting=0.5)
    model = made(variant, covariance, forgetting=0.5, average=average).fit(as_form(X[:, :-1], form), y)
    exact = w.mean(axis=0) if average else w[-1]
    np.testing.assert_allclose(weights(model)[0], exact, rtol=0, atol=1e-7 * np.abs(exact).max())


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("name", "covariance"), [pair for pair in BOTH if pair[0] != "cw"])
def test_forgetting_that_ends(name, covariance, average, stream, weights):
    """From there on it is as if next to nothing faded."""
    X, y = stream(600, 5)
    found = []
    for then in (1.0, 1 - 1e-13):
        model = made(name, covariance, forgetting=0.97, average=average).fit(X[:400], y[:400])
        before = weights(model)
        model.set_params(forgetting=then).partial_fit(X[400:401], y[400:401], sample_weight=[0.0])
        if name != "so-pater-i" or covariance == "full":  # else the weights of paused features follow the prior
            np.testing.assert_allclose(weights(model), before, rtol=0, atol=1e-12 * np.abs(before).max())
        found.append(weights(model.partial_fit(X[400:], y[400:])))
        assert (model._model.state.scalars["gain_pos"] == 1).all() == (then == 1)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-7 * np.abs(found[1]).max())


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("name", "covariance"), [pair for pair in BOTH if pair[0] != "cw"])
def test_what_was_forgotten_apart_merges(name, covariance, average, stream, weights, bits):
    """Sums, counts and Σ⁻¹ add as of the last sample of each, with one whole prior."""
    X, y = stream(900, 4)
    a, b = (
        made(name, covariance, forgetting=0.99, average=average).fit(X[part], y[part])
        for part in (slice(0, 430), slice(430, 800))
    )
    before, states = bits(b), [model._model.state for model in (a, b)]
    one, other = copy.deepcopy(a).merge(b), copy.deepcopy(b).merge(a)
    assert bits(b) == before
    np.testing.assert_allclose(weights(one), weights(other), rtol=0, atol=1e-8 * np.abs(weights(one)).max())
    gains, merged = [state.scalars["gain_pos"][0] for state in states], one._model.state
    for count in ("seen_pos", "seen_neg", "n_pos", "n_neg"):
        parts = [state.scalars[count][0] / gain for state, gain in zip(states, gains, strict=True)]
        assert merged.scalars[count][0] == pytest.approx(sum(parts), rel=1e-12)
    if covariance == "full":
        parts = [
            np.linalg.inv(gain * matrix(state.second[0], 5)) + (1 - 1 / gain) * np.eye(5)
            for state, gain in zip(states, gains, strict=True)
        ]
        precision = np.linalg.inv(matrix(merged.second[0], 5))
        np.testing.assert_allclose(precision, sum(parts) - np.eye(5), rtol=0, atol=1e-9 * np.abs(precision).max())
    one.partial_fit(X[800:], y[800:])
    assert one.t_ == 900
    assert np.isfinite(weights(one)).all()


@pytest.mark.parametrize(("name", "covariance"), BOTH)
def test_saved_and_gone_on_with(name, covariance, stream, bits, tmp_path):
    X, y = stream(500, 5)
    model = made(name, covariance, forgetting=0.97, average=True).fit(X[:333], y[:333])
    model.save(tmp_path / "m.pater")
    loaded = pater.load(tmp_path / "m.pater")
    assert loaded.forgetting == 0.97
    assert bits(loaded.partial_fit(X[333:], y[333:])) == bits(model.partial_fit(X[333:], y[333:]))


def drifting(n, d, seed, share):
    """Rows whose positives, a given share, lie in another direction from the middle of the stream on."""
    rng = np.random.default_rng(seed)
    X, directions = rng.normal(size=(n, d)), rng.normal(size=(2, d)) / np.sqrt(d)
    score = np.where(np.arange(n) < n // 2, X @ directions[0], X @ directions[1]) + 0.5 * rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 1 - share), 1, -1)


def progressive(model, X, y):
    """Balanced accuracy of the predictions made before learning from each block of rows."""
    said = np.zeros(len(y))
    for start in range(0, len(y), 50):
        block = slice(start, start + 50)
        if start:
            said[block] = model.predict(X[block])
        model.partial_fit(X[block], y[block], classes=[-1, 1])
    return np.mean([(said[y == label] == label).mean() for label in (-1, 1)])


FOLLOWING = [("so-pater-i", "full"), ("so-pater-ii", "full"), ("arow", "full"), ("arow", "diagonal")]


@pytest.mark.parametrize(("name", "covariance"), FOLLOWING)
def test_what_forgets_follows_a_drift(name, covariance):
    X, y = drifting(10_000, 10, 1, 0.1)
    weight = {"class_weight": "balanced"} if name == "arow" else {}
    keeps, forgets = (
        progressive(made(name, covariance, forgetting=forgetting, **weight), X, y) for forgetting in (1.0, 0.999)
    )
    assert forgets > keeps + 0.04
