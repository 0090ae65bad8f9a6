"""Shards that start from one begun model: what each has learned since, and what they give together."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

import pater
from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.kernels.memory import POINT_Q, Q
from pater.kernels.rules import RULES
from pater.models.pool import Pool
from pater.models.shards import ended, since, start

COUNTS = ("t", "updates", "tp", "fp", "tn", "fn", "seen_pos", "seen_neg")


def learned(estimator, X, y, **more):
    return copy.deepcopy(estimator).partial_fit(X, y, **more)


def shard(begun, X, y, **more):
    result = copy.deepcopy(begun)
    result._model = start(begun._model)
    result.partial_fit(X, y, **more)
    result._model = since(result._model, begun._model)
    return result


def merged(begun, X, y, n):
    parts = np.array_split(np.arange(len(y)), n)
    result = functools.reduce(lambda a, b: a.merge(b), [shard(begun, X[p], y[p]) for p in parts])
    result._model = ended(result._model, begun._model)
    return result


def precision(triangle, n):
    upper = np.zeros((n, n))
    upper[np.tril_indices(n)[::-1]] = triangle[: n * (n + 1) // 2]
    variances = np.diag(upper).copy()
    np.fill_diagonal(upper, 1.0)
    return np.linalg.inv(upper * variances @ upper.T)


@pytest.mark.parametrize("rule", ["pater-i", "pater-ii", "so-pater-i", "so-pater-ii", "arow", "perceptron", "scw-i"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_sums_and_counts_are_those_of_the_rows_since(rule, covariance, learner):
    params = {"covariance": covariance} if RULES[rule].second_order else {}
    rng = np.random.default_rng(0)
    X, y = rng.integers(-9, 10, (900, 5)).astype(float), rng.choice([-1, 1], 900)
    begun = learner(rule, **params).partial_fit(X[:300], y[:300], classes=[-1, 1])
    whole, own = learned(begun, X[300:], y[300:]), shard(begun, X[300:], y[300:])
    m, was, before = (each._model.state.scalars for each in (own, whole, begun))
    for name in COUNTS:
        assert m[name] == was[name] - before[name]
    state, first = own._model.state, begun._model.state
    if state.has_means:
        np.testing.assert_array_equal(state.kinds()[:, 1:3], whole._model.state.kinds()[:, 1:3] - first.kinds()[:, 1:3])
    if state.metric == "diagonal":
        kind = Q if state.has_means else POINT_Q
        expected = whole._model.state.kinds()[:, kind] - first.kinds()[:, kind]
        np.testing.assert_allclose(state.kinds()[:, kind], expected, rtol=1e-12)


@pytest.mark.parametrize("learner_of", [AROWClassifier, SecondOrderPATERClassifier])
def test_precisions_are_those_of_the_rows_since(learner_of, stream):
    X, y = stream(900, 5)
    begun = learner_of(covariance="full").partial_fit(X[:300], y[:300], classes=[-1, 1])
    whole, own = learned(begun, X[300:], y[300:]), shard(begun, X[300:], y[300:])
    precisions = [precision(each._model.state.second[0], 6) for each in (whole, begun, own)]
    expected = precisions[0] - precisions[1] + np.eye(6)
    np.testing.assert_allclose(precisions[2], expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.first_quick
@pytest.mark.parametrize("n_shards", [1, 5, 30])
def test_least_squares_from_a_beginning_is_that_of_its_rows_and_then_of_all(n_shards, stream, weights):
    """With a prior so strong that no row gets outside the margin: then the rows of the beginning are learned twice."""
    X, y = stream(1000, 5)
    begun = AROWClassifier(covariance="full", r=1e5).partial_fit(X[:300], y[:300])
    whole = learned(begun, X, y)
    together = merged(begun, X, y, n_shards)
    assert together.t_ == 1000
    np.testing.assert_allclose(weights(together), weights(whole), rtol=0, atol=1e-9 * np.abs(weights(whole)).max())


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_who_learns_from_every_row_learns_from_each_once(covariance):
    """A beginning affects second-order PATER-II only by the class weights with which it entered rows."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-9, 10, (900, 5)).astype(float), rng.choice([-1, 1], 900)
    begun = SecondOrderPATERClassifier("II", covariance=covariance).partial_fit(X[:300], y[:300])
    together, whole = merged(begun, X, y, 4), SecondOrderPATERClassifier("II", covariance=covariance).fit(X, y)
    states = [each._model.state for each in (together, whole)]
    np.testing.assert_array_equal(states[0].kinds()[:, 1:3], states[1].kinds()[:, 1:3])
    for name in ("n_pos", "n_neg", "seen_pos", "seen_neg", "t"):
        assert states[0].scalars[name] == states[1].scalars[name]


@pytest.mark.parametrize("rule", ["so-pater-i", "so-perceptron", "arow", "pater-i", "perceptron", "scw-i"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_what_a_beginning_has_learned_is_there_when_shards_pass_all_rows_by(rule, covariance, learner):
    """Classes far apart: after the beginning, hardly any row is learned from."""
    params = {"covariance": covariance} if RULES[rule].second_order else {}
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 6000, p=[0.9, 0.1])
    X = np.column_stack([3 * y + 0.3 * rng.normal(size=6000), rng.normal(size=(6000, 2))])
    begun = learner(rule, **params).partial_fit(X[:2000], y[:2000])
    together = merged(begun, X, y, 3)
    assert together.score(X, y) == 1.0
    assert together.t_ == 6000


def test_a_pool_whose_shards_pass_all_rows_by():
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 6000, p=[0.9, 0.1])
    X = np.column_stack([3 * y + 0.3 * rng.normal(size=6000), rng.normal(size=(6000, 2))])
    begun = AutoPATERClassifier().partial_fit(X[:2000], y[:2000])
    together = merged(begun, X, y, 3)
    assert together.score(X, y) == 1.0
    assert together.t_ == 6000
    assert np.stack(together._model.progressive(), axis=1).sum() == pytest.approx(6000)


