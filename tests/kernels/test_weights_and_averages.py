"""Importance of samples, class weights from the counts so far, and averaged weights, each as documented.

The weight of a sample multiplies its part in the class counts, the class means and the loss. For rules that move along
the sample, it multiplies the step. Weight 0 is a no-op.
"""

from __future__ import annotations

import numpy as np
import pytest

from pater import PATERClassifier
from pater.kernels.rules import RULES
from pater.reference import first_order as reference
from pater.reference import second_order as reference_second

FORMS = [(5, "dense-f8"), (80, "dense-f8"), (5, "csr-f8-i4"), (80, "csr-f4-i8")]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_weight_zero_is_a_no_op(rule, d, form, weight, learner, as_form, stream, bits, weights):
    """As if the rows were absent: nothing is counted, not even by t_."""
    X, y = stream(500, d)
    s = np.random.default_rng(0).exponential(size=500) * (np.arange(500) % 3 > 0)
    kept = s > 0
    model = learner(rule, class_weight=weight, average=True).fit(as_form(X, form), y, sample_weight=s)
    without = learner(rule, class_weight=weight, average=True)
    without.fit(as_form(X[kept], form), y[kept], sample_weight=s[kept])
    assert model.t_ == without.t_ == kept.sum()
    assert weights(model).tobytes() == weights(without).tobytes()
    before = bits(model)
    model.partial_fit(as_form(X, form), y, sample_weight=np.zeros(500))
    assert bits(model) == before


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("width", [2, 70])
def test_importance_by_hand(variant, width, weights):
    """Three samples without an intercept: x₁ = (1, 0), +, s = 3; x₂ = (0, 2), −, s = ½; x₃ = (0, 4), −, s = 3/2.

    x₁: n⁺ = 3, z = (1, 0), ℓ = 1, s·ℓ/n⁺ = 1: w = (1, 0).
    x₂: ℓ = 1, n⁻ = ½, z⁻ = (0, 2), k⁻ = 1. z = (1, −2), ‖z‖² = 5. I: τ = 1/5. II: τ = (1 + 1)/5.
    x₃: n⁻ = 2, z⁻ = (½·(0, 2) + 3/2·(0, 4))/2 = (0, 7/2), z = (1, −7/2), ‖z‖² = 53/4.
        I: w = (6/5, −2/5), f = −8/5, ℓ = 0: passive, w stays.
        II: w = (7/5, −4/5), f = −16/5, ℓ = 0, k⁻ = ½·1/2 = 1/4, k⁺ = 1: τ = (5/4)/(53/4) = 5/53.
    """
    X = np.zeros((3, width))
    X[:, :2] = [[1, 0], [0, 2], [0, 4]]
    model = PATERClassifier(variant, fit_intercept=False).fit(X, [1, -1, -1], sample_weight=[3, 0.5, 1.5])
    expected = [6 / 5, -2 / 5] if variant == "I" else [7 / 5 + 5 / 53, -4 / 5 - 7 / 2 * 5 / 53]
    np.testing.assert_allclose(weights(model)[0, :2], expected, rtol=1e-14)
    m = model._model.state.scalars[0]
    assert (m["n_pos"], m["n_neg"]) == (3, 0.5 if variant == "I" else 2)
    assert (m["seen_pos"], m["seen_neg"], m["t"]) == (3, 2, 3)


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_only_the_ratio_of_importances_matters_to_the_mean_rules(variant, d, form, as_form, stream, weights):
    """A power of two as a factor changes no bit of w."""
    X, y = stream(500, d)
    s = np.random.default_rng(0).exponential(size=500)
    a, b = (PATERClassifier(variant).fit(as_form(X, form), y, sample_weight=c * s) for c in (1, 2.0**20))
    assert (weights(a) == weights(b)).all()


