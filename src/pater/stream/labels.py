"""Which numbers are labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST_LABEL = 2.0**53


def label_faults(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """True where a number is no class label: not whole, or too large to be exact."""
    with np.errstate(invalid="ignore"):
        return np.asarray(~((np.abs(values) <= LARGEST_LABEL) & (values == np.floor(values))))
