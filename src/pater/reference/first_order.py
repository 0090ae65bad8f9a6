"""The paper in plain NumPy, slow and obvious; every kernel is tested against it.

Knows NumPy only. Samples are the rows of X, labels −1 and +1. The intercept is a constant feature 1: append it to X.
Each online algorithm passes once over the rows and returns the weights after each of them, (rows, features).

`alpha` is (α⁻, α⁺), or "balanced" for n/(2·n^c) of the samples so far; `s` is the importance of each sample, and a
sample of importance 0 is ignored.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Alpha = tuple[float, float] | Literal["balanced"]


def _samples(X: Any, y: Any, s: Any) -> Any:
    X, y = np.asarray(X, dtype=np.result_type(X, np.float64)), np.asarray(y)
    return zip(X, y, np.ones(len(X)) if s is None else np.asarray(s), strict=True)


def _alpha_now(alpha: Alpha, seen: dict[int, float]) -> dict[int, float]:
    if alpha == "balanced":
        n = seen[-1] + seen[1]
        return {c: n / (2 * seen[c]) if seen[c] > 0 else 1.0 for c in (-1, 1)}
    return {-1: float(alpha[0]), 1: float(alpha[1])}


def _point_rule(X: Any, y: Any, tau: Any, alpha: Alpha, s: Any) -> Floats:
    w = np.zeros(np.shape(X)[1])
    seen = {-1: 0.0, 1: 0.0}
    weights = []
    for x_t, y_t, s_t in _samples(X, y, s):
        if s_t > 0:
            c = 1 if y_t > 0 else -1
            seen[c] += s_t
            w = w + s_t * _alpha_now(alpha, seen)[c] * tau(c * (w @ x_t), x_t @ x_t) * c * x_t
        weights.append(w)
    return np.array(weights)


def perceptron(X: Any, y: Any, *, alpha: Alpha = (1, 1), s: Any = None) -> Floats:
    """Rosenblatt's rule: w ← w + y·x where y·w·x ≤ 0."""
    return _point_rule(X, y, lambda margin, xx: float(margin <= 0), alpha, s)


def pa(X: Any, y: Any, *, alpha: Alpha = (1, 1), s: Any = None) -> Floats:
    """PA, eq. 4: τ = ℓ/‖x‖²."""
    return _point_rule(X, y, lambda margin, xx: max(0, 1 - margin) / xx if xx > 0 else 0, alpha, s)


def pa_i(X: Any, y: Any, C: float, *, alpha: Alpha = (1, 1), s: Any = None) -> Floats:
    """PA-I (Crammer et al., 2006): τ = min(C, ℓ/‖x‖²)."""
    return _point_rule(X, y, lambda margin, xx: min(C, max(0, 1 - margin) / xx) if xx > 0 else 0, alpha, s)


def pa_ii(X: Any, y: Any, C: float, *, alpha: Alpha = (1, 1), s: Any = None) -> Floats:
    """PA-II (Crammer et al., 2006): τ = ℓ/(‖x‖² + 1/(2C))."""
    return _point_rule(X, y, lambda margin, xx: max(0, 1 - margin) / (xx + 1 / (2 * C)) if xx > 0 else 0, alpha, s)


