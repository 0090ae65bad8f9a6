"""Two metrics made one: what both have seen adds up in Σ⁻¹, and the weights follow.

Knows `state` and `triangle`; knows nothing of learning from rows.

Σ⁻¹ = Σa⁻¹ + Σb⁻¹ − I, the prior being counted once. A full metric takes in the eigenvectors of Σb⁻¹ − I one by one, as
if they were rows, by the update that keeps it positive definite. The weights of a point rule are those of two normal
distributions that say the same thing from different data, Σ(Σa⁻¹wa + Σb⁻¹wb): exact for what is recursive least
squares (AROW, the second-order perceptron) on the rows that entered. The leader's are made anew from the class sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .state import P_NEG, P_POS, POINT_Q, S_NEG, S_POS, Q, State, U
from .triangle import absorb, image, widen

Floats = NDArray[np.float64]
NEGLIGIBLE = 1e-12  # of the largest eigenvalue of a correlation matrix


def merge_metrics(result: State, a: State, b: State, settings: NDArray[np.void]) -> None:
    """Fill the metric of `result` from those of a and b, and the weights that go by it.

    The class sums, counts and average weights of `result` are those of both already.
    """
    m = result.scalars
    m["bias_Q"] = a.scalars["bias_Q"] + b.scalars["bias_Q"]
    m["width"] = np.maximum(a.scalars["width"], b.scalars["width"])
    if result.metric == "full":
        for k in range(result.n_models):
            _Full(result, k, settings[k]).merge(a, b)
        return
    _merge_diagonal(result, a, b)
    if result.has_means:
        _lead_again(result, settings)


def _merge_diagonal(result: State, a: State, b: State) -> None:
    kind, m = (Q if result.has_means else POINT_Q), result.scalars
    of_a, of_b = (_precision(state, kind) for state in (a, b))
    result.vectors[:, kind] = a.kinds()[:, kind] + b.kinds()[:, kind]
    together = _precision(result, kind)
    (w_a, bias_a), (w_b, bias_b) = a.own_weights(), b.own_weights()
    unit_a, unit_b = (state.scalars["exponent"] - m["exponent"] for state in (a, b))
    joint = of_a * _ldexp(w_a, bias_a, unit_a) + of_b * _ldexp(w_b, bias_b, unit_b)
    joint /= together
    m["bias"], result.vectors[:, U] = joint[:, 0], joint[:, 1:]


def _precision(state: State, kind: int) -> Floats:
    return np.hstack([1.0 + state.scalars["bias_Q"][:, None], 1.0 + state.kinds()[:, kind]])


def _ldexp(w: Floats, bias: Floats, shift: NDArray[np.int64]) -> Floats:
    return np.asarray(np.ldexp(np.hstack([bias[:, None], w]), shift[:, None]))


def _lead_again(result: State, settings: NDArray[np.void]) -> None:
    """Where the leader's form is learned, weights come from class sums alone: as `diagonal._lead`."""
    m = result.scalars
    for k in np.flatnonzero(settings["leader"]):
        alphas = rates_of(m[k], settings[k])[2:]
        seen = (m["seen_pos"][k], m["seen_neg"][k])
        a_pos, a_neg = (alpha / n if n > 0 else 0.0 for alpha, n in zip(alphas, seen, strict=True))
        variance = 1.0 / (1.0 + m["bias_Q"][k])
        z = a_pos * result.vectors[k, S_POS] - a_neg * result.vectors[k, S_NEG]
        z_bias = settings["intercept"][k] * (a_pos * m["n_pos"][k] - a_neg * m["n_neg"][k])
        zz = (z * z / (1.0 + result.vectors[k, Q])).sum() + z_bias * z_bias * variance
        tau = (a_pos * m["n_pos"][k] + a_neg * m["n_neg"][k]) / zz if zz > 0 else 0.0
        m["A_pos"][k], m["A_neg"][k] = tau * a_pos, tau * a_neg
        m["bias"][k] = tau * z_bias * variance
        result.vectors[k, U] = 0.0


