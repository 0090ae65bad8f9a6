"""A stream gives the same model however it is cut into calls: bit for bit, and whatever is asked in between."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pater import PATERClassifier
from pater.kernels.lazy_form import FOLD_AT_LEAST, FOLD_EVERY
from pater.kernels.rules import RULES
from pater.models.settings import SETTINGS

N = 600
FORMS = ["dense-f8", "dense-f4", "csr-f8-i4", "csr-f4-i8"]
WIDTHS = [3, pytest.param(40, marks=pytest.mark.slow), 70]

cuts_of_the_stream = st.lists(st.integers(0, N), max_size=12).map(lambda cuts: sorted({0, N, *cuts}))


def in_chunks(model, X, y, cuts, *, s=None, between=lambda model, X: None, **first):
    for start, stop in itertools.pairwise(cuts):
        weight = None if s is None else s[start:stop]
        model.partial_fit(X[start:stop], y[start:stop], sample_weight=weight, **first)
        between(model, X)
    return model


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=8)
@given(
    cuts=cuts_of_the_stream,
    average=st.booleans(),
    weight=st.sampled_from([None, "balanced", {-1: 0.3, 1: 2.0}]),
    importance=st.booleans(),
    intercept=st.booleans(),
    forgetting=st.sampled_from([1.0, 0.98, 0.3]),
)
def test_fit_is_partial_fit_in_any_chunks(
    rule, d, form, cuts, average, weight, importance, intercept, forgetting, learner, as_form, stream, bits
):
    X, y = stream(N, d, density=0.6)
    X = as_form(X, form)
    rng = np.random.default_rng(1)
    s = rng.exponential(size=N) * (rng.random(N) < 0.8) if importance else None
    params = {"average": average, "class_weight": weight, "fit_intercept": intercept}
    if SETTINGS["forgetting"].has(rule):
        params["forgetting"] = forgetting
    whole = learner(rule, **params).fit(X, y, sample_weight=s)
    cut = in_chunks(learner(rule, **params), X, y, cuts, s=s)
    assert bits(cut) == bits(whole)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize("average", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_one_row_at_a_time(rule, d, form, average, learner, as_form, stream, bits):
    """There are rows enough for several folds, if there are any: folds follow a count in the state, not the calls."""
    n = 3 * max(FOLD_AT_LEAST // d, FOLD_EVERY) + 10 if RULES[rule].moves_along_means else N
    X, y = stream(n, d, noise=5.0)  # so that most rows enter
    X = as_form(X, form)
    whole = learner(rule, average=average).fit(X, y)
    rows = in_chunks(learner(rule, average=average), X, y, range(n + 1))
    assert bits(rows) == bits(whole)
    if RULES[rule].moves_along_means and not RULES[rule].second_order:
        m = whole._model.state.scalars[0]
        assert m["work_since_fold"] < m["entered"] * d, "there was no fold"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_reading_changes_nothing(rule, d, form, learner, as_form, stream, bits):
    """coef_, intercept_, and predictions for dense and sparse rows, read after every chunk."""
    X, y = stream(N, d)
    dense, sparse = as_form(X, "dense-f8"), as_form(X, "csr-f8-i4")
    X = as_form(X, form)

    def ask(model, _):
        _ = model.coef_, model.intercept_, model.t_, model.classes_
        for rows in (dense, sparse):
            model.predict(rows[:20])
            model.decision_function(rows[:20])
        model.score(dense[:20], y[:20])

    cuts = list(range(0, N + 1, 20))
    quiet = in_chunks(learner(rule, average=True), X, y, cuts)
    asked = in_chunks(learner(rule, average=True), X, y, cuts, between=ask)
    assert bits(asked) == bits(quiet)
    first = asked.coef_
    assert first.tobytes() == asked.coef_.tobytes()
    first[:] = 0  # what was returned belongs to the caller
    assert bits(asked) == bits(quiet)


@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize("d", [2, 64])
def test_folds_and_rescaling_inside_chunks(d, form, as_form, bits):
    """On noise the weights of PATER-II grow until they are rescaled, wherever the calls begin and end."""
    n = 220_000 if d < 64 else 120_000
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.choice([-1, 1], n)
    if d == 64 and form.startswith("csr"):
        X[:, 4:] = 0
    X = as_form(X, form)
    whole = PATERClassifier("II", average=True).fit(X, y)
    assert whole._model.state.scalars["exponent"][0] >= 400
    cuts = [0, *np.sort(rng.integers(0, n, 300)).tolist(), n]
    cut = in_chunks(PATERClassifier("II", average=True), X, y, sorted(set(cuts)))
    assert bits(cut) == bits(whole)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@settings(max_examples=10)
@given(cuts=cuts_of_the_stream)
def test_multiclass_with_classes_up_front(rule, form, cuts, learner, as_form, stream, bits):
    X, y = stream(N, 5)
    y = y + 5 * (X[:, 0] > 0.5) + 5 * (X[:, 1] > 1)
    X = as_form(X, form)
    whole = learner(rule, average=True, class_weight="balanced").fit(X, y)
    cut = learner(rule, average=True, class_weight="balanced")
    in_chunks(cut, X, y, cuts, classes=np.unique(y))
    assert {**bits(cut), "fixed": False} == bits(whole)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=15)
@given(cuts=cuts_of_the_stream)
def test_multiclass_with_classes_that_turn_up(rule, cuts, learner, stream, bits):
    """Without `classes` the result depends on the order of the rows, never on the calls."""
    X, y = stream(N, 5)
    y = np.where(np.arange(N) < 50, 7, y)
    y[200:] += 5 * (X[200:, 0] > 0.5)
    y[400:][X[400:, 1] > 1] = -9
    once = learner(rule, average=True).partial_fit(X, y)
    cut = in_chunks(learner(rule, average=True), X, y, cuts)
    assert bits(cut) == bits(once)


@pytest.mark.parametrize("rule", ["pa", "pater-i", "pater-ii"])
def test_several_passes_are_as_many_calls(rule, learner, stream, bits):
    X, y = stream(N, 5)
    thrice = learner(rule, n_passes=3).fit(X, y)
    assert thrice.t_ == 3 * N
    calls = learner(rule)
    for _ in range(3):
        calls.partial_fit(X, y)
    assert bits(thrice) == bits(calls)


def test_warm_start_goes_on_and_a_cold_one_begins_anew(stream, bits):
    X, y = stream(N, 5)
    warm, cold = PATERClassifier(warm_start=True), PATERClassifier()
    for model in (warm, cold):
        model.fit(X[:300], y[:300]).fit(X[300:], y[300:])
    assert bits(warm) == bits(PATERClassifier().fit(X, y))
    assert bits(cold) == bits(PATERClassifier().fit(X[300:], y[300:]))
    assert warm.t_ == N
    assert cold.t_ == N - 300
