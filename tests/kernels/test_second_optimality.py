"""What each second-order step promises: the conditions of its optimisation problem hold afterwards."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import minimize

from pater import AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPATERClassifier
from pater.kernels.rules import confident_gain, cw, scw_i, scw_ii
from pater.kernels.triangle import packed_size

D = 4


def covariance_of(model):
    """Σ as a matrix, the intercept first, from the packed triangle."""
    state = model._model.state
    n = int(state.scalars["width"][0])
    upper = np.zeros((n, n))
    rows, columns = np.tril_indices(n)
    upper[columns, rows] = state.second[0, : packed_size(n)]
    variances = np.diag(upper).copy()
    np.fill_diagonal(upper, 1.0)
    return upper @ np.diag(variances) @ upper.T


def before_and_after(model, rng, n=30):
    """Σ and w of a model after n rows, one more row that it learns from, and Σ and w after that row."""
    X, y = rng.normal(size=(n, D)), np.where(rng.random(n) < 0.5, 1, -1)
    model.partial_fit(X, y, classes=[-1, 1])
    while True:
        x = rng.normal(size=D)
        label = 1 if rng.random() < 0.5 else -1
        w, S, updates = all_weights(model), covariance_of(model), int(model._model.state.scalars["updates"][0])
        model.partial_fit([x], [label])
        if model._model.state.scalars["updates"][0] > updates:
            return w, S, np.append(1.0, x), label, all_weights(model), covariance_of(model)


def all_weights(model):
    w, bias = model._model.state.own_weights()
    return np.append(bias, w[0])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("eta", [0.6, 0.9, 0.99])
def test_cw_ends_on_its_constraint(seed, eta):
    w, S, x, y, after, S_after = before_and_after(
        ConfidenceWeightedClassifier("CW", eta), np.random.default_rng(seed), n=5
    )
    phi = NormalDist().inv_cdf(eta)
    assert y * (w @ x) < phi * math.sqrt(x @ S @ x)
    assert y * (after @ x) == pytest.approx(phi * math.sqrt(x @ S_after @ x), rel=1e-8)


@pytest.mark.parametrize("rule", [cw, scw_i, scw_ii])
@pytest.mark.parametrize("margin", [-3.0, -0.1, 0.0, 0.4])
@pytest.mark.parametrize("c", [0.05, 1.0, 40.0])
def test_confidence_weighted_steps_minimise_what_they_say(rule, margin, c):
    """min KL(N(w, Σ) ‖ N(w₀, Σ₀)) + C·ξ (SCW-I) or C·ξ² (SCW-II), y·w·x ≥ φ·√(xᵀΣx) − ξ; in one dimension, x = 1.

    In the plane of margin and standard deviation the divergence is ½((m' − m)²/c + v'/c − ln(v'/c)).
    """

    phi, C = 1.2, 0.4

    def objective(at):
        m_new, deviation = at[0], math.exp(at[1])
        divergence = 0.5 * ((m_new - margin) ** 2 / c + deviation**2 / c - 2 * math.log(deviation))
        slack = max(0.0, phi * deviation - m_new)
        return divergence + {cw: 1e7 * slack**2, scw_i: C * slack, scw_ii: C * slack**2}[rule]

    step = rule(margin, c, phi) if rule is cw else rule(margin, c, phi, C)
    variance = c / (1 + confident_gain(step, c, phi) * c) if step > 0 else c
    ours = np.array([margin + step * c, 0.5 * math.log(variance)])
    best = min(
        (
            minimize(objective, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 20000})
            for start in (ours + 0.1, ours - 0.2, np.array([margin, 0.5 * math.log(c)]))
        ),
        key=lambda found: found.fun,
    )
    assert objective(ours) <= best.fun + 1e-5 * (1 + abs(best.fun))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [0.1, 1.0, 20.0])
def test_arow_minimises_its_objective(seed, r):
    """Its gradient vanishes: Σ₀⁻¹(w − w₀) = y·ℓ(w₀)·x/(…) and Σ⁻¹ = Σ₀⁻¹ + x·xᵀ/r (Crammer et al., 2009, eqs. 6–8)."""
    w, S, x, y, after, S_after = before_and_after(AROWClassifier(r), np.random.default_rng(seed))
    np.testing.assert_allclose(np.linalg.inv(S_after), np.linalg.inv(S) + np.outer(x, x) / r, rtol=1e-8, atol=1e-8)
    # d/dw of ½(w − w₀)ᵀΣ₀⁻¹(w − w₀) + ℓ²/(2r)
    gradient = np.linalg.solve(S, after - w) - y * max(0.0, 1 - y * (after @ x)) * x / r
    np.testing.assert_allclose(gradient, 0, atol=1e-9 * np.abs(np.linalg.solve(S, after - w)).max())


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("seed", range(3))
def test_the_step_goes_along_the_means_in_the_metric_until_the_loss_is_gone(variant, seed):
    """Σ⁻¹(w' − w) is a multiple of z, and z·(w' − w) is the loss to be removed."""
    model = SecondOrderPATERClassifier(variant, r=5.0, form="step")
    w, S, x, y, after, _ = before_and_after(model, np.random.default_rng(seed))
    m, vectors = model._model.state.scalars[0], model._model.state.kinds()[0]
    z = np.append(0.0, vectors[1] / m["n_pos"] - vectors[2] / m["n_neg"])
    direction = np.linalg.solve(S, after - w)
    np.testing.assert_allclose(direction / np.linalg.norm(direction), z / np.linalg.norm(z), atol=1e-7)
    own = max(0.0, 1 - y * (w @ x)) / (m["n_pos"] if y > 0 else m["n_neg"])
    term = own if variant == "I" else m["loss_pos"] / m["n_pos"] + m["loss_neg"] / m["n_neg"]
    assert z @ (after - w) == pytest.approx(term, rel=1e-8)


@pytest.mark.parametrize("variant", ["I", "II"])
def test_the_leader_is_the_best_fit_to_what_has_entered(variant):
    """Σ⁻¹w = (v⁺S⁺ − v⁻S⁻)/r, by the counts so far."""
    model = SecondOrderPATERClassifier(variant, r=5.0)
    *_, after, S = before_and_after(model, np.random.default_rng(0), n=400)
    m, vectors = model._model.state.scalars[0], model._model.state.kinds()[0]
    n = m["seen_pos"] + m["seen_neg"]
    sums = [np.append(m[f"n_{side}"], vectors[kind]) for kind, side in ((1, "pos"), (2, "neg"))]
    target = (n / (2 * m["seen_pos"]) * sums[0] - n / (2 * m["seen_neg"]) * sums[1]) / 5.0
    np.testing.assert_allclose(np.linalg.solve(S, after), target, rtol=0, atol=1e-9 * np.abs(target).max())
