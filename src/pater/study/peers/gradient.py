"""Cost-sensitive gradient descent, compiled: published learners of this objective that the package does not offer.

Knows `compiler.decorators`; knows nothing of the study. These passes compute what `pater.reference.cost_sensitive`
describes, fast. One pass handles dense and sparse rows alike: a dense matrix becomes sparse by leaving out its zeros.
The intercept is the first column, a constant 1.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from pater.compiler.decorators import allocating, kernel

LOSSES = ("hinge I", "hinge II", "logistic")
STEPS = ("plain", "diagonal", "AdaGrad", "FTRL", "full")
HINGE_I, HINGE_II, LOGISTIC = range(3)
PLAIN, DIAGONAL, ADAGRAD, FTRL = range(4)

BETA, L2 = 1.0, 1.0  # FTRL's β, and its λ₂; λ₁ is 0


class Descent(NamedTuple):
    """A loss, the kind of steps, their rate η, which FTRL calls α, and ACOG's γ."""

    loss: Literal["hinge I", "hinge II", "logistic"]
    steps: Literal["plain", "diagonal", "full", "AdaGrad", "FTRL"]
    rate: float
    gamma: float = 1.0


class Descended(NamedTuple):
    """The weights and the intercept after the pass, and the margin of each row just before it was learned from."""

    w: NDArray[np.float64]
    bias: float
    margins: NDArray[np.float64]


def descend(descent: Descent, X: Any, positive: NDArray[np.bool_]) -> Descended:
    """One pass over the rows of a matrix, dense or CSR."""
    rows = csr_array(X)
    rows = csr_array(hstack([np.ones((rows.shape[0], 1)), rows], format="csr"))
    # The compiler should meet only one type of index, whatever SciPy chooses.
    parts = rows.data.astype(np.float64), rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    w, margins = np.zeros(rows.shape[1]), np.empty(rows.shape[0])
    settings = LOSSES.index(descent.loss), STEPS.index(descent.steps), descent.rate, descent.gamma
    one_pass = _full_pass if descent.steps == "full" else _coordinate_pass
    one_pass(*parts, positive, settings, w, margins)
    return Descended(w[1:], float(w[0]), margins)


@kernel
def _push(loss, margin, positive, seen):
    """How steeply the loss falls along y·x; `seen` holds the negatives and positives so far."""
    if loss == LOGISTIC:
        own = seen[1] if positive else seen[0]
        return (seen[0] + seen[1]) / (2.0 * own) / (1.0 + math.exp(margin))
    rho = seen[0] / seen[1] if positive and seen[0] > 0.0 else 1.0
    if loss == HINGE_I:
        return 1.0 if margin < rho else 0.0
    return rho if margin < 1.0 else 0.0


@kernel
def _margin(values, columns, w):
    f = 0.0
    for k in range(len(columns)):
        f += w[columns[k]] * values[k]
    return f


@kernel
@allocating
def _coordinate_pass(data, indices, indptr, positive, settings, w, margins):
    """Steps for each column separately: those of CSOGD, diagonal ACOG, AdaGrad and FTRL."""
    loss, steps, rate, gamma = settings
    seen = np.zeros(2)
    gathered = np.ones(len(w)) if steps == DIAGONAL else np.zeros(len(w))  # 1/Σᵢᵢ, or the squares of the gradients
    z = np.zeros(len(w))
    for i in range(len(margins)):
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        margins[i] = _margin(values, columns, w)
        y = 1.0 if positive[i] else -1.0
        seen[1 if positive[i] else 0] += 1.0
        push = _push(loss, y * margins[i], positive[i], seen)
        if push == 0.0:
            continue
        for k in range(len(columns)):
            j, g = columns[k], -push * y * values[k]
            if steps == PLAIN:
                w[j] -= rate * g
            elif steps == DIAGONAL:
                gathered[j] += values[k] * values[k] / gamma
                w[j] -= rate * g / gathered[j]
            elif steps == ADAGRAD:
                gathered[j] += g * g
                if gathered[j] > 0.0:
                    w[j] -= rate * g / math.sqrt(gathered[j])
            else:
                before = math.sqrt(gathered[j])
                gathered[j] += g * g
                now = math.sqrt(gathered[j])
                z[j] += g - (now - before) / rate * w[j]
                w[j] = -z[j] / ((BETA + now) / rate + L2)


@kernel
@allocating
def _full_pass(data, indices, indptr, positive, settings, w, margins):
    """ACOG with a full Σ, which differs from the identity only in the columns seen so far."""
    loss, _, rate, gamma = settings
    seen = np.zeros(2)
    covariance, u = np.eye(len(w)), np.zeros(len(w))
    reach = 0
    for i in range(len(margins)):
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        margins[i] = _margin(values, columns, w)
        y = 1.0 if positive[i] else -1.0
        seen[1 if positive[i] else 0] += 1.0
        push = _push(loss, y * margins[i], positive[i], seen)
        if push == 0.0:
            continue
        for k in range(len(columns)):
            reach = max(reach, columns[k] + 1)
        u[:reach] = 0.0
        for k in range(len(columns)):
            line = covariance[columns[k]]
            for j in range(reach):
                u[j] += values[k] * line[j]
        v = _margin(values, columns, u)
        for j in range(reach):
            w[j] += rate * push * y * gamma / (gamma + v) * u[j]  # Σx for the new Σ
        scale = 1.0 / math.sqrt(gamma + v)
        for j in range(reach):
            u[j] *= scale
        for k in range(reach):
            line = covariance[k]
            for j in range(reach):
                line[j] -= u[k] * u[j]