@pytest.mark.parametrize("rule", ["pater-i", "pater-ii", "arow"])
def test_averages_are_those_of_the_samples_since(rule, learner, stream):
    X, y = stream(900, 5)
    params = {"covariance": "diagonal"} if rule == "arow" else {}
    begun = learner(rule, average=True, **params).partial_fit(X[:300], y[:300], classes=[-1, 1])
    own, after = shard(begun, X[300:], y[300:]), learned(begun, X[300:], y[300:])
    (mean, mean_bias), (all_of, all_bias), (first, first_bias) = (
        each._model.state.own_weights(average=True) for each in (own, after, begun)
    )
    np.testing.assert_allclose(mean, (900 * all_of - 300 * first) / 600, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mean_bias, (900 * all_bias - 300 * first_bias) / 600, rtol=1e-9, atol=1e-12)
    if rule == "pater-ii":  # whose margins are given in units of the mean of their usual sizes
        sizes = [each._model.state.scalars["mean_size"] for each in (own, after, begun)]
        np.testing.assert_allclose(sizes[0], (900 * sizes[1] - 300 * sizes[2]) / 600, rtol=1e-9)


def test_new_classes_and_columns_of_a_shard(stream):
    X, y = stream(900, 5)
    begun = PATERClassifier().partial_fit(X[:300], y[:300])
    labels = np.where(np.arange(600) % 7 == 0, 5, y[300:])
    own = shard(begun, X[300:], labels)
    assert own.classes_.tolist() == [-1, 1, 5]
    counts = own._model.state.scalars["seen_pos"]
    assert counts.tolist() == [(labels == label).sum() for label in (-1, 1, 5)]


@pytest.mark.parametrize("point", [{"max_fpr": 0.05}, {"cost": {"false_positive": 1, "false_negative": 5}}])
def test_thresholds_of_shards(point, stream):
    """From what was seen since the beginning, no less and no more."""
    X, y = stream(6000, 5)
    begun = AROWClassifier(operating_point=point).partial_fit(X[:1000], y[:1000])
    together = merged(begun, X, y, 8)
    assert together._model.seen.numbers["t"] == 6000
    single = AROWClassifier(operating_point=point).fit(X, y)
    assert together.threshold_ == pytest.approx(single.threshold_, abs=0.35)


def test_who_goes_on_in_shards(stream):
    X, y = stream(4000, 6)
    begun = AutoPATERClassifier().partial_fit(X[:1500], y[:1500])
    pool = begun._model
    assert isinstance(pool, Pool)
    first = start(pool)
    assert pool.entered.common in first.models
    assert set(first.models) <= set(pool.models)
    assert all(pool.entered.forgets[k] == 0 for k in first.models)
    shards = [shard(begun, X[p], y[p]) for p in np.array_split(np.arange(4000), 5)]
    assert all(set(each._model.models) == set(first.models) for each in shards)
    together = functools.reduce(lambda a, b: a.merge(b), shards)
    assert together.t_ == 4000
    assert together._model.in_shards
    assert not ended(together._model, begun._model).in_shards
    counts = np.stack(ended(together._model, begun._model).progressive(), axis=1)
    assert counts.sum() == pytest.approx(4000)


def test_shards_of_a_pool_in_files(tmp_path, stream):
    X, y = stream(3000, 6)
    begun = AutoPATERClassifier().partial_fit(X[:1000], y[:1000])
    shards = [shard(begun, X[p], y[p]) for p in np.array_split(np.arange(3000), 3)]
    for k, each in enumerate(shards):
        each.save(tmp_path / f"{k}.pater")
    again = pater.merge_all(pater.load(tmp_path / f"{k}.pater") for k in range(3))
    expected = pater.merge_all(shards)
    assert again._model.in_shards
    np.testing.assert_array_equal(again.decision_function(X), expected.decision_function(X))
    again._model = ended(again._model, begun._model)
    again.partial_fit(X, y)
    assert again.t_ == 6000


@pytest.mark.parametrize("average", [False, True])
def test_what_forgets_keeps_its_own_end_and_counts_its_own_rows(average, stream):
    X, y = stream(900, 5)
    begun = SecondOrderPATERClassifier(forgetting=0.99, average=average).partial_fit(X[:300], y[:300])
    own, after = shard(begun, X[300:], y[300:]), learned(begun, X[300:], y[300:])
    for one, other in zip(*(each._model.state.own_weights() for each in (own, after)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert own.t_ == 600
    assert merged(begun, X, y, 3).t_ == 900


@pytest.mark.parametrize(
    "params", [{"variants": ("I", "II")}, {"variants": ("II",), "discount": False, "fading": 0.999}]
)
def test_answers_that_fade_or_count_by_their_place_stay_as_they_are(params, stream):
    X, y = stream(1200, 5)
    together = merged(AutoPATERClassifier(**params).partial_fit(X[:300], y[:300]), X, y, 3)
    assert together.t_ == 1200
    assert all((together._model.state.scalars[name] >= 0).all() for name in ("tp", "fp", "tn", "fn"))
