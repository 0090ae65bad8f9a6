"""Which importance weights are allowed, and the errors for others.

Knows `rules`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.rules import LARGEST_WEIGHT

WEIGHTS_WANTED = f"0 or positive and finite, between {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
NO_WEIGHT = f"neither 0 nor a number from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"


def check_weights(weights: Any, n_rows: int, name: str) -> NDArray[np.float64]:
    """One weight for each row, in the form of the passes; a ValueError names the first invalid one."""
    try:
        found = np.asarray(weights)
        if found.dtype.kind == "c":
            raise TypeError("these are complex numbers")
        found = np.asarray(found, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from None
    if found.ndim == 0:
        found = np.full(n_rows, float(found))
    if found.shape != (n_rows,):
        raise ValueError(f"{name} has shape {found.shape}, expected ({n_rows},): one number for each row of X.")
    row = first_unsound_weight(found)
    if row >= 0:
        raise ValueError(f"{name} must be {WEIGHTS_WANTED}, got {found[row]} in row {row}.")
    return np.require(found, requirements=("C", "A"))


def are_weights(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers are allowed as weights: 0, and those that neither overflow nor vanish in a sum."""
    return np.asarray((weights == 0) | ((weights >= 1.0 / LARGEST_WEIGHT) & (weights <= LARGEST_WEIGHT)))


def first_unsound_weight(weights: NDArray[np.float64]) -> int:
    """The first row with an invalid weight, or −1."""
    sound = are_weights(weights)
    return -1 if sound.all() else int(np.argmin(sound))
