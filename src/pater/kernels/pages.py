"""Memory in which the passes are fast: large pages for tables, whole cache lines for vectors.

A table of many megabytes has more pages of four kilobytes than a processor keeps addresses of, and then every access to
a rare column looks up its page first: a third of the time of a sparse pass. Linux gives large pages on request; NumPy
requests them for arrays that it fills, but not for zeros.

A loop over dense rows and vectors is fastest where each vector starts a cache line, which is a register of eight
numbers, and zeros follow up to the end of its last line, so that the last register is written like the others.
"""

from __future__ import annotations

import math
import mmap

import numpy as np
from numpy.typing import NDArray

WORTH_ASKING = 1 << 22  # bytes
LARGE_PAGE = 1 << 21
LINE = 8  # numbers


def zeros(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array of zeros; untouched pages are never allocated."""
    size = math.prod(shape)
    if 8 * size < WORTH_ASKING or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape)
    block = mmap.mmap(-1, 8 * size + LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        block.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # a kernel without them: small pages work, only slower
        return np.zeros(shape)
    address = np.frombuffer(block, np.uint8).ctypes.data
    return np.frombuffer(block, np.float64, size, -address % LARGE_PAGE).reshape(shape)


def zeros_in_lines(shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """Vectors of zeros, (models, kinds, features), in memory where each has whole cache lines to itself."""
    n_models, kinds, n_features = shape
    width = _in_whole_lines(n_features)
    size = n_models * kinds * width
    memory = zeros((size + LINE,))
    start = -(memory.ctypes.data // 8) % LINE
    return memory[start : start + size].reshape(n_models, kinds, width)[:, :, :n_features]


def whole_lines(vectors: NDArray[np.float64], rooms: int = 0) -> NDArray[np.float64] | None:
    """Vectors from `zeros_in_lines`, or those of some models, each with the zeros after it; None for other arrays.

    `rooms` is the number of vectors that each model has beyond those given.
    """
    n_models, kinds, n_features = vectors.shape
    width, memory = _in_whole_lines(n_features), vectors.base
    strides = 8 * width * (kinds + rooms), 8 * width, 8
    if memory is None or vectors.strides != strides or vectors.ctypes.data % (8 * LINE):
        return None
    place = vectors.ctypes.data - memory.ctypes.data
    return np.ndarray((n_models, kinds + rooms, width), np.float64, memory, place)


def _in_whole_lines(n: int) -> int:
    return -(-max(n, 1) // LINE) * LINE
