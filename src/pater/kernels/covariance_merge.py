"""Two metrics made one: what both have seen adds up in Σ⁻¹.

Knows `state` and `triangle`; knows nothing of learning from rows.

Σ⁻¹ = Σa⁻¹ + Σb⁻¹ − I, the prior being counted once; a past that fades is taken as it is after the last sample, with its
prior made whole. A full metric takes in the eigenvectors of Σb⁻¹ − I one by one, as if they were rows, by the update
that keeps it positive definite. Then the leader's weights are made anew from the class sums, which add exactly. Those
of the others stay the average by samples seen: weighing them by their precisions, Σ(Σa⁻¹wa + Σb⁻¹wb), is what two
normal distributions would ask for, but loses more (see `docs/log.md`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compile import entrance
from .memory import P_NEG, P_POS, POINT_Q, S_NEG, S_POS, Q, U
from .state import State
from .triangle import absorb, image, packed_size, restore_prior, widen

Floats = NDArray[np.float64]

absorb_row, image_of, give_prior_back, widen_by = (entrance(each) for each in (absorb, image, restore_prior, widen))
NEGLIGIBLE = 1e-12  # of the largest eigenvalue of a correlation matrix


def merge_metrics(result: State, a: State, b: State, settings: NDArray[np.void]) -> None:
    """Fill the metric of `result`, whose class sums, counts and average weights are those of both already."""
    m = result.scalars
    m["bias_Q"] = sum(_settled(state.scalars["bias_Q"], state.scalars["gain_pos"]) for state in (a, b))
    for k in range(result.n_models):
        if result.metric == "full":
            _merge_triangles(result, a, b, k, one=float(settings["intercept"][k]))
        else:
            kind = Q if result.has_means else POINT_Q
            gains = [state.scalars["gain_pos"][k] for state in (a, b)]
            precisions = [_settled(state.kinds()[k, kind], g) for state, g in zip((a, b), gains, strict=True)]
            result.vectors[k, kind] = precisions[0] + precisions[1]
        if result.has_means and settings["leader"][k]:
            (_lead_full if result.metric == "full" else _lead_diagonal)(result, k, settings[k])


def _settled(q: Any, gain: Any) -> Any:
    """Q when the gain of a past that fades is taken out of Σ⁻¹; at least the prior is left."""
    return np.where(gain > 1, np.maximum((1.0 + q) / gain, 1.0) - 1.0, q)


def _merge_triangles(result: State, a: State, b: State, k: int, *, one: float) -> None:
    assert result.second is not None
    m, vectors, triangle = result.scalars, result.vectors[k], result.second[k]
    n = int(m["width"][k])
    f, out = np.empty(n), np.empty(n)
    both = []
    for state in (a, b):
        assert state.second is not None
        both.append(state.second[k, : packed_size(n)].copy())
        widen_by(both[-1], int(state.scalars["width"][k]), n)
        if state.scalars["gain_pos"][k] > 1:
            give_prior_back(both[-1], n, state.scalars["gain_pos"][k], f, out)
    triangle[: packed_size(n)] = both[0]
    for row, kappa in _rows_of(both[1], n):
        absorb_row(triangle, n, row, 1.0 / kappa, f, 0, out)
    if result.has_means and n > 0:
        for S, P, side in ((S_POS, P_POS, "pos"), (S_NEG, P_NEG, "neg")):
            image_of(triangle, n, np.append(one * m[f"n_{side}"][k], vectors[S, : n - 1]), f, out)
            m[f"P_{side}"][k], vectors[P, : n - 1] = out[0], out[1:]


def _rows_of(triangle: Floats, n: int) -> list[tuple[Floats, float]]:
    """Rows x and gains κ whose κ·x·xᵀ add up to Σ⁻¹ − I. Features are brought to one scale for it."""
    from scipy.linalg import eigh, solve_triangular  # half a second that only merging needs

    if n == 0:
        return []
    upper = np.zeros((n, n))
    rows, columns = np.tril_indices(n)
    upper[columns, rows] = triangle
    variances = np.diag(upper).copy()
    inverse = solve_triangular(upper, np.eye(n), unit_diagonal=True)
    entered = inverse.T @ (inverse / variances[:, None]) - np.eye(n)
    size = np.sqrt(np.maximum(np.diag(entered), 0.0))
    down = np.divide(1.0, size, out=np.zeros(n), where=size > 0)
    values, directions = eigh((entered * down[:, None]) * down)
    kept = values > NEGLIGIBLE * max(values.max(), 0.0)
    return [(np.ascontiguousarray(size * directions[:, j]), float(values[j])) for j in np.flatnonzero(kept)]


def _lead_full(result: State, k: int, p: Any) -> None:
    """As `means_full._lead`."""
    m, (pos, neg), (alpha_pos, alpha_neg) = result.scalars, *_weights_now(result.scalars[k], p)
    if not m["seen_pos"][k] > 0 or not m["seen_neg"][k] > 0:
        alpha_pos = alpha_neg = 1.0
    both = 0.5 * (alpha_pos + alpha_neg) * p["r"]
    m["A_pos"][k], m["A_neg"][k] = pos * (alpha_pos / both), neg * (alpha_neg / both)
    m["bias"][k] = m["A_pos"][k] * m["P_pos"][k] - m["A_neg"][k] * m["P_neg"][k]
    result.vectors[k, U] = 0.0


def _lead_diagonal(result: State, k: int, p: Any) -> None:
    """As `means_diagonal._lead`."""
    m, vectors, (_, alphas) = result.scalars, result.vectors[k], _weights_now(result.scalars[k], p)
    seen = (m["seen_pos"][k], m["seen_neg"][k])
    a_pos, a_neg = (alpha / n if n > 0 else 0.0 for alpha, n in zip(alphas, seen, strict=True))
    variance = 1.0 / (1.0 + m["bias_Q"][k])
    z = a_pos * vectors[S_POS] - a_neg * vectors[S_NEG]
    z_bias = p["intercept"] * (a_pos * m["n_pos"][k] - a_neg * m["n_neg"][k])
    zz = (z * z / (1.0 + vectors[Q])).sum() + z_bias * z_bias * variance
    tau = (a_pos * m["n_pos"][k] + a_neg * m["n_neg"][k]) / zz if zz > 0 else 0.0
    m["A_pos"][k], m["A_neg"][k] = tau * a_pos, tau * a_neg
    m["bias"][k] = tau * z_bias * variance
    vectors[U] = 0.0


def _weights_now(m: Any, p: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """n/(2·n^c) of the samples seen, and the class weights α."""
    half = 0.5 * (m["seen_pos"] + m["seen_neg"])
    pos, neg = (half / seen if seen > 0 else 1.0 for seen in (m["seen_pos"], m["seen_neg"]))
    return (pos, neg), (p["alpha_pos"], p["alpha_neg"])