def pater(
    X: Any, y: Any, variant: Literal["I", "II"], *, alpha: Alpha = (1, 1), s: Any = None, forgetting: float = 1.0
) -> Floats:
    """(w)PATER-I and -II, eqs. 16, 22, 23, 29, 35 and 36, in the reading that gives the paper's results.

    The loss is clipped at 0. Variant I is passive: a sample without loss changes nothing. Variant II lets every sample
    into the counts n, the means z and the mean losses k. A class without samples has mean 0, and where ‖z‖² = 0 the
    weights stay. With `forgetting` γ, what a class has gathered fades by γ when its next sample enters.
    """
    d = np.shape(X)[1]
    dtype = np.result_type(X, np.float64)
    w = np.zeros(d, dtype)
    n = {-1: 0.0, 1: 0.0}
    seen = {-1: 0.0, 1: 0.0}
    z = {-1: np.zeros(d, dtype), 1: np.zeros(d, dtype)}
    k: dict[int, Any] = {-1: 0.0, 1: 0.0}
    weights = []
    for x_t, y_t, s_t in _samples(X, y, s):
        c = 1 if y_t > 0 else -1
        loss = max(0, 1 - c * (w @ x_t))
        seen[c] += s_t
        if s_t > 0 and (variant == "II" or loss > 0):
            a = _alpha_now(alpha, seen)
            n[c] = forgetting * n[c] + s_t
            z[c] = z[c] + s_t / n[c] * (x_t - z[c])
            k[c] = k[c] + s_t / n[c] * (loss - k[c])
            direction = a[1] * z[1] - a[-1] * z[-1]
            term = a[c] * s_t * loss / n[c] if variant == "I" else a[-1] * k[-1] + a[1] * k[1]
            zz = direction @ direction
            if zz > 0:
                w = w + term / zz * direction
        weights.append(w)
    return np.array(weights)


def pater_as_printed(X: Any, y: Any, variant: Literal["I", "II"], *, alpha: tuple[float, float] = (1, 1)) -> Floats:
    """Algorithms 1 and 2 of the paper to the letter: nothing is clipped, nothing is passive.

    They do not give the paper's results; `pater` does.
    """
    d = np.shape(X)[1]
    w = np.zeros(d)
    n_neg = n_pos = k_neg = k_pos = 0.0
    z_neg, z_pos = np.zeros(d), np.zeros(d)
    alpha_neg, alpha_pos = alpha
    weights = []
    for x_t, y_t, _ in _samples(X, y, None):
        lambda_neg, lambda_pos = (1 - y_t) / 2, (1 + y_t) / 2
        n_neg, n_neg_before = n_neg + lambda_neg, n_neg
        n_pos, n_pos_before = n_pos + lambda_pos, n_pos
        if n_neg > 0:
            z_neg = n_neg_before / n_neg * z_neg + lambda_neg / n_neg * x_t
            k_neg = n_neg_before / n_neg * k_neg + lambda_neg / n_neg * (1 + w @ x_t)
        if n_pos > 0:
            z_pos = n_pos_before / n_pos * z_pos + lambda_pos / n_pos * x_t
            k_pos = n_pos_before / n_pos * k_pos + lambda_pos / n_pos * (1 - w @ x_t)
        z = alpha_pos * z_pos - alpha_neg * z_neg
        if variant == "I":
            term = alpha_neg * lambda_neg / n_neg * (1 + w @ x_t) if n_neg > 0 else 0.0
            term += alpha_pos * lambda_pos / n_pos * (1 - w @ x_t) if n_pos > 0 else 0.0
        else:
            term = alpha_neg * k_neg + alpha_pos * k_pos
        if z @ z > 0:
            w = w + term / (z @ z) * z
        weights.append(w)
    return np.array(weights)


def averaged(weights: Floats, s: Any = None) -> Floats:
    """The mean of the weights after each sample that counts."""
    counted = weights if s is None else weights[np.asarray(s) > 0]
    return np.asarray(counted.mean(axis=0))


def ter(X: Any, y: Any, *, alpha: tuple[float, float] = (1, 1), ridge: float = 0.0) -> Floats:
    """The batch solution, eq. 9: w = (XᵀWX + ridge·I)⁻¹ XᵀWy with W = α^c/n^c for a sample of class c."""
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    W = np.where(y > 0, alpha[1] / (y > 0).sum(), alpha[0] / (y < 0).sum())
    return np.asarray(np.linalg.solve(X.T @ (W[:, None] * X) + ridge * np.eye(X.shape[1]), X.T @ (W * y)))
