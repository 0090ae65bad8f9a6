"""Rows of many more columns than there are rows, in coordinates of their own span: no learner of a full Σ can tell.

Knows NumPy and SciPy; knows no learner. A learner that starts from Σ = I and w = 0 and learns from inner products sees
the same in any orthonormal basis: with the columns of Q orthonormal, X·Q for X turns w into Qᵀw and Σ into QᵀΣQ, and
leaves every margin as it was. Where the span of the training rows is all that Q has to hold, that is n columns instead
of d. The same goes for a ridge, for least squares of smallest norm, and for whatever else penalises ‖w‖ alone. It does
not go for a diagonal Σ, which knows the columns by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

LOST = 1e-12
"""Of the largest eigenvalue of X·Xᵀ: what is less is rounding, and the direction not one of the span."""


def in_own_span(train: Any, test: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both matrices times a Q that spans the rows of `train`, the k-th of which then has no more than k non-zeros.

    What `test` has outside the span meets no weight and is left out. X itself may be sparse and is never filled in.
    """
    squares, U = scipy.linalg.eigh(_dense(train @ train.T), overwrite_a=True, check_finite=False)
    kept = squares > LOST * squares[-1]
    sizes, U = np.sqrt(squares[kept]), U[:, kept]
    # A turn of the basis towards one row after the other: a covariance that grows with what it has seen stays small.
    turn, triangle = scipy.linalg.qr((U * sizes).T, mode="economic", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(triangle.T), _dense(test @ train.T) @ (U / sizes) @ turn


def _dense(matrix: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