def rates_of(m: Any, p: Any) -> tuple[float, float, float, float]:
    """As `means.rates`, outside a kernel; and the class weights now."""
    half = 0.5 * (m["seen_pos"] + m["seen_neg"])
    pos, neg = (half / seen if seen > 0 else 1.0 for seen in (m["seen_pos"], m["seen_neg"]))
    alpha_pos, alpha_neg = (pos, neg) if p["balanced"] else (p["alpha_pos"], p["alpha_neg"])
    if m["seen_pos"] == 0 or m["seen_neg"] == 0:
        alpha_pos = alpha_neg = 1.0
    both = 0.5 * (alpha_pos + alpha_neg) * p["r"]
    return pos * (alpha_pos / both), neg * (alpha_neg / both), alpha_pos, alpha_neg


class _Full:
    """Model k of a state with a full metric."""

    def __init__(self, state: State, k: int, p: Any) -> None:
        assert state.second is not None
        self.state, self.k, self.p = state, k, p
        self.triangle, self.vectors, self.m = state.second[k], state.vectors[k], state.scalars[k : k + 1]
        self.n = int(self.m["width"][0])

    def merge(self, a: State, b: State) -> None:
        assert a.second is not None
        assert b.second is not None
        n, m, w = self.n, self.m, self.vectors[U]
        if n == 0:
            return
        triangles = [np.array(state.second[self.k, : n * (n + 1) // 2]) for state in (a, b)]  # type: ignore[index]
        joint = np.zeros(n)
        for state, triangle in zip((a, b), triangles, strict=True):
            widen(triangle, int(state.scalars["width"][self.k]), n)
            of_model, bias = state.some(self.k, self.k + 1).own_weights()
            joint += np.ldexp(
                _times_precision(triangle, n, np.append(bias, of_model[0, : n - 1])),
                state.scalars["exponent"][self.k] - m["exponent"][0],
            )
        self.triangle[: n * (n + 1) // 2] = triangles[0]
        f, out = np.empty(n), np.empty(n)
        for row, kappa in _rows_of(triangles[1], n):
            absorb(self.triangle, n, row, 1.0 / kappa, f, False, out)
        if self.state.has_means:
            for S, P, side in ((S_POS, P_POS, "pos"), (S_NEG, P_NEG, "neg")):
                one = float(self.p["intercept"])
                total = np.append(one * m[f"n_{side}"][0], self.vectors[S, : n - 1])
                image(self.triangle, n, total, f, out)
                m[f"P_{side}"], self.vectors[P, : n - 1] = out[0], out[1:]
            if self.p["leader"]:
                m["A_pos"], m["A_neg"], _, _ = rates_of(m[0], self.p)
                m["bias"] = m["A_pos"] * m["P_pos"] - m["A_neg"] * m["P_neg"]
                w[:] = 0.0
                return
        image(self.triangle, n, joint, f, out)
        m["bias"], w[: n - 1] = out[0], out[1:]


def _factors(triangle: Floats, n: int) -> tuple[Floats, Floats]:
    """U and D of the first n columns."""
    upper = np.zeros((n, n))
    rows, columns = np.tril_indices(n)
    upper[columns, rows] = triangle[: n * (n + 1) // 2]
    D = np.diag(upper).copy()
    np.fill_diagonal(upper, 1.0)
    return upper, D


def _times_precision(triangle: Floats, n: int, v: Floats) -> Floats:
    """Σ⁻¹v."""
    from scipy.linalg import solve_triangular

    upper, D = _factors(triangle, n)
    inner = solve_triangular(upper, v, unit_diagonal=True) / D
    return np.asarray(solve_triangular(upper, inner, trans=1, unit_diagonal=True))


def _rows_of(triangle: Floats, n: int) -> list[tuple[Floats, float]]:
    """Rows x and gains κ whose κ·x·xᵀ add up to Σ⁻¹ − I. Features are brought to one scale for it."""
    from scipy.linalg import eigh, solve_triangular

    upper, D = _factors(triangle, n)
    inverse = solve_triangular(upper, np.eye(n), unit_diagonal=True)
    entered = inverse.T @ (inverse / D[:, None]) - np.eye(n)
    size = np.sqrt(np.maximum(np.diag(entered), 0.0))
    down = np.divide(1.0, size, out=np.zeros(n), where=size > 0)
    values, directions = eigh((entered * down[:, None]) * down)
    kept = values > NEGLIGIBLE * max(values.max(), 0.0)
    return [(np.ascontiguousarray(size * directions[:, j]), float(values[j])) for j in np.flatnonzero(kept)]
