"""The second-order algorithms and ALMA in plain NumPy, slow and obvious; their kernels are tested against them.

Knows `first_order` only, and follows its conventions: labels are −1 and +1, the intercept is a constant feature 1 of X,
and the weights after each row are returned. Σ is kept as its inverse, Λ, and every product with it is a linear system
solved anew. With `diagonal`, only the diagonal of what a row adds to Λ is kept.

With `forgetting` γ, all of the past fades by γ when a sample comes: Λ, class sums, counts and losses alike. The prior
in Λ fades with it. In a full Λ it is restored before less than half of it would be left; in a diagonal one, a precision
is at least that of the prior when a row that is learned from holds its column.

The importance of a sample, s times the weight of its class, multiplies its part of the objective: AROW's r is divided
by it, SCW's C multiplied, and a mistake of the second-order perceptron counts that many times. CW and ALMA have no such
part, so there it multiplies the step.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from .first_order import Alpha, Floats, _alpha_now, _samples

LONGEST_PAUSE = 2.0**40  # how far a diagonal Λ may fade before all its columns are raised to the prior


class _Metric:
    def __init__(self, d: int, diagonal: bool, dtype: Any = np.float64, forgetting: float = 1.0) -> None:
        self.precision, self.diagonal = np.eye(d, dtype=dtype), diagonal
        self.forgetting, self.gain = forgetting, 1.0  # the share of the prior that is left is 1/gain

    def __call__(self, v: Floats) -> Floats:
        """Σv."""
        return np.asarray(v / np.diag(self.precision) if self.diagonal else np.linalg.solve(self.precision, v))

    def fade(self) -> None:
        """Σ⁻¹ ← γ·Σ⁻¹, with the prior restored if too little of it would be left."""
        self.precision *= self.forgetting
        self.gain /= self.forgetting
        if self.diagonal and self.gain > LONGEST_PAUSE:
            self.lift(np.ones(len(self.precision)))
            self.gain = 1.0
        elif not self.diagonal and self.gain >= 2:
            self.precision += (1 - 1 / self.gain) * np.eye(len(self.precision))
            self.gain = 1.0

    def lift(self, x: Floats) -> None:
        """Raise the precision of a row's columns to at least that of the prior, in a diagonal Σ."""
        if self.diagonal:
            known = np.diag(self.precision)
            self.precision = np.diag(np.where(x != 0, np.maximum(known, 1), known))

    def enter(self, x: Floats, kappa: float) -> None:
        """Σ⁻¹ ← Σ⁻¹ + κ·x·xᵀ."""
        outer = kappa * np.outer(x, x)
        self.precision += np.diag(np.diag(outer)) if self.diagonal else outer


def _weighted(X: Any, y: Any, alpha: Alpha, s: Any, metric: _Metric | None = None) -> Any:
    """x, the class and the importance of each sample; those of importance 0 included. The metric fades on the way."""
    seen = {-1: 0.0, 1: 0.0}
    for x_t, y_t, s_t in _samples(X, y, s):
        c = 1 if y_t > 0 else -1
        if metric and s_t > 0:
            seen = {side: metric.forgetting * n for side, n in seen.items()}
            metric.fade()
            metric.lift(x_t)
        seen[c] += s_t
        yield x_t, c, s_t * _alpha_now(alpha, seen)[c]


def so_perceptron(
    X: Any,
    y: Any,
    r: float = 1.0,
    *,
    diagonal: bool = False,
    alpha: Alpha = (1, 1),
    s: Any = None,
    forgetting: float = 1.0,
) -> Floats:
    """The second-order perceptron (Cesa-Bianchi et al., 2005): w = (r·I + Σ x·xᵀ)⁻¹ Σ y·x over the mistakes.

    The paper adds the present sample to the matrix before it predicts. That changes no sign with a full matrix, but
    would with a diagonal one, where a mistake is therefore judged by w itself.
    """
    d = np.shape(X)[1]
    metric = _Metric(d, diagonal, forgetting=forgetting)
    w, weights = np.zeros(d), []
    for x, c, s_t in _weighted(X, y, alpha, s, metric):
        v, before = metric.precision @ w, metric.precision.copy()  # both divided by r
        metric.enter(x, s_t / r)
        if s_t > 0 and c * (w @ x if diagonal else v @ metric(x)) <= 0:
            w = metric(v + s_t / r * c * x)
        else:
            metric.precision = before
        weights.append(w)
    return np.array(weights)


