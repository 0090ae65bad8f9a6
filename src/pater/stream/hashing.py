"""Names to columns, outside of compiled loops."""

from __future__ import annotations

import numpy as np

from .murmur import hashed


def place_of(name: str, bits: int) -> tuple[int, float]:
    """The column of a name among 2^bits and the sign of its values, as scikit-learn's FeatureHasher has them."""
    text = np.frombuffer(name.encode(), np.uint8)
    column, sign = hashed(text, 0, text.size, bits)
    return int(column), float(sign)
