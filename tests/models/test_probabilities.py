"""Probabilities are fitted to the margins that they are computed from, also in averaged models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

import pater
from pater.files.stored_state import REALS, WHOLE_NUMBERS, scalars_of
from pater.kernels.run import learn
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.predict import probabilities

LEARNERS = {
    "pater-i": lambda **k: pater.PATERClassifier(**k),
    "pater-ii": lambda **k: pater.PATERClassifier("II", **k),
    "perceptron": lambda **k: pater.Perceptron(**k),
    "pa-i": lambda **k: pater.PassiveAggressiveClassifier(**k),
    "alma": lambda **k: pater.ALMAClassifier(**k),
    "arow": lambda **k: pater.AROWClassifier(**k),
    "arow-diagonal": lambda **k: pater.AROWClassifier(covariance="diagonal", **k),
    "so-pater-i": lambda **k: pater.SecondOrderPATERClassifier(**k),
    "so-pater-i-diagonal": lambda **k: pater.SecondOrderPATERClassifier(covariance="diagonal", **k),
}


def rows(n, *, seed, d=20):
    """Drawn from a logistic model, a fifth of them positive."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    p = 1 / (1 + np.exp(1.5 - X @ np.random.default_rng(3).normal(size=d) / 2))
    return X, (random.random(n) < p).astype(int)


STEADY = ("arow", "arow-diagonal", "so-pater-i")  # the last weights of the others jump with every sample or mistake


@pytest.mark.first_quick
@pytest.mark.parametrize(
    ("name", "average"), [*((name, True) for name in LEARNERS), *((name, False) for name in STEADY)]
)
def test_the_log_loss_is_near_that_of_a_fit_to_rows_set_aside(name, average):
    model = LEARNERS[name](average=average, probability=True).fit(*rows(20_000, seed=0))
    X_aside, y_aside = rows(20_000, seed=1)
    X, y = rows(20_000, seed=2)
    margins, size = model.decision_function(X), model.decision_function(X).std()
    platt = LogisticRegression(C=1e6).fit(model.decision_function(X_aside)[:, None] / size, y_aside)
    best = log_loss(y, platt.predict_proba(margins[:, None] / size)[:, 1])
    p = model.predict_proba(X)[:, 1]
    assert log_loss(y, p) <= 1.03 * best
    m = model._model.state.scalars[0]
    assert m["told"] == 20_000
    assert m["log_loss"] / m["told"] == pytest.approx(log_loss(y, p), rel=0.08)
    assert m["brier"] / m["told"] == pytest.approx(brier_score_loss(y, p), rel=0.08)


@pytest.mark.parametrize(("name", "class_weight"), [("so-pater-i", None), ("arow", "balanced")])
@pytest.mark.parametrize(("n", "multiple"), [(3_000, 1.15), pytest.param(20_000, 1.05, marks=pytest.mark.slow)])
def test_probabilities_of_rare_events_that_margins_tell_well(name, class_weight, n, multiple):
    """The curve has to become steep, from rows that mostly say nothing about it."""
    random = np.random.default_rng(2)
    X = random.normal(size=(n + 20_000, 6))
    y = (random.random(len(X)) < 1 / (1 + np.exp(11 - 2 * X @ [1.6, 1.0, 0.0, 0.8, -0.8, 0.0]))).astype(int)
    model = LEARNERS[name](class_weight=class_weight, probability=True).fit(X[:n], y[:n])
    margins, y = model.decision_function(X[n:])[:, None], y[n:]
    best = log_loss(y, LogisticRegression(C=1e6).fit(margins, y).predict_proba(margins)[:, 1])
    assert log_loss(y, model.predict_proba(X[n:])[:, 1]) <= multiple * best


