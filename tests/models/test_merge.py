"""Models of parts of a stream become one: sums and counts add exactly, weights average by the samples each has seen."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

from pater import PassiveAggressiveClassifier, PATERClassifier, Perceptron
from pater.data import load
from pater.kernels.rules import RULES

FIRST_ORDER = [name for name, rule in RULES.items() if not rule.second_order]  # the others: test_second_merge.py
FORMS = [(5, "dense-f8"), (80, "dense-f8"), (5, "csr-f8-i4")]


def halves(rule, learner, X, y, **params):
    return [learner(rule, **params).fit(X[part], y[part]) for part in (slice(0, 700), slice(700, None))]


@pytest.mark.parametrize("rule", ["pater-i", "pater-ii"])
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_class_sums_and_counts_add_exactly(rule, d, form, learner, as_form):
    rng = np.random.default_rng(0)
    X, y = as_form(rng.integers(-9, 10, (1000, d)), form), rng.choice([-1, 1], 1000)
    a, b = halves(rule, learner, X, y)
    before = [(model._model.state.kinds().copy(), model._model.state.scalars.copy()) for model in (a, b)]
    merged = a.merge(b)
    assert merged is a
    vectors, m = merged._model.state.kinds(), merged._model.state.scalars
    assert (vectors[:, 1:3] == before[0][0][:, 1:3] + before[1][0][:, 1:3]).all()
    for name in ("n_pos", "n_neg", "seen_pos", "seen_neg", "t", "updates"):
        assert m[name] == before[0][1][name] + before[1][1][name]
    assert merged.t_ == 1000
    if rule == "pater-ii":
        whole = learner(rule).fit(X, y)._model.state
        assert (vectors[:, 1:3] == whole.kinds()[:, 1:3]).all()
        assert m["n_pos"] == whole.scalars["n_pos"]


@pytest.mark.parametrize("rule", [rule for rule in FIRST_ORDER if rule != "pater-ii"])
@pytest.mark.parametrize(("d", "form"), FORMS)
@pytest.mark.parametrize("average", [True, False])
def test_weights_average_by_the_samples_seen(rule, d, form, average, learner, as_form, stream, weights):
    X, y = stream(1000, d)
    a, b = halves(rule, learner, as_form(X, form), y, average=average)
    expected = 0.7 * weights(a) + 0.3 * weights(b)
    a.merge(b)
    np.testing.assert_allclose(weights(a), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    a.set_params(average=False)
    plain = [learner(rule).fit(as_form(X[part], form), y[part]) for part in (slice(0, 700), slice(700, None))]
    expected = 0.7 * weights(plain[0]) + 0.3 * weights(plain[1])
    np.testing.assert_allclose(weights(a), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("rule", FIRST_ORDER)
@pytest.mark.parametrize("average", [True, False])
def test_a_model_merged_with_its_twin_says_the_same(rule, average, learner, stream, weights):
    """In whatever unit the weights are averaged."""
    X, y = stream(500, 6)
    model = learner(rule, average=average).fit(X, y)
    expected = weights(model)
    model.merge(copy.deepcopy(model))
    np.testing.assert_allclose(weights(model), expected, rtol=1e-10)
    assert model.t_ == 1000


@pytest.mark.parametrize("rule", RULES)
def test_the_order_does_not_matter_and_the_other_stays(rule, learner, stream, bits, weights):
    X, y = stream(1000, 5)
    a, b = halves(rule, learner, X, y, average=True)
    before = bits(b)
    one, other = copy.deepcopy(a).merge(b), copy.deepcopy(b).merge(a)
    assert bits(b) == before
    np.testing.assert_allclose(weights(one), weights(other), rtol=0, atol=1e-12 * np.abs(weights(one)).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("second", ["dense-f8", "csr-f8-i4"])
def test_a_merged_model_goes_on_learning(rule, second, learner, as_form, stream):
    X, y = stream(1500, 70)
    a, b = halves(rule, learner, X[:1000], y[:1000], average=True)
    merged = a.merge(b).partial_fit(as_form(X[1000:], second), y[1000:])
    assert merged.t_ == 1500
    assert np.isfinite(merged.coef_).all()


def test_what_has_seen_nothing_adds_nothing(stream, weights):
    X, y = stream(300, 4)
    model = PATERClassifier().fit(X, y)
    expected = weights(model)
    empty = PATERClassifier().partial_fit(X[:1], y[:1], classes=[-1, 1], sample_weight=[0.0])
    np.testing.assert_array_equal(weights(model.merge(empty)), expected)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ([0], [1], [0, 1]),
        ([1], [0], [0, 1]),
        ([0, 2], [1, 2], [0, 1, 2]),
        ([0, 1, 2], [1, 5], [0, 1, 2, 5]),
        ([1], [0, 1, 2], [0, 1, 2]),
    ],
)
def test_models_of_different_classes(rule, first, second, together, learner, stream):
    """A class that one has not met is added to it, as if it appeared after its last row; then they merge."""
    X, _ = stream(600, 4)
    y = np.concatenate([np.resize(first, 400), np.resize(second, 200)])
    a, b = learner(rule).partial_fit(X[:400], y[:400]), learner(rule).partial_fit(X[400:], y[400:])
    merged = copy.deepcopy(a).merge(b)
    assert merged.classes_.tolist() == together
    assert merged.coef_.shape == (1 if len(together) == 2 else len(together), 4)
    assert np.isfinite(merged.coef_).all()
    only_first = [label for label in first if label not in second]
    if len(together) > 2 and only_first and len(second) > 2:
        place, own = together.index(only_first[0]), a.classes_.tolist().index(only_first[0])
        np.testing.assert_allclose(merged.coef_[place], a.coef_[own], rtol=1e-12)
    if RULES[rule].moves_along_means:
        m = merged._model.state.scalars
        counts = [(y == label).sum() for label in together]
        assert m["seen_pos"].tolist() == (counts[1:] if len(together) == 2 else counts)


def test_what_cannot_be_merged(stream, unchanged_by):
    X, y = stream(300, 4)
    model = PATERClassifier().fit(X, y)
    others = {
        "Perceptron": Perceptron().fit(X, y),
        "the other has variant='II' where this one has variant='I'": PATERClassifier("II").fit(X, y),
        "the other has n_features_in_=3 where this one has n_features_in_=4": PATERClassifier().fit(X[:, :3], y),
        "not fitted": PATERClassifier(),
    }
    for named, other in others.items():
        assert named in unchanged_by(model, lambda other=other: model.merge(other))
    fresh = PATERClassifier()
    unchanged_by(fresh, lambda: fresh.merge(model))
    weighted = PATERClassifier(class_weight={-1: 0.1, 1: 1.0}).fit(X, y)
    unchanged_by(weighted, lambda: weighted.merge(model))
    pa, pa_i = (PassiveAggressiveClassifier(variant).fit(X, y) for variant in ("PA", "PA-I"))
    unchanged_by(pa, lambda: pa.merge(pa_i))


def test_frames_of_other_columns_cannot_be_merged(stream, unchanged_by):
    pd = pytest.importorskip("pandas")
    X, y = stream(300, 2)
    a = PATERClassifier().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    b = PATERClassifier().fit(pd.DataFrame(X, columns=["b", "a"]), y)
    assert "the other has feature_names_in_[0]='b' where" in unchanged_by(a, lambda: a.merge(b))


@pytest.mark.first_quick
@pytest.mark.parametrize("key", ["cod-rna", "ijcnn1", "skin"])
def test_thirty_two_shards_lose_less_than_a_third_of_a_point(key, paper_data):
    """PATER-II, z-scored on the training half: accuracy on the other half against one pass, mean of ten splits."""
    data = load(key, data_dir=paper_data)
    losses = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.array_split(order, 2)
        X = (data.X - data.X[train].mean(axis=0)) / np.maximum(data.X[train].std(axis=0), 1e-300)
        whole = PATERClassifier("II").fit(X[train], data.y[train])
        shards = [PATERClassifier("II").fit(X[part], data.y[part]) for part in np.array_split(train, 32)]
        merged = functools.reduce(lambda a, b: a.merge(b), shards)
        assert merged.t_ == whole.t_
        losses.append(100 * (whole.score(X[test], data.y[test]) - merged.score(X[test], data.y[test])))
    assert np.mean(losses) < 0.3
