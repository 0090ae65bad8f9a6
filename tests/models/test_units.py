"""Margins and weights in a unit that holds along the stream and for all models, where their length means nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

import pater
from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.kernels import run
from pater.models import matrices

GROWING = {
    "PATER-II": lambda: PATERClassifier("II"),
    "PATER-II, averaged": lambda: PATERClassifier("II", average=True),
    "PATER-II, forgetting": lambda: PATERClassifier("II", forgetting=0.999),
    "second order, step": lambda: SecondOrderPATERClassifier("II", form="step"),
    "second order, step, diagonal": lambda: SecondOrderPATERClassifier(
        "II", form="step", covariance="diagonal", average=False
    ),
    "second order, step, averaged": lambda: SecondOrderPATERClassifier("II", form="step", average=True),
    "second order, diagonal": lambda: SecondOrderPATERClassifier(covariance="diagonal"),
    "Auto": lambda: AutoPATERClassifier(("II",)),
    "Auto, as it comes": lambda: AutoPATERClassifier(),
}
# Those whose direction turns, so that no threshold holds in any unit, and how far their sizes differ.
TURNING = {
    "PATER-I": (lambda: PATERClassifier("I"), 5),
    "PATER-I, averaged": (lambda: PATERClassifier("I", average=True), 5),
    "PATER-I, forgetting": (lambda: PATERClassifier("I", forgetting=0.999), 5),
    "PATER-I, forgetting, averaged": (lambda: PATERClassifier("I", forgetting=0.999, average=True), 5),
    "PATER-II, forgetting, averaged": (lambda: PATERClassifier("II", forgetting=0.999, average=True), 2),
    "second order, step I": (lambda: SecondOrderPATERClassifier("I", form="step"), 2),
    "second order, step I, diagonal": (
        lambda: SecondOrderPATERClassifier("I", form="step", covariance="diagonal", average=False, forgetting=0.999),
        5,
    ),
}
EVERY = {**{name: (make, 2) for name, make in GROWING.items()}, **TURNING}


def noisy(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that no plane separates, 10 % of them positive."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    return rng.normal(size=(n, 5)) + y[:, None] * 0.6, y


def sizes_along(model, n_rows: int, step: int) -> list[float]:
    """The deviation of margins on the same fresh rows, after every `step` rows."""
    X, y = noisy(n_rows)
    X_new, _ = noisy(2_000, seed=1)
    sizes = []
    for start in range(0, n_rows, step):
        model.partial_fit(X[start : start + step], y[start : start + step])
        sizes.append(float(np.std(model.decision_function(X_new))))
    np.testing.assert_allclose(X_new @ model.coef_[0] + model.intercept_, model.decision_function(X_new), rtol=1e-9)
    return sizes


@pytest.mark.parametrize("name", EVERY)
def test_margins_keep_their_size_along_the_stream(name):
    make, factor = EVERY[name]
    sizes = sizes_along(make(), 60_000, 10_000)
    assert max(sizes) < factor * min(sizes)
    assert 0.1 < min(sizes) <= max(sizes) < 20


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_margins_keep_their_size_along_a_long_stream(name):
    make, factor = EVERY[name]
    sizes = sizes_along(make(), 200_000, 20_000)
    assert max(sizes) < factor * min(sizes)


@pytest.mark.parametrize("name", GROWING)
def test_a_threshold_for_one_percent_of_false_alarms_holds_ten_thousand_rows_later(name):
    X, y = noisy(60_000)
    model = GROWING[name]().fit(X[:30_000], y[:30_000])
    negatives = X[20_000:30_000][y[20_000:30_000] == 0]
    threshold = np.quantile(model.decision_function(negatives), 0.99)
    model.partial_fit(X[30_000:40_000], y[30_000:40_000])
    later = X[40_000:][y[40_000:] == 0]
    assert 0.005 < np.mean(model.decision_function(later) >= threshold) < 0.02


def test_one_against_the_rest_compares_what_can_be_compared():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1200], order[1200:]
    for model, least in (
        (PATERClassifier("II"), 0.86),
        (PATERClassifier("II", average=True), 0.86),
        (PATERClassifier("I", forgetting=0.999), 0.83),
        (SecondOrderPATERClassifier(), 0.94),
        (SecondOrderPATERClassifier(covariance="diagonal"), 0.9),
    ):
        assert model.fit(X[train], y[train]).score(X[test], y[test]) >= least


@pytest.mark.first_quick
@pytest.mark.parametrize("name", [*GROWING, "PATER-II, forgetting, averaged", "PATER-I, averaged"])
def test_calibrated_classifier_has_the_auc_of_the_margins(name):
    X, y = noisy(30_000)
    X_new, y_new = noisy(10_000, seed=1)
    make, _ = EVERY[name]
    own = roc_auc_score(y_new, make().fit(X, y).decision_function(X_new))
    calibrated = CalibratedClassifierCV(make()).fit(X, y).predict_proba(X_new)[:, 1]
    assert roc_auc_score(y_new, calibrated) == pytest.approx(own, abs=0.01)


def test_the_paper_s_own_numbers_stay_in_the_state():
    """Reported weights are those divided by the usual size of the margins, and nothing else."""
    X, y = noisy(800)
    model = PATERClassifier("II").fit(X, y)
    state = model._model.state
    w, bias = state.own_weights()
    size = np.sqrt(state.scalars["size_square"])
    np.testing.assert_allclose(model.coef_, w / size, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, bias / size, rtol=1e-12)


def test_the_average_is_told_as_the_average_of_what_was_told():
    """Each of the weights counts with its share in their average."""
    X, y = noisy(600)
    model, of_last, weighed, sizes = PATERClassifier("II", average=True), PATERClassifier("II"), 0.0, 0.0
    for i in range(len(y)):
        for each in (model, of_last):
            each.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        size = np.sqrt(of_last._model.state.scalars["size_square"])
        weighed, sizes = weighed + size * of_last.coef_ if size else weighed, sizes + size
    np.testing.assert_allclose(model.coef_, weighed / sizes, rtol=1e-9)


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_averages_say_before_learning_what_they_say_when_asked(variant, form):
    X, y = noisy(300)
    model, margins = PATERClassifier(variant, average=True).fit(form(X[:200]), y[:200]), np.empty((1, 100))
    asked = []
    step = copy.deepcopy(model)
    for i in range(200, 300):
        asked.append(step.decision_function(form(X[i : i + 1]))[0])
        step.partial_fit(form(X[i : i + 1]), y[i : i + 1])
    state = model._model.state.copy()
    run.learn(matrices.rows_of(form(X[200:])), y[200:], state, model._model.settings(), margins=margins)
    np.testing.assert_allclose(margins[0], asked, rtol=1e-9)


def test_probabilities_do_not_depend_on_the_unit():
    """p = σ(slope·r + offset) for the margin over its running size r, both for the average in the paper's own unit.

    After t rows, r is scaled by t/(t + 10).
    """
    X, y = noisy(3_000)
    model = PATERClassifier("II", average=True, probability=True).fit(X, y)
    state = model._model.state
    w, bias = state.own_weights(average=True)
    m = state.scalars[0]
    r = np.clip((X @ w[0] + bias[0]) / np.sqrt(m["margin_square"]), -10, 10)
    r *= m["t"] / (m["t"] + 10)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-(m["slope"] * r + m["offset"]))), rtol=1e-9
    )


@pytest.mark.parametrize("variant", ["I", "II"])
def test_the_unit_of_an_average_is_saved_and_merged(variant, tmp_path):
    X, y = noisy(4_000)
    a, b = (PATERClassifier(variant, average=True).fit(X[k::2], y[k::2]) for k in (0, 1))
    a.save(tmp_path / "a.pater")
    again = pater.load(tmp_path / "a.pater")
    assert again.coef_.tobytes() == a.coef_.tobytes()
    sizes = [np.std(model.decision_function(X)) for model in (a, b, copy.deepcopy(a).merge(b))]
    assert max(sizes) < 3 * min(sizes)
    twin = copy.deepcopy(a)
    np.testing.assert_allclose(copy.deepcopy(a).merge(twin).coef_, a.coef_, rtol=1e-9)


def test_a_file_without_a_size_of_the_average_is_told_in_that_of_the_last_weights():
    X, y = noisy(4_000)
    model = PATERClassifier("II", average=True).fit(X[:3_000], y[:3_000])
    whole = copy.deepcopy(model).partial_fit(X[3_000:], y[3_000:])
    state = model._model.state
    state.scalars["mean_size"] = 0.0
    w, _ = state.own_weights(average=True)
    np.testing.assert_allclose(model.coef_, w / np.sqrt(state.scalars["size_square"]), rtol=1e-12)
    model.partial_fit(X[3_000:], y[3_000:])
    assert np.std(model.decision_function(X)) == pytest.approx(np.std(whole.decision_function(X)), rel=0.5)


def test_a_model_that_begins_to_average_keeps_its_unit():
    X, y = noisy(4_000)
    model = PATERClassifier("II").fit(X[:3_000], y[:3_000])
    before = model.coef_
    model.set_params(average=True).partial_fit(X[3_000:3_001], y[3_000:3_001])
    np.testing.assert_allclose(model.coef_, before, rtol=0.05)
