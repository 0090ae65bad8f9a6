"""Second-order models of parts of a stream become one: Σ⁻¹ adds, with one prior."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest
from test_second_metric import BOTH, made, matrix

from pater.data import load


def parts(name, covariance, X, y, cuts, **params):
    return [made(name, covariance, **params).fit(X[part], y[part]) for part in np.split(np.arange(len(y)), cuts)]


def joint_precision(model, n):
    return np.linalg.inv(matrix(model._model.state.second[0], n))


@pytest.mark.parametrize("name", ["so-pater-ii", "arow", "scw-i"])
def test_precisions_add(name, stream):
    X, y = stream(700, 5)
    a, b = parts(name, "full", X, y, [400])
    expected = joint_precision(a, 6) + joint_precision(b, 6) - np.eye(6)
    np.testing.assert_allclose(joint_precision(a.merge(b), 6), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_the_leader_of_everything_loses_nothing_but_the_moment_of_its_weights(stream, weights):
    """With alternating classes the class weights are the same everywhere: then a merged leader is that of one pass."""
    X, _ = stream(800, 5)
    y = np.resize([1, -1], 800)
    for covariance in ("full", "diagonal"):
        whole = made("so-pater-ii", covariance, average=False).fit(X, y)
        a, b = parts("so-pater-ii", covariance, X, y, [400], average=False)
        np.testing.assert_allclose(
            weights(a.merge(b)), weights(whole), rtol=0, atol=0.02 * np.abs(weights(whole)).max()
        )


AVERAGED = [(name, "full") for name in ("so-perceptron", "scw-i", "scw-ii", "so-pater-i step")]
AVERAGED += [(name, "diagonal") for name in ("arow", "so-perceptron", "scw-i", "scw-ii", "so-pater-i step")]


@pytest.mark.parametrize(("name", "covariance"), AVERAGED)
def test_weights_average_by_the_samples_seen(name, covariance, stream, weights):
    X, y = stream(1000, 5)
    a, b = parts(name, covariance, X, y, [700], average=False)
    expected = 0.7 * weights(a) + 0.3 * weights(b)
    np.testing.assert_allclose(weights(a.merge(b)), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_the_sums_behind_least_squares_add(stream, weights):
    """Σ⁻¹w of both add up to that of the whole; the intercept is the last of the weights and the first of Σ."""
    X, y = stream(1000, 5)
    a, b = parts("arow", "full", X, y, [700], average=False)
    precisions = [joint_precision(model, 6) for model in (a, b)]
    sums = [P @ np.roll(weights(model)[0], 1) for P, model in zip(precisions, (a, b), strict=True)]
    expected = np.linalg.solve(sum(precisions) - np.eye(6), sum(sums))
    np.testing.assert_allclose(np.roll(weights(a.merge(b))[0], 1), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("n_shards", [2, 7, 40])
def test_shards_whose_rows_are_all_learned_from_are_one_pass(n_shards, stream, weights):
    """With a prior so strong that no row gets outside the margin, AROW is least squares, in any shards."""
    X, y = stream(1000, 5)
    whole = made("arow", "full", r=1e5, average=False).fit(X, y)
    shards = [
        made("arow", "full", r=1e5, average=False).fit(X[p], y[p]) for p in np.array_split(np.arange(1000), n_shards)
    ]
    assert sum(int(shard._model.state.scalars["updates"][0]) for shard in shards) == 1000
    merged = functools.reduce(lambda a, b: a.merge(b), shards)
    np.testing.assert_allclose(weights(merged), weights(whole), rtol=0, atol=1e-11 * np.abs(weights(whole)).max())


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(("name", "covariance"), [pair for pair in BOTH if pair[0] != "cw"])
def test_the_order_does_not_matter_and_the_merged_goes_on(name, covariance, average, stream, weights, bits):
    X, y = stream(900, 4)
    a, b = parts(name, covariance, X[:800], y[:800], [500], average=average)
    before = bits(b)
    one, other = copy.deepcopy(a).merge(b), copy.deepcopy(b).merge(a)
    assert bits(b) == before
    np.testing.assert_allclose(weights(one), weights(other), rtol=0, atol=1e-8 * np.abs(weights(one)).max())
    one.partial_fit(X[800:], y[800:])
    assert one.t_ == 900
    assert np.isfinite(weights(one)).all()


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("name", ["so-pater-i", "so-pater-ii", "so-pater-ii step", "arow"])
def test_what_has_seen_nothing_adds_nothing(name, covariance, stream, weights):
    X, y = stream(300, 4)
    full = made(name, covariance).fit(X, y)
    empty = made(name, covariance).partial_fit(X[:1], y[:1], classes=[-1, 1], sample_weight=[0.0])
    expected = weights(full)
    full._model.fixed = True
    np.testing.assert_allclose(weights(full.merge(empty)), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


@functools.cache
def standardised(key, folder):
    data = load(key, data_dir=folder)
    X = (data.X - data.X.mean(axis=0)) / np.where(data.X.std(axis=0) > 0, data.X.std(axis=0), 1)
    return X, data.y


@pytest.mark.first_quick
@pytest.mark.parametrize("key", ["cod-rna", "ijcnn1", "skin"])
@pytest.mark.parametrize("name", ["so-pater-i", "so-pater-ii"])
def test_32_shards_lose_less_than_a_third_of_a_point(key, name, paper_data):
    X, y = standardised(key, paper_data)
    lost = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.array_split(order, 2)
        whole = made(name, "full").fit(X[train], y[train])
        shards = [made(name, "full").fit(X[part], y[part]) for part in np.array_split(train, 32)]
        model = functools.reduce(lambda a, b: a.merge(b), shards)
        lost.append(whole.score(X[test], y[test]) - model.score(X[test], y[test]))
    assert np.mean(lost) < 0.003
