"""The compiled passes against the plain NumPy of `reference/first_order.py`: 10⁴ well-scaled rows, 1e-9 relative.

Both round, each in its own way. A sample whose loss is within that rounding of zero may be a violator for one but not
for the other, and from there on the two learn different things, both correctly. So the kernel's margins before each
step are compared with the reference's: up to the first row within 1e-9 of the edge of the rule (a margin of 1, for the
Perceptron 0) they must agree, and so must the final weights, if no such row came. These streams of 10⁴ rows have none
(about one in 10⁵ such streams has), which `test_no_row_of_the_streams_is_in_doubt` verifies.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from pater.compiler.decorators import COMPILES
from pater.kernels.rules import RULES
from pater.kernels.run import NOTHING, learn
from pater.kernels.state import State
from pater.models.matrices import rows_of
from pater.models.spec import RECORD
from pater.reference import first_order as reference

FIRST_ORDER = ["perceptron", "pa", "pa-i", "pa-ii", "pater-i", "pater-ii"]  # the others: test_second_reference.py
TOLERANCE = 1e-9
C = 0.05
N = 10_000 if COMPILES else 100  # interpreted code is slow
FORMS = ["dense-f8", "dense-f4", "csr-f8-i4", "csr-f8-i8", "csr-f4-i4", "csr-f4-i8"]
WEIGHTS = {"plain": (1.0, 1.0), "class weights": (0.3, 1.7), "balanced": "balanced", "quarter": (0.25, 1.0)}


@functools.cache
def data(d):
    """Rows of d columns followed by the intercept's ones, labels, and importances, some of them 0."""
    rng = np.random.default_rng(d)
    y = np.where(rng.random(N) < 0.3, 1, -1)
    X = rng.normal(size=(N, d)) + 1.5 * np.outer(y, rng.normal(size=d)) / np.sqrt(d)
    X *= rng.random((N, d)) < 0.7
    X = X.astype(np.float32).astype(np.float64)
    y[rng.random(N) < 0.05] *= -1
    s = rng.exponential(size=N) * (rng.random(N) < 0.9)
    return np.hstack([X, np.ones((N, 1))]), y, s


@functools.cache
def expected(rule, d, weights, importance):
    """The reference's weights after each row, and its margins before each."""
    X, y, s = data(d)
    alpha = WEIGHTS[weights if weights != "balanced" or not RULES[rule].moves_along_means else "plain"]
    options = {"alpha": alpha, "s": s if importance else None}
    if rule.startswith("pater"):
        w = reference.pater(X, y, rule.removeprefix("pater-").upper(), **options)
    elif rule in ("pa-i", "pa-ii"):
        w = getattr(reference, rule.replace("-", "_"))(X, y, C, **options)
    else:
        w = getattr(reference, rule)(X, y, **options)
    before = np.vstack([np.zeros(d + 1), w[:-1]])
    return w, np.einsum("ij,ij->i", before, X)


def settings_for(rule, weights, *, average=False):
    p = np.zeros(1, RECORD)
    p["rule"], p["C"], p["positive"], p["intercept"], p["average"] = RULES[rule].code, C, 1, 1, average
    p["balanced"] = weights == "balanced"
    p["alpha_neg"], p["alpha_pos"] = (1.0, 1.0) if weights == "balanced" else WEIGHTS[weights]
    return p


def doubtful(rule, y, kernel, exact):
    """Rows so close to the edge that rounding decides."""
    edge = 0.0 if rule == "perceptron" else 1.0
    return (np.abs(edge - y * exact) <= TOLERANCE) & (kernel != exact)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [10, 80])
@pytest.mark.parametrize(
    ("weights", "importance"), [("plain", False), ("class weights", True), ("balanced", True)], ids=lambda v: str(v)
)
@pytest.mark.parametrize("rule", FIRST_ORDER)
def test_kernel_follows_the_reference(rule, weights, importance, d, form, as_form):
    X, y, s = data(d)
    w, exact = expected(rule, d, weights, importance)
    state, averaged = (State.new(1, d, means=RULES[rule].moves_along_means) for _ in range(2))
    kernel = np.empty((1, N))
    rows, codes, importances = rows_of(as_form(X[:, :-1], form)), (y > 0).astype(np.int64), s if importance else NOTHING
    assert learn(rows, codes, state, settings_for(rule, weights), weights=importances, margins=kernel) == -1
    assert learn(rows, codes, averaged, settings_for(rule, weights, average=True), weights=importances) == -1
    flips = np.flatnonzero(doubtful(rule, y, kernel[0], exact))
    known = slice(0, flips[0] if flips.size else N)
    size = np.maximum(1.0, np.maximum.accumulate(np.abs(exact)))[known]
    assert (np.abs(kernel[0] - exact)[known] <= TOLERANCE * size).all()
    if not flips.size:
        for average, ours in ((False, w[-1]), (True, reference.averaged(w, s if importance else None))):
            coef, bias = (averaged if average else state).weights(average=average)
            np.testing.assert_allclose(np.append(coef, bias), ours, rtol=0, atol=TOLERANCE * np.abs(ours).max())


@pytest.mark.parametrize("d", [10, 80])
@pytest.mark.parametrize("rule", FIRST_ORDER)
def test_no_row_of_the_streams_is_in_doubt(rule, d):
    """Otherwise the comparison above would stop early and show less than it claims."""
    _, y, _ = data(d)
    for weights, importance in (("plain", False), ("class weights", True), ("balanced", True)):
        _, exact = expected(rule, d, weights, importance)
        assert not doubtful(rule, y, np.where(exact == 0, 0, np.nan), exact).any()


@pytest.mark.parametrize("rule", FIRST_ORDER)
def test_estimators_learn_what_the_pass_learns(rule, learner, weights):
    X, y, s = data(10)
    params = {"C": C} if rule in ("pa-i", "pa-ii") else {}
    model = learner(rule, class_weight={-1: 0.25, 1: 1.0}, average=True, **params).fit(X[:, :-1], y, sample_weight=s)
    state = State.new(1, 10, means=RULES[rule].moves_along_means)
    learn(
        rows_of(np.ascontiguousarray(X[:, :-1])),
        (y > 0).astype(np.int64),
        state,
        settings_for(rule, "quarter", average=True),
        weights=s,
    )
    coef, bias = state.weights(average=True)
    assert weights(model).tobytes() == np.hstack([coef, bias[:, None]]).tobytes()


@pytest.mark.parametrize("rule", FIRST_ORDER)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_a_row_order_reads_the_rows_in_that_order(rule, form, as_form):
    X, y, s = data(10)
    order = np.random.default_rng(5).permutation(N)
    p = settings_for(rule, "plain")
    states = [State.new(1, 10, means=RULES[rule].moves_along_means) for _ in range(2)]
    codes = (y > 0).astype(np.int64)
    ordered, direct = np.empty((1, N)), np.empty((1, N))
    learn(rows_of(as_form(X[:, :-1], form)), codes, states[0], p, weights=s, order=order, margins=ordered)
    rows = rows_of(as_form(X[order, :-1], form))
    learn(rows, codes[order], states[1], p, weights=s[order], margins=direct)
    assert ordered.tobytes() == direct.tobytes()
    assert states[0].vectors.tobytes() == states[1].vectors.tobytes()
