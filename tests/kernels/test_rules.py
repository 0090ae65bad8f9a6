"""The mathematics of one step, by hand: what each rule does with a sample, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pater import PassiveAggressiveClassifier, PATERClassifier, Perceptron
from pater.kernels import rules, steps
from pater.kernels.rules import RULES, pa, pa_ii, perceptron
from pater.models.spec import RECORD

MEAN_RULES = [name for name, rule in RULES.items() if rule.moves_along_means]
POINT_RULES = [name for name in RULES if name not in MEAN_RULES]
WIDTHS = [3, 80]  # for the pass that touches only a row's entries, and for the one for wide dense rows

floats = st.floats(-1e3, 1e3)


def test_the_table_of_rules_names_every_code_once():
    assert sorted(rule.code for rule in RULES.values()) == list(range(len(RULES)))


@given(margin=floats, xx=st.floats(1e-3, 1e6), C=st.floats(1e-3, 1e3))
def test_point_rules_are_their_formulas(margin, xx, C):
    loss = max(0.0, 1 - margin)
    assert rules.hinge(margin) == loss
    assert rules.perceptron(margin) == (margin <= 0)
    assert rules.pa(margin, xx) == loss / xx
    assert rules.pa_i(margin, xx, C) == min(C, loss / xx)
    assert rules.pa_ii(margin, xx, C) == pytest.approx(loss / (xx + 1 / (2 * C)), rel=1e-15)
    p = np.zeros(1, RECORD).view(np.recarray)[0]
    p["C"] = C
    for name, tau in (("perceptron", perceptron(margin)), ("pa", pa(margin, xx)), ("pa-ii", pa_ii(margin, xx, C))):
        assert steps.point_step(RULES[name].code, margin, xx, 1.0, p) == tau


@given(own=st.floats(0, 1e3), accumulated=st.floats(0, 1e3))
def test_mean_rules_take_off_the_loss_of_the_sample_or_all_of_it(own, accumulated):
    for name, loss in (("pater-i", own), ("pater-ii", accumulated), ("so-pater-i", own), ("so-pater-ii", accumulated)):
        assert steps.loss_to_take(RULES[name].code, own, accumulated) == loss


def test_a_row_of_zeros_asks_for_no_step():
    assert rules.pa(-1.0, 0.0) == rules.pa_i(-1.0, 0.0, 1.0) == rules.pa_ii(-1.0, 0.0, 1.0) == 0.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("d", WIDTHS)
def test_after_an_uncapped_pa_step_the_margin_is_one(d, intercept):
    """The intercept's 1 is part of ‖x‖²: without it, the step would overshoot."""
    rng = np.random.default_rng(0)
    model = PassiveAggressiveClassifier("PA", fit_intercept=intercept)
    for x, y in zip(rng.normal(size=(50, 1, d)), rng.choice([-1, 1], 50), strict=True):
        passive = bool("_model" in vars(model) and y * model.decision_function(x)[0] >= 1)
        model.partial_fit(x, [y], classes=[-1, 1])
        if not passive:
            assert y * model.decision_function(x)[0] == pytest.approx(1.0, abs=1e-12)


def test_pa_i_goes_at_most_c_and_pa_ii_less_far():
    x = np.array([[2.0, 0.0]])
    # ‖x‖² = 4 + 1, ℓ = 1
    for variant, C, tau in (("PA", 0.01, 1 / 5), ("PA-I", 10.0, 1 / 5), ("PA-I", 0.01, 0.01), ("PA-II", 0.5, 1 / 6)):
        model = PassiveAggressiveClassifier(variant, C=C).partial_fit(x, [1], classes=[-1, 1])
        np.testing.assert_allclose(model.coef_, [[2 * tau, 0]], rtol=1e-15)
        np.testing.assert_allclose(model.intercept_, [tau], rtol=1e-15)


def test_the_perceptron_counts_a_sample_on_the_boundary_as_a_mistake():
    model = Perceptron().partial_fit([[3.0, -1.0]], [-1], classes=[-1, 1])
    assert model.coef_.tolist() == [[-3.0, 1.0]]
    assert model.intercept_.tolist() == [-1.0]
    model.partial_fit([[3.0, -1.0]], [-1])
    assert model.coef_.tolist() == [[-3.0, 1.0]]


@pytest.mark.parametrize("rule", ["pa", "pa-i", "pa-ii", "pater-i"])
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_a_passive_step_leaves_every_bit(rule, d, form, learner, as_form, stream, bits, weights):
    """Of the vectors and all scalars except the counts and sizes of what was seen; and w as a whole."""
    X, y = stream(200, d, noise=0)
    model = learner(rule).partial_fit(as_form(X, form), y)
    margins = y * (np.c_[X, np.ones(len(X))] @ weights(model)[0])
    quiet = np.flatnonzero(margins > 1.0 + 1e-9)[:5]
    assert quiet.size == 5
    before, w = bits(model), weights(model)
    for i in quiet:
        model.partial_fit(as_form(X[i : i + 1], form), y[i : i + 1])
    after = bits(model)
    counts = {"t", "seen_pos", "seen_neg"} | ({"size_square"} if rule == "pater-i" else set())
    assert {name for name in after if after[name] != before[name]} <= counts
    assert weights(model).tobytes() == w.tobytes()
    assert model.t_ == 200 + 5


