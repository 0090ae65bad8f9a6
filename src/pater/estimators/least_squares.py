"""Weighted least squares over all rows at once, where no moments are kept: for many columns, or many sparse rows.

Knows NumPy and SciPy.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

Floats = NDArray[np.float64]

SMALL = 1 << 25  # numbers: up to here a sparse system is filled in and solved directly
OUT_OF_STEPS = 7  # what LSMR calls it


def solve(X: Any, y: Floats, v: Floats, *, ridge: float, intercept: bool) -> tuple[Floats, float]:
    """The w and b that minimise Σ vᵢ(yᵢ − w·xᵢ − b)² + ridge·‖w‖²; the shortest such w where there are many.

    The intercept is not penalised: rows and labels are centred on their weighted means, and b follows. Dense systems
    are solved by a singular value decomposition, sparse ones by LSMR, which never fills them in. Neither squares the
    condition of X, as the normal equations of eq. 9 would.
    """
    root = np.sqrt(v)
    d = X.shape[1]
    x_mean, y_mean = np.zeros(d), 0.0
    if intercept:
        x_mean, y_mean = np.asarray(v @ X).ravel() / v.sum(), float(v @ y) / v.sum()
    target = root * (y - y_mean)
    if sp.issparse(X) and X.shape[0] * d <= SMALL:
        X = X.toarray()
    if sp.issparse(X):
        size = np.sqrt(np.asarray(X.multiply(X).T @ v).ravel() + ridge)  # columns of like size: fewer steps
        size[size == 0] = 1.0
        system = scipy.sparse.linalg.LinearOperator(
            X.shape,
            matvec=lambda u: root * (X @ (u.ravel() / size) - x_mean @ (u.ravel() / size)),
            rmatvec=lambda r: (X.T @ (root * r.ravel()) - x_mean * (root @ r.ravel())) / size,
            dtype=np.float64,
        )
        if ridge > 0:  # the penalty is on w, not on what is solved for
            system = _stacked(system, math.sqrt(ridge) / size)
            target = np.concatenate([target, np.zeros(d)])
        u, stopped, *_ = scipy.sparse.linalg.lsmr(
            system, target, atol=1e-13, btol=1e-13, conlim=0, maxiter=20 * d + 100
        )
        if stopped == OUT_OF_STEPS:
            warnings.warn("TERClassifier did not converge: scale the columns, or add a ridge.", ConvergenceWarning, 2)
        w = u / size
    else:
        A = root[:, None] * (X - x_mean)
        if ridge > 0:
            A, target = np.vstack([A, math.sqrt(ridge) * np.eye(d)]), np.concatenate([target, np.zeros(d)])
        rounding = np.finfo(np.float64).eps * max(A.shape)
        w = scipy.linalg.lstsq(A, target, cond=rounding, overwrite_a=True, check_finite=False)[0]
    return w, y_mean - float(x_mean @ w)


def _stacked(top: Any, diagonal: Floats) -> Any:
    """The operator `top` over the matrix with this diagonal."""
    n, d = top.shape
    return scipy.sparse.linalg.LinearOperator(
        (n + d, d),
        matvec=lambda u: np.concatenate([top.matvec(u.ravel()), diagonal * u.ravel()]),
        rmatvec=lambda r: top.rmatvec(r.ravel()[:n]) + diagonal * r.ravel()[n:],
        dtype=np.float64,
    )
