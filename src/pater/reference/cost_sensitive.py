"""Cost-sensitive gradient descent in plain NumPy, slow and obvious; the study's passes are tested against it.

Knows `first_order` only, and follows its conventions: labels are −1 and +1, the intercept is a constant feature 1 of X,
and the weights after each row are returned. All start from w = 0 and Σ = I.

The papers on sensitivity and specificity know the numbers of positives and negatives, T⁺ and T⁻, before they start.
Here they are those of the rows so far, the present one included, and ρ = T⁻/T⁺ is 1 until both classes were seen.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .first_order import Floats, _alpha_now, _samples

Loss = Literal["I", "II"]


def _balanced(X: Any, y: Any) -> Any:
    """x, the class, ρ for a positive or 1 for a negative, and n/(2·n^c), for each sample."""
    seen = {-1: 0.0, 1: 0.0}
    for x, y_t, _ in _samples(X, y, None):
        c = 1 if y_t > 0 else -1
        seen[c] += 1
        rho = seen[-1] / seen[1] if c == 1 and seen[-1] > 0 else 1.0
        yield x, c, rho, _alpha_now("balanced", seen)[c]


def _hinge_gradient(w: Floats, x: Floats, c: int, rho: float, loss: Loss) -> Floats | None:
    """The gradient of ℓ = max(0, ρ − y·w·x), I, or of ℓ = ρ·max(0, 1 − y·w·x), II; None where there is no loss."""
    if loss == "I":
        return -c * x if rho - c * (w @ x) > 0 else None
    return -rho * c * x if 1 - c * (w @ x) > 0 else None


def csogd(X: Any, y: Any, loss: Loss, rate: float) -> Floats:
    """Cost-sensitive online gradient descent for the sum of sensitivity and specificity, w ← w − η·∇ℓ(w).

    Wang, Zhao and Hoi, "Cost-Sensitive Online Classification", ICDM 2012 and TKDE 2014: both losses; η is read as a
    constant.
    """
    w, weights = np.zeros(np.shape(X)[1]), []
    for x, c, rho, _ in _balanced(X, y):
        gradient = _hinge_gradient(w, x, c, rho, loss)
        if gradient is not None:
            w = w - rate * gradient
        weights.append(w)
    return np.array(weights)


def acog(X: Any, y: Any, loss: Loss, rate: float, gamma: float = 1.0, *, diagonal: bool = False) -> Floats:
    """ACOG for the same sum: Σ ← Σ − Σx·xᵀΣ/(γ + xᵀΣx) where there is a loss, then w ← w − η·Σ·∇ℓ(w).

    Zhao, Zhuang, Wu, Li and Hoi, "Cost-Sensitive Online Classification with Adaptive Regularization and Its
    Applications", ICDM 2015; Zhao, Zhang, Wu, Hoi, Tan and Huang, "Adaptive Cost-Sensitive Online Classification", TKDE
    2019. The step is taken with the new Σ. With `diagonal`, each entry of Σ follows the formula by itself, 1/Σᵢᵢ ←
    1/Σᵢᵢ + xᵢ²/γ. Both readings are those of the code that the authors released for a later paper.
    """
    d = np.shape(X)[1]
    w, covariance, weights = np.zeros(d), np.eye(d), []
    for x, c, rho, _ in _balanced(X, y):
        gradient = _hinge_gradient(w, x, c, rho, loss)
        if gradient is not None:
            if diagonal:
                covariance = np.diag(1 / (1 / np.diag(covariance) + x**2 / gamma))
            else:
                covariance = covariance - np.outer(covariance @ x, x @ covariance) / (gamma + x @ covariance @ x)
            w = w - rate * covariance @ gradient
        weights.append(w)
    return np.array(weights)


def _logistic_gradient(w: Floats, x: Floats, c: int, weight: float) -> Floats:
    """The gradient of the class's weight times ln(1 + exp(−y·w·x))."""
    return np.asarray(-weight * c * x / (1 + np.exp(c * (w @ x))))


def adagrad(X: Any, y: Any, rate: float) -> Floats:
    """Class-balanced logistic regression by AdaGrad: wᵢ ← wᵢ − η·gᵢ/√(Σ gᵢ²).

    Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", JMLR 2011,
    the diagonal form without a regulariser, δ = 0 and the pseudo-inverse: a weight without a gradient so far stays 0.
    """
    d = np.shape(X)[1]
    w, squares, weights = np.zeros(d), np.zeros(d), []
    for x, c, _, weight in _balanced(X, y):
        gradient = _logistic_gradient(w, x, c, weight)
        squares = squares + gradient**2
        w = w - rate * np.divide(gradient, np.sqrt(squares), out=np.zeros(d), where=squares > 0)
        weights.append(w)
    return np.array(weights)


def ftrl(X: Any, y: Any, rate: float, l1: float = 0.0, l2: float = 1.0, beta: float = 1.0) -> Floats:
    """Class-balanced logistic regression by FTRL-Proximal, with rates α/(β + √(Σ gᵢ²)).

    McMahan et al., "Ad Click Prediction: a View from the Trenches", KDD 2013, algorithm 1. The penalty of λ₂ = 1 is
    that of batch logistic regression with C = 1.
    """
    d = np.shape(X)[1]
    w, z, squares, weights = np.zeros(d), np.zeros(d), np.zeros(d), []
    for x, c, _, weight in _balanced(X, y):
        gradient = _logistic_gradient(w, x, c, weight)
        sigma = (np.sqrt(squares + gradient**2) - np.sqrt(squares)) / rate
        z = z + gradient - sigma * w
        squares = squares + gradient**2
        shrunk = z - np.sign(z) * l1
        w = np.where(np.abs(z) <= l1, 0.0, -shrunk / ((beta + np.sqrt(squares)) / rate + l2))
        weights.append(w)
    return np.array(weights)