def arow(
    X: Any,
    y: Any,
    r: float = 1.0,
    *,
    diagonal: bool = False,
    alpha: Alpha = (1, 1),
    s: Any = None,
    forgetting: float = 1.0,
) -> Floats:
    """AROW (Crammer et al., 2009, fig. 1): β = 1/(xᵀΣx + r), α = ℓ·β, w ← w + α·Σ·y·x, Σ ← Σ − β·Σx·xᵀΣ."""
    metric = _Metric(np.shape(X)[1], diagonal, forgetting=forgetting)
    w, weights = np.zeros(np.shape(X)[1]), []
    for x, c, s_t in _weighted(X, y, alpha, s, metric):
        if s_t > 0 and c * (w @ x) < 1:
            beta = 1 / (x @ metric(x) + r / s_t)
            w = w + max(0, 1 - c * (w @ x)) * beta * c * metric(x)
            metric.enter(x, s_t / r)
        weights.append(w)
    return np.array(weights)


def confidence_weighted(
    X: Any,
    y: Any,
    variant: Literal["CW", "SCW-I", "SCW-II"],
    eta: float = 0.9,
    C: float = 1.0,
    *,
    diagonal: bool = False,
    alpha: Alpha = (1, 1),
    s: Any = None,
    forgetting: float = 1.0,
) -> Floats:
    """CW (Crammer et al., 2008, fig. 1, its convex form) and SCW-I and -II (Wang et al., 2012, props. 1 and 2)."""
    phi = NormalDist().inv_cdf(eta)
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    metric = _Metric(np.shape(X)[1], diagonal, forgetting=forgetting)
    w, weights = np.zeros(np.shape(X)[1]), []
    for x, c, s_t in _weighted(X, y, alpha, s, metric):
        m, v = c * (w @ x), x @ metric(x)
        if s_t > 0 and v > 0:
            if variant == "SCW-II":
                n = v + 1 / (2 * C * s_t)
                gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
                step = max(0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
            else:
                step = max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))
                step = min(C * s_t, step) if variant == "SCW-I" else s_t * step
            if step > 0:
                # printed as √u = (−αvφ + √(α²v²φ² + 4v))/2, which is this, but cancels
                root_u = 2 * v / (step * v * phi + np.sqrt(step**2 * v**2 * phi**2 + 4 * v))
                w = w + step * c * metric(x)
                metric.enter(x, step * phi / root_u)
        weights.append(w)
    return np.array(weights)


def alma(X: Any, y: Any, approximation: float = 0.9, *, alpha: Alpha = (1, 1), s: Any = None) -> Floats:
    """ALMA₂(α; B = 1/α, C = √2) (Gentile, 2001, fig. 1), rows scaled to norm 1."""
    w, k, weights = np.zeros(np.shape(X)[1]), 1, []
    B, C = 1 / approximation, np.sqrt(2)
    for x, c, s_t in _weighted(X, y, alpha, s):
        norm = np.linalg.norm(x)
        if s_t > 0 and norm > 0 and c * (w @ x) / norm <= (1 - approximation) * B / np.sqrt(k):
            w = w + s_t * C / np.sqrt(k) * c * x / norm
            w = w / max(1, np.linalg.norm(w))
            k += 1
        weights.append(w)
    return np.array(weights)


