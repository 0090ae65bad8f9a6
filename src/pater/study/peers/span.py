"""Wide rows in coordinates of their own span, which changes nothing for a learner with a full Σ.

Knows NumPy and SciPy; knows no learner. A learner that starts from Σ = I and w = 0 and learns from inner products gives
the same in any orthonormal basis: with orthonormal columns of Q, using X·Q for X turns w into Qᵀw and Σ into QᵀΣQ, and
leaves every margin unchanged. As Q need only hold the span of the training rows, it has n columns instead of d. The
same holds for a ridge, for least squares of smallest norm, and for anything else that penalises ‖w‖ alone. It does not
hold for a diagonal Σ, which depends on the basis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

LOST = 1e-12
"""Of the largest eigenvalue of X·Xᵀ: anything less is rounding, and the direction is not part of the span."""


def in_own_span(train: Any, test: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both matrices times a Q that spans the rows of `train`, whose k-th row then has at most k non-zeros.

    The part of `test` outside the span meets no weight and is left out. X itself may be sparse and is never made dense.
    """
    squares, U = scipy.linalg.eigh(_dense(train @ train.T), overwrite_a=True, check_finite=False)
    kept = squares > LOST * squares[-1]
    sizes, U = np.sqrt(squares[kept]), U[:, kept]
    # Turn the basis towards one row after the other: a covariance that grows with the rows seen stays small.
    turn, triangle = scipy.linalg.qr((U * sizes).T, mode="economic", overwrite_a=True, check_finite=False)
    return np.ascontiguousarray(triangle.T), _dense(test @ train.T) @ (U / sizes) @ turn


def _dense(matrix: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
