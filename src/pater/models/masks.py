"""Masked arrays, of which NumPy passes on what is under the mask as if nothing were masked."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_unmasked(values: Any, name: str) -> None:
    """Raise an error if some of the values are masked."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        first = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        where = ", ".join(f"{axis} {place}" for axis, place in zip(("row", "column"), first, strict=False))
        raise ValueError(
            f"{name} is a masked array with masked values, the first in {where}, and would be read as if nothing were "
            f"masked. Fill them, for example by {name}.filled(0), or leave out their rows."
        )
