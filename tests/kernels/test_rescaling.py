"""Weights that grow without bound, as those of PATER-II do, are kept in units of a power of two, invisibly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pater import PATERClassifier
from pater.kernels.memory import RESCALE_BITS
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.spec import Spec
from pater.reference import first_order as reference

extended = pytest.mark.skipif(np.finfo(np.longdouble).eps > 2.0**-60, reason="no extended precision on this machine")


def noise(n, d, *, mean=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + mean, rng.choice([-1, 1], n)


def exponent(model):
    return model._model.state.scalars["exponent"]


@extended
@pytest.mark.parametrize(
    ("d", "mean", "form"),
    [(2, 0.0, "dense-f8"), (2, 3.0, "csr-f8-i4"), (70, 10.0, "dense-f8"), (70, 10.0, "csr-f8-i4")],
)
@pytest.mark.parametrize("average", [False, True])
def test_rescaled_weights_are_the_weights(d, mean, form, average, as_form, weights):
    """Against a reference that holds them directly, in extended precision: up to 2^16383."""
    n = 3000
    X, y = noise(n, d, mean=mean)
    model = PATERClassifier("II", average=average).fit(as_form(X, form), y)
    assert exponent(model)[0] >= RESCALE_BITS
    trace = reference.pater(np.hstack([X, np.ones((n, 1))]).astype(np.longdouble), y, "II")
    exact = reference.averaged(trace) if average else trace[-1]
    found = np.ldexp(weights(model)[0].astype(np.longdouble), int(exponent(model)[0]))
    assert np.abs(found - exact).max() <= 1e-8 * np.abs(exact).max()
    signs = np.hstack([X, np.ones((n, 1))]) @ exact >= 0
    assert (model.predict(as_form(X, form)) == np.where(signs, 1, -1)).mean() > 0.9999


@extended
def test_progressive_predictions_are_those_of_the_reference_on_a_prefix():
    n = 3000
    X, y = noise(n, 2)
    trace = reference.pater(np.hstack([X, np.ones((n, 1))]).astype(np.longdouble), y, "II")
    model = PATERClassifier("II")
    for i in range(n):
        if i > 0:
            says = model.decision_function(X[i : i + 1])[0]
            assert (says >= 0) == (trace[i - 1] @ np.append(X[i], 1.0) >= 0)
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    assert exponent(model)[0] >= RESCALE_BITS


def test_weights_stay_finite_over_a_million_rows_of_noise():
    X, y = noise(10**6, 3)
    model = PATERClassifier("II", average=True).fit(X, y)
    assert exponent(model)[0] >= RESCALE_BITS
    for values in (model.coef_, model.intercept_, model.decision_function(X[:1000])):
        assert np.isfinite(values).all()
    assert np.abs(model.coef_).max() > 0


@pytest.mark.parametrize("n_models", [1, 3])
def test_weights_that_have_grown_are_not_folded_at_every_row(n_models):
    """A fold costs as much as there are columns: 16 are on credit, the rest must be paid for by the numbers in rows."""
    rng, n, d, used = np.random.default_rng(0), 20_000, 1 << 13, 3
    columns, values = rng.integers(0, used, (n, 3), dtype=np.int32), rng.normal(size=(n, 3)) + 3.0
    columns[0, 0], values[0, 0] = d - 1, 0.0
    X = sp.csr_array((values.ravel(), columns.ravel(), np.arange(0, 3 * n + 1, 3, dtype=np.int32)), shape=(n, d))
    X.sum_duplicates()
    y = (rng.random(n) < 0.5).astype(np.int64)
    specs = tuple(Spec("pater-i", alphas=(1.0, 0.5**k)) for k in range(n_models))
    wide, narrow = (Model.new(np.array([0, 1]), rows.shape[1], specs) for rows in (X, X[:, :used]))
    wide.learn(rows_of(X), y)
    narrow.learn(rows_of(X[:, :used]), y)  # here a row pays for its fold
    m = wide.state.scalars
    assert m["exponent"][0] == RESCALE_BITS
    assert (m["width"] == d).all()
    assert (m["work_since_fold"] > -18 * d).all()
    own, other = wide.state.own_weights()[0][:, :used], narrow.state.own_weights()[0]
    for one, same in zip(own, other, strict=True):
        assert np.abs(one - same).max() < 1e-10 * np.abs(same).max()


@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize("average", [False, True])
def test_models_of_different_exponents_are_compared_in_one_unit(form, average, as_form):
    """Of three classes, one is separable and keeps its exponent, two are noise and outgrow theirs."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6000, 2)), rng.choice([0, 1], 6000)
    apart = np.arange(6000) % 100 == 0
    X[apart] += 3
    y[apart] = 2
    X = as_form(X, form)
    model = PATERClassifier("II", average=average).fit(X, y)
    units = exponent(model)
    assert units.min() < units.max()
    alone = [PATERClassifier("II", average=average).fit(X, y == label) for label in range(3)]
    for k in range(3):
        np.testing.assert_array_equal(model.coef_[k], alone[k].coef_[0])
        margins = model.decision_function(X)[:, k]
        np.testing.assert_allclose(margins, alone[k].decision_function(X), rtol=0, atol=1e-12 * np.abs(margins).max())


def test_merging_models_of_different_units():
    """One has outgrown its unit by 2^400, the other has not: the sum is finite, has the larger unit, and learns on."""
    X, y = noise(3000, 2)
    grown, small = PATERClassifier("II").fit(X, y), PATERClassifier("II").fit(X[:100], y[:100])
    before, units = grown.coef_[0], exponent(grown)[0]
    assert units > exponent(small)[0]
    merged = grown.merge(small)
    assert exponent(merged)[0] == units
    assert np.isfinite(merged.coef_).all()
    assert merged.coef_[0] @ before > 0
    assert np.isfinite(merged.partial_fit(X, y).coef_).all()
