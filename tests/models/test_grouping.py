"""Models merged in any order and any grouping are the same, to rounding."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, merge_all
from pater.kernels.rules import RULES

FIRST_ORDER = [name for name, rule in RULES.items() if not rule.second_order]
SECOND_ORDER = [name for name, rule in RULES.items() if rule.second_order]
CUTS = [300, 1000, 1400, 1900]

VARIED = {rule: (rule, {"probability": True}) for rule in RULES}
VARIED |= {f"{rule} averaged": (rule, {"probability": True, "average": True}) for rule in RULES}
VARIED |= {f"{rule} with max_fpr": (rule, {"operating_point": {"max_fpr": 0.05}}) for rule in FIRST_ORDER}
VARIED |= {f"{rule} diagonal": (rule, {"probability": True, "covariance": "diagonal"}) for rule in SECOND_ORDER}
VARIED |= {f"{rule} forgetting": (rule, {"forgetting": 0.999}) for rule in ("pater-i", "pater-ii", *SECOND_ORDER)}
VARIED |= {f"{rule} step": (rule, {"form": "step"}) for rule in ("so-pater-i", "so-pater-ii")}


def merged_two(a, b):
    return copy.deepcopy(a).merge(b)


def groupings(shards):
    yield functools.reduce(lambda a, b: merged_two(b, a), reversed(shards))
    yield merged_two(merged_two(*shards[:2]), merge_all(shards[2:]))
    yield merge_all(shards[::-1])
    yield merge_all([shards[k] for k in (2, 0, 4, 1, 3)])


def told(model, rows):
    values = [model.decision_function(rows)]
    if hasattr(model, "predict_proba"):
        values.append(model.predict_proba(rows))
    if getattr(model, "operating_point", None):
        values.append(np.array([model.threshold_]))
    return values


def check_all_groupings(shards, rows, tolerance=1e-11):
    before = merge_all(shards)
    for other in groupings(shards):
        assert other.t_ == before.t_
        for one, another in zip(told(before, rows), told(other, rows), strict=True):
            np.testing.assert_allclose(one, another, rtol=0, atol=tolerance * np.abs(one).max())


@pytest.mark.first_quick
@pytest.mark.parametrize("case", VARIED)
def test_of_every_rule(case, learner, stream):
    rule, params = VARIED[case]
    X, y = stream(2100, 6)
    shards = [
        learner(rule, **params).partial_fit(X[part], y[part], classes=[-1, 1])
        for part in np.split(np.arange(2000), CUTS)
    ]
    check_all_groupings(shards, X[2000:])


@pytest.mark.first_quick
@pytest.mark.parametrize("rule", ["pater-i", "pater-ii", "so-pater-i", "arow"])
def test_of_shards_that_know_different_classes(rule, learner, stream):
    X, _ = stream(2100, 6)
    y = np.concatenate([np.resize(some, 400) for some in ([0], [0, 1], [2, 1], [1, 0, 3], [3])])
    shards = [learner(rule).partial_fit(X[part], y[part]) for part in np.split(np.arange(2000), 5)]
    check_all_groupings(shards, X[2000:])
    assert merge_all(shards).classes_.tolist() == [0, 1, 2, 3]


def test_of_models_on_scales_far_apart(stream):
    """PATER-II grows without bound: one model is 2^600 times as long as the others, and drowns none of them."""
    X, y = stream(300_000, 6)
    labels = np.where(np.random.default_rng(0).random(y.size) < 0.3, -y, y)
    cuts = [290_000, 292_000, 294_000, 296_000]
    shards = [
        PATERClassifier("II").partial_fit(X[part], labels[part], classes=[-1, 1])
        for part in np.split(np.arange(y.size), cuts)
    ]
    assert len({int(shard._model.state.scalars["exponent"][0]) for shard in shards}) > 1
    shares = np.diff([0, *cuts, y.size]) / y.size
    expected = sum(share * shard.coef_ for share, shard in zip(shares, shards, strict=True))
    np.testing.assert_allclose(merge_all(shards).coef_, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    check_all_groupings(shards, X[:100])


@pytest.mark.first_quick
@pytest.mark.parametrize("params", [{}, {"scoring": "accuracy"}, {"variants": ("I", "II")}, {"probability": True}])
def test_of_pools(params, stream):
    X, y = stream(2100, 6)
    shards = [
        AutoPATERClassifier(**params).partial_fit(X[part], y[part], classes=[-1, 1])
        for part in np.split(np.arange(2000), CUTS)
    ]
    check_all_groupings(shards, X[2000:])


def test_the_best_by_all_answers_leads_a_merged_pool(stream):
    X, y = stream(3000, 6)
    pools = [AutoPATERClassifier().partial_fit(X[p], y[p])._model for p in np.array_split(np.arange(3000), 3)]
    merged = functools.reduce(lambda a, b: a.merge(b), pools)
    assert set(merged.models) == set.intersection(*(set(pool.models) for pool in pools))
    scores = sum(pool.board.right for pool in pools) / sum(pool.board.seen for pool in pools)
    remembering = [k for k in merged.models if merged.entered.forgets[k] == 0]
    best = max(remembering, key=lambda k: scores[k].mean())
    assert merged.leader == best or merged.entered.forgets[merged.leader] > 0


def test_an_empty_model_and_one_of_one_class_are_neutral_in_any_place(stream):
    X, y = stream(1000, 4)
    whole = SecondOrderPATERClassifier().partial_fit(X, y, classes=[-1, 1])
    empty = SecondOrderPATERClassifier().partial_fit(X[:1], y[:1], classes=[-1, 1], sample_weight=[0.0])
    for some in ([whole, empty], [empty, whole], [empty, whole, empty]):
        np.testing.assert_allclose(merge_all(some).coef_, whole.coef_, rtol=1e-9)
    one_class = SecondOrderPATERClassifier().partial_fit(X[y < 0], y[y < 0], classes=[-1, 1])
    both = merge_all([whole, one_class]), merge_all([one_class, whole])
    np.testing.assert_allclose(both[0].coef_, both[1].coef_, rtol=1e-9)