@pytest.mark.parametrize("rule", ["perceptron", "pa", "pa-i", "pa-ii"])
def test_importance_multiplies_the_step_of_the_point_rules(rule, learner):
    once = learner(rule).partial_fit([[2.0, 1.0]], [1], classes=[-1, 1])
    thrice = learner(rule).partial_fit([[2.0, 1.0]], [1], classes=[-1, 1], sample_weight=[3.0])
    assert (thrice.coef_ == 3 * once.coef_).all()
    assert (thrice.intercept_ == 3 * once.intercept_).all()


def test_a_scalar_importance_is_that_of_every_row(stream, bits):
    X, y = stream(100, 4)
    for weight in (2, 0.5):
        one = PATERClassifier().fit(X, y, sample_weight=weight)
        assert bits(one) == bits(PATERClassifier().fit(X, y, sample_weight=np.full(100, float(weight))))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_balanced_is_from_the_counts_so_far(rule, form, learner, as_form, stream, weights, bits):
    """In partial_fit as in fit, including importance; against the reference, which has n/(2·n^c) in one line.

    PATER weighs classes equally by itself, so nothing changes, to the bit.
    """
    X, y = stream(800, 5)
    s = np.random.default_rng(0).exponential(size=800)
    whole = learner(rule, class_weight="balanced").fit(as_form(X, form), y, sample_weight=s)
    parts = learner(rule, class_weight="balanced")
    for start in range(0, 800, 7):
        rows = slice(start, start + 7)
        parts.partial_fit(as_form(X[rows], form), y[rows], sample_weight=s[rows])
    assert bits(parts) == bits(whole)
    with_ones = np.hstack([X, np.ones((800, 1))])
    if RULES[rule].moves_along_means:
        assert bits(whole) == bits(learner(rule).fit(as_form(X, form), y, sample_weight=s))
        return
    if rule == "cw":
        return  # amplifies the noise of this stream, and its own rounding, beyond comparison
    elif rule in ("scw-i", "scw-ii"):
        exact = reference_second.confidence_weighted(with_ones, y, rule.upper(), alpha="balanced", s=s)
    elif rule in ("arow", "alma", "so-perceptron"):
        exact = getattr(reference_second, rule.replace("-", "_"))(with_ones, y, alpha="balanced", s=s)
    else:
        C = [1.0] if "C" in RULES[rule].settings else []
        exact = getattr(reference, rule.replace("-", "_"))(with_ones, y, *C, alpha="balanced", s=s)
    np.testing.assert_allclose(weights(whole)[0], exact[-1], rtol=0, atol=1e-9 * np.abs(exact[-1]).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_the_average_is_that_of_the_weights_after_each_sample(rule, d, form, learner, as_form, stream, weights):
    """Summed here row by row from the plain learner; a sample of weight 0 does not count."""
    X, y = stream(300, d)
    s = np.resize([1.0, 0.0, 2.0, 0.5], 300)
    X = as_form(X, form)
    plain, total = learner(rule), 0.0
    for i in range(300):
        plain.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1], sample_weight=s[i : i + 1])
        total = total + weights(plain) * (s[i] > 0)
    averaged = learner(rule, average=True).fit(X, y, sample_weight=s)
    expected = total / (s > 0).sum()
    np.testing.assert_allclose(weights(averaged), expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    margins = averaged.decision_function(X)
    np.testing.assert_allclose(margins, X @ averaged.coef_[0] + averaged.intercept_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_averaging_does_not_change_how_it_learns(rule, d, form, learner, as_form, stream):
    X, y = stream(300, d)
    X = as_form(X, form)
    plain, averaged = learner(rule).fit(X, y), learner(rule, average=True).fit(X, y)
    averaged.set_params(average=False)
    assert averaged.coef_.tobytes() == plain.coef_.tobytes()


def test_the_average_of_several_passes_counts_every_visit(stream, weights):
    X, y = stream(200, 5)
    twice = PATERClassifier(average=True, n_passes=2).fit(X, y)
    stacked = PATERClassifier(average=True).fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert weights(twice).tobytes() == weights(stacked).tobytes()
