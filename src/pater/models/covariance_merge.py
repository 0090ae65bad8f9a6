"""Merging two metrics by adding in Σ⁻¹, and the reverse: what one has seen since it started from another.

Knows `kernels`; knows nothing of learning from rows.

Σ⁻¹ = Σa⁻¹ + Σb⁻¹ − I, with the prior counted once; a past that fades is taken as of the last sample, with its prior
restored. A full metric takes in the eigenvectors of Σb⁻¹ − I one by one, as if they were rows, by the update that keeps
it positive definite. Then the leader's weights are computed again from the class sums, which add exactly. Those of AROW
are recursive least squares, Σ·(a sum over rows): with a full metric the sums Σ⁻¹w add. Those of the others stay the
average by samples seen: for them adding Σ⁻¹w loses more (see `docs/log.md`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import entrance
from ..kernels.class_means import rates
from ..kernels.memory import P_NEG, P_POS, POINT_Q, S_NEG, S_POS, Q, U
from ..kernels.rules import RULES
from ..kernels.state import State
from ..kernels.triangle import ALL, UNKNOWN, absorb, image, packed_size, restore_prior, widen

Floats = NDArray[np.float64]

absorb_row, image_of, give_prior_back, widen_by = (entrance(each) for each in (absorb, image, restore_prior, widen))
NEGLIGIBLE = 1e-12  # of the largest eigenvalue of a correlation matrix


def merge_metrics(result: State, a: State, b: State, settings: NDArray[np.void]) -> None:
    """Fill in the metric of `result`, whose class sums, counts and average weights are already those of both."""
    m = result.scalars
    m["bias_Q"] = sum(_settled(state.scalars["bias_Q"], state.scalars["gain_pos"]) for state in (a, b))
    for k in range(result.n_models):
        if result.metric == "full":
            _merge_triangles(result, a, b, k, settings[k])
        else:
            kind = Q if result.has_means else POINT_Q
            gains = [state.scalars["gain_pos"][k] for state in (a, b)]
            precisions = [_settled(state.kinds()[k, kind], g) for state, g in zip((a, b), gains, strict=True)]
            result.vectors[k, kind] = precisions[0] + precisions[1]
        _lead(result, k, settings[k])


def metric_since(result: State, whole: State, begun: State, settings: NDArray[np.void]) -> None:
    """Fill in the metric of `result`, whose class sums and counts are already those since then: Σ⁻¹ = Σw⁻¹ − Σb⁻¹ + I.

    Neither past may fade. The weights of `result` are those of the whole until they are computed from sums.
    """
    m = result.scalars
    m["bias_Q"] = np.maximum(whole.scalars["bias_Q"] - begun.scalars["bias_Q"], 0.0)
    for k in range(result.n_models):
        if result.metric == "full":
            _triangle_since(result, whole, begun, k, settings[k])
        else:
            kind = Q if result.has_means else POINT_Q
            result.vectors[k, kind] = np.maximum(whole.kinds()[k, kind] - begun.kinds()[k, kind], 0.0)
        _lead(result, k, settings[k])


def _settled(q: Any, gain: Any) -> Any:
    """Q after the gain of a fading past is divided out of Σ⁻¹; at least the prior is left."""
    return np.where(gain > 1, np.maximum((1.0 + q) / gain, 1.0) - 1.0, q)


def _merge_triangles(result: State, a: State, b: State, k: int, p: Any) -> None:
    assert result.second is not None
    n = int(result.scalars["width"][k])
    f, out = np.empty(n), np.empty(n)
    mine, theirs = (_whole_triangle(state, k, n, f, out) for state in (a, b))
    rows = _rows(_entered(theirs, n))
    triangle = result.second[k, : packed_size(n)]
    triangle[:] = mine
    for row, kappa in rows:
        absorb_row(triangle, n, row, 1.0 / kappa, f, UNKNOWN, out, ALL)
    if _sums_evidence(p):  # w = wa + Σ((Σb⁻¹ − I)(wb − wa) + wb), so that nothing large is subtracted
        first, second = (_weights_of(state, k, n) for state in (a, b))
        pull = sum((kappa * (row @ (second - first)) * row for row, kappa in rows), start=second)
        image_of(triangle, n, pull, f, out)
        _set_weights(result, k, first + out)
    _take_images(result, k, p)


def _triangle_since(result: State, whole: State, begun: State, k: int, p: Any) -> None:
    assert result.second is not None
    n = int(result.scalars["width"][k])
    f, out = np.empty(n), np.empty(n)
    both = [_entered(_whole_triangle(state, k, n, f, out), n) for state in (whole, begun)]
    triangle = result.second[k, : packed_size(n)]
    widen_by(triangle, 0, n)
    for row, kappa in _rows(both[0] - both[1]):
        absorb_row(triangle, n, row, 1.0 / kappa, f, UNKNOWN, out, ALL)
    if _sums_evidence(p):
        w, first = (_weights_of(state, k, n) for state in (whole, begun))
        image_of(triangle, n, both[0] @ w - both[1] @ first + (w - first), f, out)
        _set_weights(result, k, out)
    _take_images(result, k, p)


def _sums_evidence(p: Any) -> bool:
    """Whether Σ⁻¹w, a sum over rows, can be added."""
    return next(rule for rule in RULES.values() if rule.code == p["rule"]).evidence_adds


def _weights_of(state: State, k: int, n: int) -> Floats:
    """The intercept's weight, then those of the metric's columns."""
    w, bias = state.own_weights()
    return np.append(bias[k], w[k, : max(n - 1, 0)])[:n]


def _set_weights(result: State, k: int, weights: Floats) -> None:
    if weights.size:
        result.scalars["bias"][k], result.vectors[k, U, : weights.size - 1] = weights[0], weights[1:]


def _take_images(result: State, k: int, p: Any) -> None:
    """Compute P± = Σ·S± from the metric and the sums."""
    assert result.second is not None
    m, vectors, n = result.scalars, result.vectors[k], int(result.scalars["width"][k])
    f, out = np.empty(n), np.empty(n)
    if result.has_means and n > 0:
        for S, P, side in ((S_POS, P_POS, "pos"), (S_NEG, P_NEG, "neg")):
            sums = np.append(float(p["intercept"]) * m[f"n_{side}"][k], vectors[S, : n - 1])
            image_of(result.second[k, : packed_size(n)], n, sums, f, out)
            m[f"P_{side}"][k], vectors[P, : n - 1] = out[0], out[1:]


def _whole_triangle(state: State, k: int, n: int, f: Floats, out: Floats) -> Floats:
    """The triangle of a model as one of n columns, with its prior restored."""
    assert state.second is not None
    triangle = state.second[k, : packed_size(n)].copy()
    widen_by(triangle, int(state.scalars["width"][k]), n)
    if state.scalars["gain_pos"][k] > 1:
        give_prior_back(triangle, n, state.scalars["gain_pos"][k], f, out)
    return triangle


def _entered(triangle: Floats, n: int) -> Floats:
    """Σ⁻¹ − I."""
    from scipy.linalg import solve_triangular  # half a second that only merging needs

    upper = np.zeros((n, n))
    rows, columns = np.tril_indices(n)
    upper[columns, rows] = triangle
    variances = np.diag(upper).copy()
    inverse = solve_triangular(upper, np.eye(n), unit_diagonal=True) if n else upper
    return np.asarray(inverse.T @ (inverse / variances[:, None]) - np.eye(n))


def _rows(entered: Floats) -> list[tuple[Floats, float]]:
    """Rows x and gains κ such that the κ·x·xᵀ add up to this matrix, after features are brought to one scale."""
    from scipy.linalg import eigh

    n = len(entered)
    if n == 0:
        return []
    size = np.sqrt(np.maximum(np.diag(entered), 0.0))
    down = np.divide(1.0, size, out=np.zeros(n), where=size > 0)
    values, directions = eigh((entered * down[:, None]) * down)
    kept = values > NEGLIGIBLE * max(values.max(), 0.0)
    return [(np.ascontiguousarray(size * directions[:, j]), float(values[j])) for j in np.flatnonzero(kept)]


def _lead(result: State, k: int, p: Any) -> None:
    """Compute the weights of a leader from its sums."""
    if result.has_means and p["leader"]:
        (_lead_full if result.metric == "full" else _lead_diagonal)(result, k, p)


def _lead_full(result: State, k: int, p: Any) -> None:
    """As `means_full._lead`."""
    m = result.scalars[k : k + 1].view(np.recarray)[0]
    m.A_pos, m.A_neg = rates(m, p.view(np.recarray))
    m.bias = m.A_pos * m.P_pos - m.A_neg * m.P_neg
    result.vectors[k, U] = 0.0


def _lead_diagonal(result: State, k: int, p: Any) -> None:
    """As `means_diagonal._lead`."""
    m, vectors = result.scalars[k : k + 1].view(np.recarray)[0], result.vectors[k]
    a_pos = p["alpha_pos"] / m.seen_pos if m.seen_pos > 0 else 0.0
    a_neg = p["alpha_neg"] / m.seen_neg if m.seen_neg > 0 else 0.0
    variance = 1.0 / (1.0 + m.bias_Q)
    z = a_pos * vectors[S_POS] - a_neg * vectors[S_NEG]
    z_bias = p["intercept"] * (a_pos * m.n_pos - a_neg * m.n_neg)
    zz = (z * z / (1.0 + vectors[Q])).sum() + z_bias * z_bias * variance
    tau = (a_pos * m.n_pos + a_neg * m.n_neg) / zz if zz > 0 else 0.0
    m.A_pos, m.A_neg, m.bias = tau * a_pos, tau * a_neg, tau * z_bias * variance
    vectors[U] = 0.0
