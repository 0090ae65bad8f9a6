"""Whatever finite numbers a stream holds, a model stays finite: no NaN or infinity in any scalar or vector."""

from __future__ import annotations

import contextlib
import copy
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pater import PATERClassifier
from pater.kernels.rules import LARGEST_ROW, RULES

FORMS = [
    (3, "dense-f8"),
    *(pytest.param(*form, marks=pytest.mark.slow) for form in ((70, "dense-f8"), (3, "csr-f8-i4"))),
]

sizes = st.integers(-100, 100).map(lambda e: 10.0**e)
denormals = st.sampled_from([5e-324, -5e-324, 1e-310, 2.2e-308, -1e-300])
plain = st.floats(-2, 2)
elements = st.one_of(plain, st.just(0.0), denormals)


@st.composite
def streams(draw):
    """A few kinds of row, each of its own size or all of one, repeated in any order; any labels."""
    kinds = draw(hnp.arrays(np.float64, (draw(st.integers(1, 5)), 3), elements=elements))
    scale = draw(
        st.one_of(sizes.map(lambda size: np.full(len(kinds), size)), hnp.arrays("f8", len(kinds), elements=sizes))
    )
    order = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=2, max_size=60))
    first = draw(st.integers(0, len(order)))
    labels = draw(hnp.arrays(np.int64, len(order), elements=st.sampled_from([-1, 1])))
    labels[:first] = labels[0]  # a prefix of one class
    return (kinds * scale[:, None])[order], labels


def assert_finite(model, X):
    state = model._model.state
    assert np.isfinite(state.vectors).all()
    for name in state.scalars.dtype.names:
        assert np.isfinite(state.scalars[name]).all(), name
    for name in ("pp", "nn", "n_pos", "n_neg", "loss_pos", "loss_neg"):
        assert (state.scalars[name] >= 0).all(), name
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.decision_function(X)).all()


def widened(X, d):
    """The same rows in d columns, repeated as needed."""
    return X[:, np.arange(d) % X.shape[1]]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
@settings(max_examples=60)
@given(
    data=streams(),
    intercept=st.booleans(),
    average=st.booleans(),
    weight=st.sampled_from([None, "balanced", {-1: 1e-3, 1: 1e3}]),
)
@example(data=([[1e-55, 0, 0], [0, 1e100, 0]], [-1, -1]), intercept=False, average=False, weight=None)
@example(data=([[1e-99, 0, 0], [1e69, 0, 0], [1e-99, 0, 1]], [-1, -1, 1]), intercept=False, average=True, weight=None)
def test_never_nan_never_infinite(rule, d, form, data, intercept, average, weight, learner, as_form):
    X, y = map(np.asarray, data)
    X = as_form(widened(X, d), form)
    params = {"fit_intercept": intercept, "average": average, "class_weight": weight}
    model = learner(rule, **params).partial_fit(X, y, classes=[-1, 1])
    assert_finite(model, X)


def two_kinds(size):
    return np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]] * 9) * size, np.resize([1, -1, -1], 18)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
@settings(max_examples=25)
@given(data=streams(), importance=sizes, spread=st.sampled_from([1.0, 1e-10, 1e10]))
@example(data=two_kinds(1e100), importance=1e100, spread=1.0)
@example(data=two_kinds(1e-100), importance=1e-100, spread=1.0)
@example(data=(np.array([[1e-120, 0, 0], [0, 0, 0], [0, 0, 0]]), np.array([-1, 1, 1])), importance=1e-58, spread=1e-10)
def test_any_importance_that_is_accepted(rule, d, form, data, importance, spread, learner, as_form):
    """One that would overflow is either refused with a reason or does no harm."""
    X, y = data
    X = as_form(widened(X, d), form)
    s = np.resize([importance, importance * spread], len(y)).clip(1e-100, 1e100)
    model = learner(rule).partial_fit(X[:1], y[:1], classes=[-1, 1])
    refused = "sample_weight"
    try:
        model.partial_fit(X, y, sample_weight=s)
    except ValueError as error:
        refused = str(error)
    assert "sample_weight" in refused
    assert_finite(model, X)


@pytest.mark.parametrize("size", [1e-100, 1e-80, 1e-50, 1.0, 1e50, 1e100])
@pytest.mark.parametrize("rule", ["pa", "pater-i", "pater-ii"])
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_a_stream_of_any_size_is_learned_from(rule, d, form, size, learner, as_form, stream):
    """Not only finite: the same classifier as for the stream at its usual size."""
    X, y = stream(400, d)
    usual = learner(rule, fit_intercept=False).fit(as_form(X, form), y)
    model = learner(rule, fit_intercept=False).fit(as_form(X * size, form), y)
    margins = model.decision_function(as_form(X * size, form))
    expected = usual.decision_function(as_form(X, form))
    np.testing.assert_allclose(margins, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_means_a_million_times_the_spread(rule, d, form, learner, as_form):
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 3000)
    X = as_form(1e6 + rng.normal(size=(3000, d)) + y[:, None], form)
    assert_finite(learner(rule, average=True).fit(X, y), X)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["noise", "separable", "one class", "zeros"])
def test_a_million_rows(rule, kind, learner):
    n = 10**6
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), rng.choice([-1, 1], n)
    if kind == "separable":
        y = np.where(X[:, 0] > 0, 1, -1)
    elif kind == "one class":
        y[:-1] = -1
        y[-1] = 1
    elif kind == "zeros":
        X[:] = 0
    model = learner(rule, average=True).fit(X, y)
    assert model.t_ == n
    assert_finite(model, X[:1000])


def test_a_prefix_of_one_class_then_the_other(as_form):
    """Before both classes were seen, z is the mean of one, and the model leans that way; then the other pulls."""
    X, y = np.ones((20, 2)), np.array([1] * 19 + [-1])
    for form in ("dense-f8", "csr-f8-i4"):
        model = PATERClassifier("I").partial_fit(as_form(X[:19], form), y[:19], classes=[-1, 1])
        np.testing.assert_allclose(model.decision_function(X[:1]), [1.0], rtol=1e-14)
        model.partial_fit(as_form(-X[19:], form), y[19:])
        assert model.predict(-X[:1])[0] == -1


def test_rows_too_large_to_square_are_refused(unchanged_by):
    model = PATERClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    message = unchanged_by(model, lambda: model.partial_fit([[1.0, 1.0], [1e111, 0.0]], [0, 1]))
    assert "row 1" in message.lower()
    assert "scale" in message.lower()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_rows_at_the_very_limit_leave_no_trace_when_refused(rule, form, learner, as_form):
    """A short batch is checked first, and the pass sums in another order: it takes all that the check accepts."""
    rng = np.random.default_rng(0)
    model = learner(rule).fit(rng.normal(size=(10, 100)), np.arange(10) % 2)
    model.partial_fit(as_form(np.ones((1, 100)), form), [1])
    for _ in range(200):
        x = rng.normal(size=(1, 100))
        x *= LARGEST_ROW**0.5 / np.linalg.norm(x)
        before = pickle.dumps(model)
        with contextlib.suppress(ValueError):
            copy.deepcopy(model).partial_fit(as_form(x, form), [1])
            continue
        with pytest.raises(ValueError, match="norm"):
            model.partial_fit(as_form(x, form), [1])
        assert pickle.dumps(model) == before