@pytest.mark.parametrize("d", WIDTHS)
def test_pater_i_takes_margin_violators_only_into_its_means(d, stream, weights):
    X, y = stream(500, d)
    model = PATERClassifier("I")
    inside = np.zeros(500, bool)
    for i in range(500):
        inside[i] = i == 0 or y[i] * (weights(model)[0] @ [*X[i], 1]) < 1
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    m, vectors = model._model.state.scalars[0], model._model.state.kinds()[0]
    assert 0 < inside.sum() < 500
    assert (m["n_pos"], m["n_neg"]) == ((inside & (y > 0)).sum(), (inside & (y < 0)).sum())
    assert (m["seen_pos"], m["seen_neg"], m["t"]) == ((y > 0).sum(), (y < 0).sum(), 500)
    np.testing.assert_allclose(vectors[1], X[inside & (y > 0)].sum(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(vectors[2], X[inside & (y < 0)].sum(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", ["dense-f8", "dense-f4", "csr-f8-i4"])
@pytest.mark.parametrize("d", WIDTHS)
def test_pater_ii_takes_every_sample_and_its_class_sums_are_exact(d, form, as_form):
    """Whole numbers add without rounding, so nothing may be missing."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(-9, 10, (1000, d)).astype(float), rng.choice([-1, 1], 1000)
    model = PATERClassifier("II").fit(as_form(X, form), y)
    m, vectors = model._model.state.scalars[0], model._model.state.kinds()[0]
    assert (vectors[1] == X[y > 0].sum(axis=0)).all()
    assert (vectors[2] == X[y < 0].sum(axis=0)).all()
    assert (m["n_pos"], m["n_neg"], m["t"]) == ((y > 0).sum(), (y < 0).sum(), 1000)


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("d", WIDTHS)
def test_the_first_pater_step_ends_on_the_margin(variant, d):
    """One sample: z = ±x and n = 1, so that τ = 1/‖x‖² (including the intercept), as in PA."""
    x = np.random.default_rng(2).normal(size=(1, d))
    for label in (-1, 1):
        model = PATERClassifier(variant).partial_fit(x, [label], classes=[-1, 1])
        assert model.decision_function(x)[0] == pytest.approx(label, abs=1e-13)
        np.testing.assert_allclose(model.coef_, label * x / (x @ x.T + 1), rtol=1e-13)


@pytest.mark.parametrize("width", WIDTHS)
def test_pater_by_hand(width, weights):
    """Three samples without an intercept; columns of zeros change nothing.

    x₁ = (1, 0), +: z = (1, 0), w = (1, 0).
    x₂ = (0, 2), −: f = 0, ℓ = 1. z = (1, −2), ‖z‖² = 5. Variant I: τ = ℓ/n⁻/5 = 1/5, w = (6/5, −2/5).
        Variant II: k⁺ = 1, k⁻ = 1, τ = 2/5, w = (7/5, −4/5).
    x₃ = (3, 0), −: I: f = 18/5, ℓ = 23/5. z⁻ = (3/2, 1), z = (−1/2, −1), ‖z‖² = 5/4, τ = (23/10)/(5/4) = 46/25,
        w = (6/5 − 23/25, −2/5 − 46/25) = (7/25, −56/25).
        II: f = 21/5, ℓ = 26/5, k⁻ = 31/10, τ = (41/10)/(5/4) = 82/25, w = (7/5 − 41/25, −4/5 − 82/25).
    """
    X = np.zeros((3, width))
    X[:, :2] = [[1, 0], [0, 2], [3, 0]]
    for variant, expected in (("I", [7 / 25, -56 / 25]), ("II", [-6 / 25, -102 / 25])):
        model = PATERClassifier(variant, fit_intercept=False).fit(X, [1, -1, -1])
        np.testing.assert_allclose(weights(model)[0, :2], expected, rtol=1e-14)
        assert (model.coef_[0, 2:] == 0).all()
        assert model.intercept_ == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_wpater_by_hand(width, weights):
    """As above, with α⁻ = 1/2 and α⁺ = 2, for two samples.

    x₁: z = (2, 0), τ = 2/4, w = (1, 0).
    x₂: ℓ = 1, z = (2, 0) − (0, 1), ‖z‖² = 5. I: τ = ½/5, w = (6/5, −1/10). II: τ = (½ + 2)/5 = ½, w = (2, −½).
    """
    X = np.zeros((2, width))
    X[:, :2] = [[1, 0], [0, 2]]
    for variant, expected in (("I", [6 / 5, -1 / 10]), ("II", [2, -1 / 2])):
        model = PATERClassifier(variant, class_weight={-1: 0.5, 1: 2.0}, fit_intercept=False).fit(X, [1, -1])
        np.testing.assert_allclose(weights(model)[0, :2], expected, rtol=1e-14)


@pytest.mark.parametrize("rule", POINT_RULES + MEAN_RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_of_zeros_are_defined(rule, d, intercept, learner, weights):
    """Without an intercept they move nothing; with one, only it moves."""
    zeros, y = np.zeros((6, d)), [1, -1, 1, 1, -1, -1]
    model = learner(rule, fit_intercept=intercept).fit(zeros, y)
    assert (model.coef_ == 0).all()
    assert np.isfinite(weights(model)).all()
    assert intercept or model.intercept_ == 0
    ones = np.ones((1, d))
    model.partial_fit(ones, [1])
    assert np.isfinite(weights(model)).all()
    assert model.t_ == 7
