"""Memory for large tables that are read at random places.

Knows NumPy and the operating system. A table of many megabytes in pages of four kilobytes has more of them than a
processor keeps addresses of, and then every access to a seldom column looks its page up first: a third of the time of a
sparse pass. Linux gives large pages to those who ask; NumPy asks for them where it fills an array, but not for zeros.
"""

from __future__ import annotations

import math
import mmap

import numpy as np
from numpy.typing import NDArray

WORTH_ASKING = 1 << 22  # bytes
LARGE_PAGE = 1 << 21


def zeros(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array of zeros; pages that nobody touches are never really taken."""
    size = math.prod(shape)
    if 8 * size < WORTH_ASKING or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape)
    block = mmap.mmap(-1, 8 * size + LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        block.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # a kernel without them: small pages do as well, only slower
        return np.zeros(shape)
    address = np.frombuffer(block, np.uint8).ctypes.data
    return np.frombuffer(block, np.float64, size, -address % LARGE_PAGE).reshape(shape)
