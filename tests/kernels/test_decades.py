"""Rows of very different sizes: the lazy form w = U + A⁺S⁺ − A⁻S⁻ must not lose the digits that w itself has.

A large row that enters a class sum subtracts A·x from U. If A was accumulated over much smaller rows, U and the lazy
part then cancel. The passes fold first; docs/algorithms.md derives how far off they may be. The exact weights are those
of the reference in extended precision. Its own rounding in working precision is the yardstick: no program that keeps w
in doubles can be expected to do better than a small multiple of it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.reference import first_order as reference
from pater.reference import second_order as reference_second

if np.finfo(np.longdouble).eps > 2.0**-60:
    pytest.skip("no extended precision on this machine", allow_module_level=True)

SLOW = pytest.mark.slow
PROMISED = 1e-9
OWN_ROUNDING = 4  # how many times the rounding of plain double precision is allowed beyond that


def sized(rng, decades, order):
    """Rows whose norms span this many decades, in an order that does or does not strain the lazy form."""
    n, d = int(rng.choice([5, 30, 300])), int(rng.choice([1, 3, 10, 40]))
    y = np.where(rng.random(n) < rng.choice([0.1, 0.3, 0.5]), 1, -1)
    X = rng.normal(size=(n, d)) + np.outer(y, rng.normal(size=d))
    half = decades / 2
    sizes = {
        "any": rng.uniform(-half, half, n),
        "rising": np.linspace(-half, half, n),
        "falling": np.linspace(half, -half, n),
        "two": rng.choice([-half, half], n),
    }[order]
    return X * 10.0 ** sizes[:, None], y


def own_weights(model):
    """The weights in the paper's own unit."""
    return model._model.state.own_weights()[0][0]


def distance(found, exact):
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("order", ["any", "two", *(pytest.param(o, marks=SLOW) for o in ("rising", "falling"))])
@pytest.mark.parametrize("decades", [0, 8, *(pytest.param(n, marks=SLOW) for n in (4, 6))])
@pytest.mark.parametrize("variant", ["I", "II"])
def test_as_exact_as_plain_double_precision(variant, decades, order):
    found, own = [], []
    for seed in range(60):
        X, y = sized(np.random.default_rng(seed), decades, order)
        exact = reference.pater(X.astype(np.longdouble), y, variant)[-1]
        own.append(distance(reference.pater(X, y, variant)[-1], exact))
        for form in (np.asarray, sp.csr_array):
            model = PATERClassifier(variant, fit_intercept=False).partial_fit(form(X), y, [-1, 1])
            scale = 2.0 ** float(model._model.state.scalars["exponent"][0])
            found.append(distance(own_weights(model) * scale, exact))
    assert max(found) <= max(PROMISED, OWN_ROUNDING * max(own))


@pytest.mark.parametrize("forgetting", [0.99, 0.5, 0.01, 1e-4])
@pytest.mark.parametrize("variant", ["I", "II"])
def test_whatever_is_forgotten(variant, forgetting, stream):
    """If a class fades, A·S grows relative to the weight of a new sample, by 1/γ per sample."""
    X, y = stream(400, 6)
    exact = reference.pater(X.astype(np.longdouble), y, variant, forgetting=forgetting)[-1]
    own = distance(reference.pater(X, y, variant, forgetting=forgetting)[-1], exact)
    for form in (np.asarray, sp.csr_array):
        model = PATERClassifier(variant, fit_intercept=False, forgetting=forgetting).partial_fit(form(X), y, [-1, 1])
        scale = 2.0 ** float(model._model.state.scalars["exponent"][0])
        assert distance(own_weights(model) * scale, exact) <= max(PROMISED, 64 * own)


@pytest.mark.first_quick
@pytest.mark.parametrize("decades", [0, 4, 8])
@pytest.mark.parametrize("variant", ["I", "II"])
def test_steps_under_a_diagonal_metric(variant, decades):
    for seed in range(10):
        X, y = sized(np.random.default_rng(seed), decades, "any")
        options = {"form": "step", "diagonal": True}
        exact = reference_second.so_pater(X.astype(np.longdouble), y, variant, **options)[-1]
        own = distance(reference_second.so_pater(X, y, variant, **options)[-1], exact)
        model = SecondOrderPATERClassifier(
            variant, covariance="diagonal", form="step", fit_intercept=False, average=False
        )
        model.partial_fit(sp.csr_array(X), y, [-1, 1])
        scale = 2.0 ** float(model._model.state.scalars["exponent"][0])
        assert distance(own_weights(model) * scale, exact) <= max(PROMISED, 64 * own), seed


def test_models_side_by_side_fold_as_they_would_alone():
    """In vector lanes as alone, to the bit, where rows strain the lazy form all the time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 8)) * 10.0 ** rng.uniform(-4, 4, (3000, 1)), rng.choice([-1, 1], 3000)
    X = sp.csr_array(X * (rng.random(X.shape) < 0.5))
    weights = (0.05, 0.3, 0.5, 0.9)
    auto = AutoPATERClassifier(weights=weights).fit(X, y)
    for k, spec in enumerate(auto._model.specs):
        variant = "I" if spec.rule == "pater-i" else "II"
        alone = PATERClassifier(variant, class_weight=dict(zip((-1, 1), spec.alphas, strict=True))).fit(X, y)
        w, bias = auto._model.state.own_weights()
        own_w, own_bias = alone._model.state.own_weights()
        assert (w[k].tobytes(), bias[k]) == (own_w[0].tobytes(), own_bias[0]), spec


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("variant", "x", "y"),
    [
        ("II", [-0.0002, -60, 60, 0.2], [-1, -1, -1, 1]),
        ("I", [3805.63, -2696.7, -1392.43, 456.261, -129.204, -43.3162, 0.000940152], [1, 1, 1, 1, 1, 1, -1]),
    ],
)
def test_a_class_sum_that_cancels(variant, x, y, form):
    """‖S‖² is then a small difference of large numbers, and must be taken from the sum itself."""
    X, y = np.array(x)[:, None], np.array(y)
    exact = reference.pater(X.astype(np.longdouble), y, variant)[-1]
    model = PATERClassifier(variant, fit_intercept=False).partial_fit(form(X), y, [-1, 1])
    assert distance(own_weights(model), exact) < PROMISED