def so_pater(
    X: Any,
    y: Any,
    variant: Literal["I", "II"],
    r: float = 30.0,
    *,
    form: Literal["leader", "step"] = "leader",
    diagonal: bool = False,
    alpha: Alpha = (1, 1),
    s: Any = None,
    forgetting: float = 1.0,
) -> Floats:
    """Second-order (w)PATER. Samples enter as in `reference.pater`, and Σ⁻¹ by κ = s·v^c/r, v^c = α^c·n/((α⁺ + α⁻)·n^c)
    of the samples seen so far.

    "step" is the paper's step in the metric of Σ before the sample: w ← w + τ·Σz, τ = term/(zᵀΣz). "leader" is the best
    fit to all that has entered, w = Σ(v⁺S⁺ − v⁻S⁻)/r by the counts so far; with `diagonal`, the shortest w without a
    total-error hinge over what has entered, w = τ·Σz with τ = (α⁺·n⁺/seen⁺ + α⁻·n⁻/seen⁻)/(zᵀΣz).
    """
    d, dtype = np.shape(X)[1], np.result_type(X, np.float64)
    metric = _Metric(d, diagonal, dtype, forgetting)
    w = np.zeros(d, dtype)
    n, seen, k = {-1: 0.0, 1: 0.0}, {-1: 0.0, 1: 0.0}, {-1: 0.0, 1: 0.0}
    S = {-1: np.zeros(d, dtype), 1: np.zeros(d, dtype)}
    weights = []
    for x_t, y_t, s_t in _samples(X, y, s):
        c = 1 if y_t > 0 else -1
        loss = max(0, 1 - c * (w @ x_t))
        if s_t > 0:
            for side in (-1, 1):
                n[side], seen[side], S[side] = forgetting * n[side], forgetting * seen[side], forgetting * S[side]
            metric.fade()
        seen[c] += s_t
        a, balance = _alpha_now(alpha, seen), _alpha_now("balanced", seen)
        share = (
            a[c] / (a[1] + a[-1]) if seen[-c] > 0 else 0.5
        )  # of both; before both were seen there is nothing to weigh
        v = {c: 2 * share * balance[c], -c: 2 * (1 - share) * balance[-c]}
        if s_t > 0 and (variant == "II" or loss > 0):
            metric.lift(x_t)
            n[c] += s_t
            S[c] = S[c] + s_t * x_t
            k[c] += s_t / n[c] * (loss - k[c])
            if form == "step":
                gap = np.sum([side * a[side] * S[side] / n[side] for side in (-1, 1) if n[side] > 0], axis=0)
                term = a[c] * s_t * loss / n[c] if variant == "I" else a[-1] * k[-1] + a[1] * k[1]
                if gap @ metric(gap) > 0:
                    w = w + term / (gap @ metric(gap)) * metric(gap)
            metric.enter(x_t, s_t * v[c] / r)
        if form == "leader" and s_t > 0 and not diagonal:
            w = metric(v[1] * S[1] - v[-1] * S[-1]) / r
        elif form == "leader" and s_t > 0:
            gap = np.sum([side * a[side] * S[side] / seen[side] for side in (-1, 1) if seen[side] > 0], axis=0)
            hinge = sum(a[side] * n[side] / seen[side] for side in (-1, 1) if seen[side] > 0)
            zz = gap @ metric(gap)
            w = hinge / zz * metric(gap) if zz > 0 else np.zeros(d)
        weights.append(w)
    return np.array(weights)


def so_pater_by_the_end(
    X: Any, y: Any, r: float = 30.0, *, alpha: tuple[float, float] = (1, 1), s: Any = None
) -> Floats:
    """The leader of second-order (w)PATER-II with samples in Σ⁻¹ by the class balance at the end, not at their entry.

    The weights after each row are computed anew from all rows up to it.
    """
    weights = []
    for t in range(1, len(X) + 1):
        samples = list(_samples(X[:t], y[:t], None if s is None else s[:t]))
        seen = {side: sum(s_i for _, y_i, s_i in samples if (y_i > 0) == (side > 0)) for side in (-1, 1)}
        share = {-1: alpha[0] / sum(alpha), 1: alpha[1] / sum(alpha)} if min(seen.values()) > 0 else {-1: 0.5, 1: 0.5}
        v = {side: share[side] * sum(seen.values()) / seen[side] for side in (-1, 1) if seen[side] > 0}
        metric, along = _Metric(np.shape(X)[1], False), np.zeros(np.shape(X)[1])
        for x_i, y_i, s_i in samples:
            c = 1 if y_i > 0 else -1
            metric.enter(x_i, s_i * v[c] / r if s_i > 0 else 0.0)
            along = along + (c * s_i * v[c] * x_i if s_i > 0 else 0.0)
        weights.append(metric(along) / r)
    return np.array(weights)
