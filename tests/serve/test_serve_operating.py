"""The operating point of the service, compared with a plain count of margins that fade in the same way."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pater.models.margin_counts import LEAST_MEMORY, MEMORY, MOST_MEMORY
from pater.serve.errors import Refusal
from pater.serve.quality.operating import Operating, moving
from pater.serve.quality.quality import Answers, Quality


def judged(margins, labels, classes=(0, 1)):
    quality, n = Quality(), len(labels)
    said = [classes[int(m >= 0)] for m in margins]
    quality.add(Answers([0.0] * n, list(labels), said, list(margins), [None] * n, classes))
    return quality


def some(n=4_000, seed=0):
    """Margins of about the same size from the beginning, so that the usual size hardly moves."""
    random = np.random.default_rng(seed)
    labels = (random.random(n) < 0.2).astype(int)
    return (random.normal(size=n) + np.where(labels == 1, 1.0, -1.0)).tolist(), labels.tolist()


def weights_of(labels):
    """The final weight of each sample: the n-th of a class in proportion to n, until its memory is full."""
    share, seen, gain, gains = [0.0, 0.0], [0, 0], [1.0, 1.0], []
    for label in labels:
        share = [(1 - 1 / MEMORY) * s + (k == label) for k, s in enumerate(share)]
        memory = min(MOST_MEMORY, max(LEAST_MEMORY, MEMORY * share[label] / sum(share)))
        gain[label] *= 1 + max(1 / (seen[label] + 1), 1 / memory)
        seen[label] += 1
        gains.append(gain[label])
    return np.array(gains)


@pytest.mark.parametrize("wish", [{"max_fpr": 0.05}, {"max_fnr": 0.1}, {"cost": {"0": 1, "1": 10}}])
def test_thresholds_are_those_of_a_plain_count(wish):
    margins, labels = some()
    quality = judged(margins, labels)
    threshold = Operating.from_json(wish, (0, 1)).threshold(quality)
    m, y, w = np.array(margins), np.array(labels), weights_of(labels)

    def rates(t):
        fpr, fnr = (w * (m >= t))[y == 0].sum() / w[y == 0].sum(), (w * (m < t))[y == 1].sum() / w[y == 1].sum()
        return fpr, fnr

    fpr, fnr = rates(threshold)
    told = quality.margins.rates(threshold)
    assert told == pytest.approx((fpr, fnr), abs=0.01)
    if "cost" in wish:
        costs = [0.8 * a + 10 * 0.2 * b for a, b in map(rates, np.linspace(-3, 3, 601))]
        assert 0.8 * fpr + 10 * 0.2 * fnr <= min(costs) + 0.02
    else:
        assert {"max_fpr": fpr, "max_fnr": fnr}[next(iter(wish))] == pytest.approx(next(iter(wish.values())), abs=0.01)


def test_moving_tells_the_rates_of_a_plain_count():
    margins, labels = some()
    told = moving(judged(margins, labels))
    m, y, w = np.array(margins), np.array(labels), weights_of(labels)
    assert told["shares"] == pytest.approx([(y == 0).mean(), (y == 1).mean()], abs=0.01)
    points = told["moving"]
    assert 50 < len(points) <= 120
    for point in points:
        t = point["threshold"]
        assert point["fpr"] == pytest.approx((w * (m >= t))[y == 0].sum() / w[y == 0].sum(), abs=0.02)
        assert point["fnr"] == pytest.approx((w * (m < t))[y == 1].sum() / w[y == 1].sum(), abs=0.02)
        assert point["false_alarms"] == pytest.approx(1000 * told["shares"][0] * point["fpr"])
        assert point["misses"] == pytest.approx(1000 * told["shares"][1] * point["fnr"])
    assert (points[0]["fpr"], points[0]["fnr"]) == (1.0, 0.0)
    assert (points[-1]["fpr"], points[-1]["fnr"]) == (0.0, 1.0)
    assert [p["fnr"] for p in points] == sorted(p["fnr"] for p in points)
    assert [p["fpr"] for p in points] == sorted((p["fpr"] for p in points), reverse=True)


def test_rows_of_a_steady_stream_keep_to_the_rate_that_is_allowed():
    margins, labels = some(n=20_000)
    quality, wrong, negatives = Quality(), 0, 0
    operating = Operating.from_json({"max_fpr": 0.02})
    for k in range(0, 20_000, 50):
        threshold = operating.threshold(quality)
        now = slice(k, k + 50)
        said = [int(m >= (threshold or 0.0)) for m in margins[now]]
        if k >= 5_000:
            wrong += sum(s for s, y in zip(said, labels[now], strict=True) if not y)
            negatives += 50 - sum(labels[now])
        quality.add(Answers([0.0] * 50, labels[now], said, margins[now], [None] * 50, (0, 1)))
    assert wrong / negatives == pytest.approx(0.02, abs=0.004)


def test_the_own_threshold_holds_until_both_classes_have_come():
    operating = Operating.from_json({"max_fpr": 0.01})
    quality = judged([-1.0, 0.5, -2.0], [0, 0, 0])
    assert operating.threshold(quality) is None
    told = operating.told(quality, own=0.25)
    assert (told["threshold"], told["in_force"], told["moving"]) == (0.25, False, [])
    assert "missing: 1" in told["note"]
    assert operating.told(Quality(), own=None)["threshold"] is None
    quality = judged([-1.0, 0.5, -2.0, 1.0], [0, 0, 0, 1])
    told = operating.told(quality, own=0.25)
    assert told["in_force"]
    assert "3 of 0, 1 of 1" in told["note"]
    assert told["threshold"] > 0.4


def test_a_threshold_as_it_stands_and_none():
    quality = judged(*some())
    assert Operating.from_json({"threshold": 1.5}).threshold(quality) == 1.5
    assert Operating.from_json({}).threshold(quality) is None
    told = Operating().told(quality, own=0.0)
    assert told["fpr"] == pytest.approx(0.159, abs=0.02)


def test_of_more_classes_the_point_waits():
    operating = Operating.from_json({"threshold": 1.5})
    quality = Quality()
    quality.add(Answers([0.0], ["c"], ["a"], [None], [None], ("a", "b", "c")))
    assert operating.threshold(quality) is None
    told = operating.told(quality, own=None)
    assert "does not have two" in told["note"]
    assert (told["in_force"], told["threshold"], told["moving"], told["classes"]) == (False, None, [], [])


def test_a_model_that_has_just_got_a_third_class_has_no_threshold():
    quality = judged(*some())  # of predictions made before
    told = Operating.from_json({"max_fpr": 0.05}).told(quality, own=None)
    assert (told["in_force"], told["threshold"], told["moving"]) == (False, None, [])


def test_costs_by_label_or_by_mistake():
    by_label = Operating.from_json({"cost": {"ham": 5, "spam": 1}}, ("ham", "spam"))
    by_mistake = Operating.from_json({"cost": {"false_positive": 5, "false_negative": 1}}, ("ham", "spam"))
    assert by_label.point == by_mistake.point == ("cost", 5.0, 1.0)
    assert Operating.from_json(json.loads(json.dumps(by_label.to_json())), ("ham", "spam")) == by_label


@pytest.mark.parametrize(
    ("wish", "classes", "status", "said"),
    [
        ([], (0, 1), 422, "max_fpr"),
        (None, (0, 1), 422, "max_fpr"),
        ({"max_fpr": 0.1, "max_fnr": 0.1}, (0, 1), 422, "something else"),
        ({"best": 1}, (0, 1), 422, "something else"),
        ({"max_fpr": 0}, (0, 1), 422, "above 0 and below 1"),
        ({"max_fpr": 1.5}, (0, 1), 422, "above 0 and below 1"),
        ({"max_fpr": "a" * 10_000}, (0, 1), 422, "above 0 and below 1"),
        ({"max_fnr": None}, (0, 1), 422, "above 0 and below 1"),
        ({"max_fnr": float("nan")}, (0, 1), 422, "above 0 and below 1"),
        ({"threshold": "0"}, (0, 1), 422, "finite number"),
        ({"threshold": True}, (0, 1), 422, "finite number"),
        ({"threshold": float("inf")}, (0, 1), 422, "finite number"),
        ({"cost": 3}, (0, 1), 422, "cost"),
        ({"cost": {"0": 1}}, (0, 1), 422, "the classes are 0 and 1"),
        ({"cost": {"0": 1, "2": 1}}, (0, 1), 422, "the classes are 0 and 1"),
        ({"cost": {"0": 1, "1": True}}, (0, 1), 422, "cost"),
        ({"cost": {"0": 1, "1": -3}}, (0, 1), 422, "positive number"),
        ({"cost": {"0": 1, "1": 3}}, (), 409, "two classes"),
        ({"max_fpr": 0.1}, (0, 1, 2), 422, "3"),
    ],
)
def test_what_is_no_operating_point_is_refused(wish, classes, status, said):
    with pytest.raises(Refusal) as refused:
        Operating.from_json(wish, classes)
    assert refused.value.status == status
    assert said in refused.value.reason
    assert len(refused.value.reason) < 600
