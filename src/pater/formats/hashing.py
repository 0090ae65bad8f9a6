"""Names to columns, outside of compiled loops."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .murmur import hashed_and_marked


def place_of(name: str, bits: int) -> tuple[int, float]:
    """The column of a name among 2^bits and the sign of its values, as scikit-learn's FeatureHasher has them."""
    return marked_place_of(name, bits)[:2]


def marked_place_of(name: str, bits: int) -> tuple[int, float, int]:
    """The same, and a mark that tells this name from most others in its column."""
    text = np.frombuffer(name.encode(), np.uint8)
    column, sign, mark = hashed_and_marked(text, 0, text.size, bits)
    return int(column), float(sign), int(mark)


def places_of(names: Iterable[str], bits: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The columns and signs of several names."""
    found = [place_of(name, bits) for name in names]
    return np.array([column for column, _ in found], np.int64), np.array([sign for _, sign in found], np.float64)
