"""An operating point: the allowed rate is kept, on a stationary stream and on one that drifts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import pater

D = 8
LEARNERS = {
    "pater-i": lambda **k: pater.PATERClassifier(**k),
    "pater-ii": lambda **k: pater.PATERClassifier("II", **k),
    "so-pater-i": lambda **k: pater.SecondOrderPATERClassifier(**k),
    "so-pater-ii": lambda **k: pater.SecondOrderPATERClassifier("II", **k),
    "so-pater-diagonal": lambda **k: pater.SecondOrderPATERClassifier(covariance="diagonal", **k),
    "so-pater-step": lambda **k: pater.SecondOrderPATERClassifier("II", form="step", **k),
    "auto": lambda **k: pater.AutoPATERClassifier(**k),
    "perceptron": lambda **k: pater.Perceptron(**k),
    "pa": lambda **k: pater.PassiveAggressiveClassifier(**k),
    "alma": lambda **k: pater.ALMAClassifier(**k),
    "arow": lambda **k: pater.AROWClassifier(**k),
    "cw": lambda **k: pater.ConfidenceWeightedClassifier(**k),
    "so-perceptron": lambda **k: pater.SecondOrderPerceptron(**k),
}
COST = {"cost": {"false_positive": 1, "false_negative": 30}}


def rows(n, *, seed, turned=False, positives=0.05):
    """Two clouds along one direction, or along another after a drift."""
    random = np.random.default_rng(seed)
    direction = np.random.default_rng(5 + turned).normal(size=D)
    y = (random.random(n) < positives).astype(int)
    return random.normal(size=(n, D)) + 0.8 * np.outer(y, direction), y


def as_they_come(model, X, y, step=50):
    """Predictions for rows, some at a time, before learning from them."""
    said = []
    for start in range(0, len(y), step):
        some = slice(start, start + step)
        said.append(model.predict(X[some]))
        model.partial_fit(X[some], y[some])
    return np.concatenate(said)


def sampling_error(rate, n):
    return 4 * np.sqrt(rate * (1 - rate) / n)


@pytest.mark.first_quick
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_one_percent_of_false_alarms_ten_thousand_rows_later(name, average):
    model = LEARNERS[name](operating_point={"max_fpr": 0.01}, average=average)
    model.partial_fit(*rows(20_000, seed=0))
    X, y = rows(15_000, seed=1)
    late = as_they_come(model, X, y)[5_000:]
    assert 0.005 <= late[y[5_000:] == 0].mean() <= 0.02


@pytest.mark.parametrize("name", ["so-pater-i", "so-pater-ii", "perceptron", "pa", "alma", "arow", "cw"])
def test_a_threshold_that_stays_as_it_was_holds_too(name):
    """If the margins have a unit: those of PATER-I grow and shrink with its weights."""
    model = LEARNERS[name](operating_point={"max_fpr": 0.01}, average=True)
    model.partial_fit(*rows(20_000, seed=0))
    threshold = model.threshold_
    model.partial_fit(*rows(10_000, seed=1))
    X, y = rows(20_000, seed=2)
    assert 0.005 <= np.mean(model.decision_function(X)[y == 0] >= threshold) <= 0.02


@pytest.mark.first_quick
@pytest.mark.parametrize("point", [{"max_fpr": 0.05}, {"max_fnr": 0.2}])
@pytest.mark.parametrize("name", ["pater-i", "so-pater-i"])
def test_the_rate_holds_and_holds_again_after_a_drift(name, point):
    ((kind, rate),) = point.items()
    model = LEARNERS[name](operating_point=point)
    model.partial_fit(*rows(30_000, seed=0))
    for turned in (False, True):
        if turned:
            as_they_come(model, *rows(60_000, seed=1, turned=True), step=500)
        X, y = rows(30_000, seed=2 + turned, turned=turned)
        said = as_they_come(model, X, y)
        of_class = said[y == 0] if kind == "max_fpr" else 1 - said[y == 1]
        n = min(of_class.size, 10_000)  # the threshold itself comes from at most this many samples of the class
        assert abs(of_class.mean() - rate) <= sampling_error(rate, n) + 0.1 * rate


def test_the_cost_is_near_the_least_that_any_threshold_has():
    model = pater.SecondOrderPATERClassifier(operating_point=COST).fit(*rows(40_000, seed=0))
    X, y = rows(100_000, seed=1)
    margins = model.decision_function(X)

    def cost(said):
        return np.mean((said & (y == 0)) + 30.0 * (~said & (y == 1)))

    least = min(cost(margins >= threshold) for threshold in np.quantile(margins, np.linspace(0, 1, 200)))
    assert cost(model.predict(X) == 1) <= 1.02 * least
    assert cost(margins >= 0) > 1.02 * least


@pytest.mark.first_quick
@pytest.mark.parametrize("point", [{"max_fpr": 0.05}, {"max_fnr": 0.1}, COST])
@pytest.mark.parametrize("name", ["pater-i", "so-pater-i", "auto", "alma"])
def test_the_threshold_does_not_depend_on_how_the_stream_is_cut(name, point):
    X, y = rows(1_500, seed=0)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    seen = []
    for cuts in ([], [1, 2, 3, 700], np.arange(7, 1_500, 7)):
        model = LEARNERS[name](operating_point=point)
        for some in np.split(np.arange(len(y)), cuts):
            model.partial_fit(X[some], y[some], sample_weight=weight[some])
        seen.append((model._model.seen.counts.tobytes(), model._model.seen.numbers.tobytes(), model.threshold_))
    assert seen[0] == seen[1] == seen[2]


def test_large_batches_are_taken_in_pieces(monkeypatch):
    X, y = rows(3_000, seed=0)
    whole = pater.AutoPATERClassifier(("I", "II"), operating_point=COST).fit(X, y)
    monkeypatch.setattr("pater.models.model.MOST_MARGINS", 26 * 700)
    for pieces in (
        pater.AutoPATERClassifier(("I", "II"), operating_point=COST).fit(X, y),
        pater.AutoPATERClassifier(("I", "II"), operating_point=COST).partial_fit(X, y),
    ):
        assert pieces._model.seen.counts.tobytes() == whole._model.seen.counts.tobytes()
        assert pieces.threshold_ == whole.threshold_
        assert pieces.coef_.tobytes() == whole.coef_.tobytes()


@pytest.mark.parametrize("name", ["pater-i", "auto", "so-pater-diagonal"])
@pytest.mark.parametrize("point", [{"max_fpr": 0.05}, {"max_fnr": 0.1}, COST])
def test_saved_and_loaded_to_the_bit(name, point, tmp_path):
    X, y = rows(2_000, seed=0)
    model = LEARNERS[name](operating_point=point).partial_fit(X[:1_000], y[:1_000])
    model.save(tmp_path / "model.pater")
    again = pater.load(tmp_path / "model.pater")
    for each in (again, pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert each.get_params() == model.get_params()
        assert each.threshold_ == model.threshold_ != 0
        assert each.predict(X).tolist() == model.predict(X).tolist()
        each.partial_fit(X[1_000:], y[1_000:])
    assert again.threshold_ == model.partial_fit(X[1_000:], y[1_000:]).threshold_


def test_merged_from_halves_it_keeps_the_rate():
    X, y = rows(40_000, seed=0)
    halves = [
        pater.SecondOrderPATERClassifier(operating_point={"max_fpr": 0.02}).fit(X[some], y[some])
        for some in (slice(0, None, 2), slice(1, None, 2))
    ]
    merged = halves[0].merge(halves[1])
    X, y = rows(50_000, seed=1)
    assert 0.015 < merged.predict(X)[y == 0].mean() < 0.025
    assert merged.partial_fit(X[:100], y[:100]).threshold_ != 0


def test_only_predictions_change():
    X, y = rows(5_000, seed=0)
    plain = pater.PATERClassifier().fit(X, y)
    model = pater.PATERClassifier(operating_point={"max_fpr": 0.01}).fit(X, y)
    assert plain.threshold_ == 0.0
    assert plain._model.seen is None
    assert model.decision_function(X).tobytes() == plain.decision_function(X).tobytes()
    said = model.decision_function(X) >= model.threshold_
    assert model.predict(X).tolist() == said.astype(int).tolist()
    assert model.score(X, y) == np.mean(said == y)
    model.set_params(operating_point={"max_fnr": 0.01})  # the same margins give any threshold
    assert np.mean(model.predict(X)[y == 1] == 0) < 0.03
    model.set_params(operating_point=None)
    assert model.threshold_ == 0.0
    plain.set_params(operating_point={"max_fpr": 0.01})
    with pytest.raises(ValueError, match="takes effect with the next rows"):
        plain.predict(X)
    assert plain.partial_fit(X, y).threshold_ != 0.0


def test_before_both_classes_were_seen_it_decides_at_0():
    model = pater.PATERClassifier(operating_point={"max_fpr": 0.01}).partial_fit([[1.0], [2.0]], ["b", "b"])
    assert model.threshold_ == 0.0
    assert model.predict([[1.0]]).tolist() == ["b"]


def test_a_third_class_is_an_error_and_changes_nothing(unchanged_by):
    X, y = rows(300, seed=0)
    model = pater.PATERClassifier(operating_point={"max_fpr": 0.1}).partial_fit(X, y)
    told = unchanged_by(model, lambda: model.partial_fit(X[:3], [0, 1, 2]))
    assert "operating point is for two classes, but there are 3" in told
    with pytest.raises(ValueError, match="two classes"):
        pater.PATERClassifier(operating_point={"max_fpr": 0.1}).fit(X[:6], [0, 1, 2] * 2)
    with pytest.raises(ValueError, match="two classes"):
        pater.PATERClassifier(operating_point={"max_fpr": 0.1}).partial_fit(X[:2], [0, 1], classes=[0, 1, 2])
    several = pater.PATERClassifier().fit(X[:6], [0, 1, 2] * 2).set_params(operating_point={"max_fpr": 0.1})
    assert "two classes" in unchanged_by(several, lambda: several.partial_fit(X[:2], [0, 1]))


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ({"fpr": 0.1}, "must be None, {'max_fpr': rate}"),
        ({}, "must be None"),
        (0.01, "must be None"),
        ({"max_fpr": 0.1, "max_fnr": 0.1}, "must be None"),
        ({"max_fpr": 0.0}, "such that max_fpr is above 0 and below 1, got 0.0"),
        ({"max_fnr": 1}, "such that max_fnr is above 0 and below 1, got 1"),
        ({"max_fnr": float("nan")}, "above 0 and below 1"),
        ({"max_fpr": "0.1"}, "above 0 and below 1"),
        ({"cost": 5}, "must be None"),
        ({"cost": {"false_positive": 1}}, "must be None"),
        ({"cost": {"false_positive": 1, "false_negative": -2}}, "such that false_negative is a positive number"),
    ],
)
def test_what_is_no_operating_point_is_told(point, told, unchanged_by):
    X, y = rows(50, seed=0)
    model = pater.PATERClassifier().partial_fit(X, y).set_params(operating_point=point)
    assert told in unchanged_by(model, lambda: model.partial_fit(X, y))


def test_auto_chooses_by_what_it_predicts_at_the_operating_point():
    X, y = rows(20_000, seed=0)
    model = pater.AutoPATERClassifier(("I", "II"), operating_point={"max_fpr": 0.02}, discount=False).fit(X, y)
    counts, (chosen,) = model._model.confusion(), model._chosen(model._model)
    rates = (counts.fp / (counts.fp + counts.tn))[0]
    assert abs(rates[chosen] - 0.02) < 0.01
    assert chosen == model.progressive_scores_.argmax()
