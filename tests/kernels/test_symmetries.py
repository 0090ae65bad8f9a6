"""What must not matter, or only in one known way: the unit of X, which class is +1, the unit of the weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pater import PATERClassifier
from pater.kernels.rules import RULES

FORMS = ["dense-f8", "csr-f8-i4"]
WIDTHS = [4, 80]
SCALE_FREE = ["pa", "pater-i", "pater-ii"]  # steps of the others are capped, or determined, by C in the unit of 1/‖x‖²


@pytest.mark.parametrize("rule", SCALE_FREE)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=10)
@given(exponent=st.integers(-300, 300))
def test_a_power_of_two_on_x_goes_into_w_exactly(rule, d, form, exponent, learner, as_form, stream):
    X, y = stream(300, d)
    c = 2.0**exponent
    plain = learner(rule, fit_intercept=False, average=True).fit(as_form(X, form), y)
    scaled = learner(rule, fit_intercept=False, average=True).fit(as_form(X * c, form), y)
    assert (scaled.coef_ * c == plain.coef_).all()
    assert (scaled.decision_function(as_form(X * c, form)) == plain.decision_function(as_form(X, form))).all()


@pytest.mark.parametrize("rule", SCALE_FREE)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=10)
@given(c=st.floats(1e-90, 1e90))
def test_any_factor_on_x_goes_into_w(rule, d, form, c, learner, as_form, stream):
    X, y = stream(300, d)
    plain = learner(rule, fit_intercept=False).fit(as_form(X, form), y)
    scaled = learner(rule, fit_intercept=False).fit(as_form(X * c, form), y)
    np.testing.assert_allclose(scaled.coef_ * c, plain.coef_, rtol=0, atol=1e-12 * np.abs(plain.coef_).max())


@pytest.mark.parametrize(("rule", "power"), [("perceptron", 1), ("pa-i", -1), ("pa-ii", -1)])
@pytest.mark.parametrize("form", FORMS)
def test_the_other_rules_scale_with_their_c(rule, power, form, learner, as_form, stream):
    """The Perceptron's w has the unit of x. In PA-I and PA-II, C has the unit of 1/‖x‖²."""
    X, y = stream(300, 5)
    c = 2.0**7
    params = [{}, {}] if rule == "perceptron" else [{"C": 0.02}, {"C": 0.02 / c**2}]
    plain = learner(rule, fit_intercept=False, **params[0]).fit(as_form(X, form), y)
    scaled = learner(rule, fit_intercept=False, **params[1]).fit(as_form(X * c, form), y)
    assert (scaled.coef_ == plain.coef_ * c**power).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weight", [None, "balanced", {-1: 0.5, 1: 3.0}], ids=str)
def test_exchanging_the_classes_turns_w_round_exactly(rule, d, form, weight, learner, as_form, stream, weights):
    X, y = stream(1000, d)
    exchanged = {-label: value for label, value in weight.items()} if isinstance(weight, dict) else weight
    a = learner(rule, class_weight=weight, average=True).fit(as_form(X, form), y)
    b = learner(rule, class_weight=exchanged, average=True).fit(as_form(X, form), -y)
    assert (weights(a) == -weights(b)).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
def test_weights_of_one_are_no_weights(rule, d, form, learner, as_form, stream, bits):
    """wPATER with α⁻ = α⁺ = 1 is PATER, bit for bit; importances of 1 are the same as none."""
    X, y = stream(500, d)
    X = as_form(X, form)
    plain = bits(learner(rule).fit(X, y))
    assert bits(learner(rule, class_weight={-1: 1, 1: 1.0}).fit(X, y)) == plain
    assert bits(learner(rule).fit(X, y, sample_weight=np.ones(500))) == plain
    assert bits(learner(rule).fit(X, y, sample_weight=1)) == plain


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=10)
@given(c=st.floats(1e-60, 1e60))
def test_only_the_ratio_of_the_class_weights_matters(variant, d, form, c, as_form, stream, weights):
    X, y = stream(500, d)
    X = as_form(X, form)
    a = weights(PATERClassifier(variant, class_weight={-1: 0.3, 1: 1.0}).fit(X, y))
    b = weights(PATERClassifier(variant, class_weight={-1: 0.3 * c, 1: c}).fit(X, y))
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("c", [1e-250, 1e250])
def test_any_positive_finite_class_weights_are_taken_at_their_ratio(variant, c, stream, weights):
    """They are accepted, so learning must not silently fail."""
    X, y = stream(500, 4)
    a = weights(PATERClassifier(variant, class_weight={-1: 0.25, 1: 1.0}).fit(X, y))
    b = weights(PATERClassifier(variant, class_weight={-1: 0.25 * c, 1: c}).fit(X, y))
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("rule", ["perceptron", "pa", "pa-i", "pa-ii"])
def test_class_weights_of_point_rules_multiply_the_step(rule, learner):
    for label, alpha in ((-1, 0.25), (1, 4.0)):
        once = learner(rule).partial_fit([[2.0, 1.0]], [label], classes=[-1, 1])
        weighted = learner(rule, class_weight={-1: 0.25, 1: 4.0}).partial_fit([[2.0, 1.0]], [label], classes=[-1, 1])
        assert (weighted.coef_ == alpha * once.coef_).all()
        assert (weighted.intercept_ == alpha * once.intercept_).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
def test_columns_may_stand_in_any_order(rule, d, learner, stream, weights):
    X, y = stream(500, d)
    order = np.random.default_rng(0).permutation(d)
    a, b = weights(learner(rule).fit(X, y)), weights(learner(rule).fit(np.ascontiguousarray(X[:, order]), y))
    np.testing.assert_allclose(b[:, :-1], a[:, order], rtol=0, atol=1e-11 * np.abs(a).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_the_intercept_is_a_constant_feature_of_one(rule, form, learner, as_form, stream, weights):
    """Part of ‖x‖² and ‖z‖²: appending the feature by hand gives the same."""
    X, y = stream(2000, 5)
    with_ones = np.hstack([X, np.ones((2000, 1))])
    ours = weights(learner(rule).fit(as_form(X, form), y))
    by_hand = learner(rule, fit_intercept=False).fit(as_form(with_ones, form), y)
    np.testing.assert_allclose(ours, weights(by_hand)[:, :-1], rtol=0, atol=1e-11 * np.abs(ours).max())
    assert by_hand.intercept_ == 0