def weighted_rows(seed, draw):
    """Rare events, each row with a weight that has nothing to do with them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(20_000, 3))
    p = 1 / (1 + np.exp(5 - 1.5 * X[:, 0]))
    return X, p, (random.random(len(X)) < p).astype(int), draw(random, len(X))


@pytest.mark.parametrize("draw", [lambda random, n: random.lognormal(5, 2, n), lambda random, n: np.full(n, 1e4)])
@pytest.mark.parametrize("name", ["pater-i", "pater-ii", "arow", "so-pater-i"])
def test_heavy_weights_do_not_throw_the_curve_off(name, draw):
    for seed in range(4):
        X, p, y, weights = weighted_rows(seed, draw)
        model = LEARNERS[name](average=True, probability=True).fit(X[:10_000], y[:10_000], weights[:10_000])
        aside = {"sample_weight": weights[10_000:]}
        best = log_loss(y[10_000:], p[10_000:], **aside)
        assert log_loss(y[10_000:], model.predict_proba(X[10_000:])[:, 1], **aside) <= best + 0.05


@pytest.mark.parametrize("name", ["pater-i", "pater-ii"])  # to whose margins it does not matter, either
@pytest.mark.parametrize("unit", [1e-6, 1e-2, 1e2, 1e6])
def test_the_unit_of_the_weights_does_not_matter(name, unit):
    X, _, y, weights = weighted_rows(0, lambda random, n: random.lognormal(0, 1, n))
    said = [
        LEARNERS[name](probability=True).fit(X[:5_000], y[:5_000], each * weights[:5_000]).predict_proba(X[5_000:])
        for each in (1.0, unit)
    ]
    np.testing.assert_allclose(*said, rtol=1e-6)


def test_the_curvature_of_earlier_formats_was_in_the_unit_of_the_weights():
    X, _, y, weights = weighted_rows(0, lambda random, n: np.full(n, 1e4))
    m = LEARNERS["pater-i"](probability=True).fit(X, y, weights)._model.state.scalars
    earlier, names = m.copy(), [name for name in REALS if name != "usual_weight"]
    for name in ("slope_slope", "slope_offset", "offset_offset"):
        earlier[name] *= 1e4
    arrays = {
        "reals": np.stack([earlier[name] for name in names], axis=1),
        "counts": np.stack([earlier[name] for name in WHOLE_NUMBERS], axis=1),
    }
    now = scalars_of(arrays, {"reals": names, "counts": WHOLE_NUMBERS}, 1)
    for name in REALS:
        np.testing.assert_allclose(now[name], m[name], rtol=1e-12)


def test_several_classes_have_probabilities_whatever_the_weights():
    X, y = rows(3_000, seed=0)
    y = y + (X[:, 0] > 1)
    weights = np.random.default_rng(4).lognormal(8, 3, len(X))
    for name in ("pater-ii", "so-pater-i"):
        p = LEARNERS[name](probability=True).fit(X, y, weights).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_probabilities_of_several_classes_that_all_seem_impossible():
    model = LEARNERS["pater-i"](probability=True).fit(*rows(300, seed=0))
    scalars = np.repeat(model._model.state.scalars, 3)
    scalars["offset"] = -1e4
    np.testing.assert_allclose(probabilities(np.zeros((2, 3)), scalars, 3, average=False), 1 / 3, rtol=1e-12)


@pytest.mark.first_quick
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_margins_of_an_averaged_model_are_those_of_its_average(name, form):
    X, y = rows(300, seed=0)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    X = form(X)
    by_row = LEARNERS[name](average=True, probability=True)
    by_row.partial_fit(X[:1], y[:1], classes=[0, 1])
    said = []
    for k in range(1, len(y)):
        said.append(by_row.decision_function(X[k : k + 1])[0])
        by_row.partial_fit(X[k : k + 1], y[k : k + 1], sample_weight=weight[k : k + 1])
    specs = by_row._checked_specs()
    model = Model.new(np.array([0, 1]), X.shape[1], specs)
    model.learn(rows_of(X[:1]), y[:1])
    margins = np.empty((1, len(y) - 1))
    assert learn(rows_of(X[1:]), y[1:], model.state, model.settings(), weights=weight[1:], margins=margins) < 0
    np.testing.assert_allclose(margins[0], said, rtol=1e-9, atol=1e-9 * np.abs(said).max())
    assert model.state.scalars.tobytes() == by_row._model.state.scalars.tobytes()
    plain = LEARNERS[name](average=True).partial_fit(X[:1], y[:1], classes=[0, 1])
    plain.partial_fit(X[1:], y[1:], sample_weight=weight[1:])
    assert plain.coef_.tobytes() == by_row.coef_.tobytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_first_rows_are_not_told_for_sure(name):
    """One row of each class shows little; on ten rows, predicting one half has a log loss of log 2."""
    lost = 0.0
    for seed in range(20):
        X, y = rows(10, seed=seed)
        model = LEARNERS[name](average=True, probability=True)
        model.partial_fit([X[0], -X[0]], [0, 1])
        assert np.abs(model.predict_proba(X) - 0.5).max() < 0.3
        model = LEARNERS[name](average=True, probability=True).partial_fit(X, y, classes=[0, 1])
        m = model._model.state.scalars[0]
        lost += m["log_loss"] / m["told"] / 20
    assert lost <= 1.2 * np.log(2)
