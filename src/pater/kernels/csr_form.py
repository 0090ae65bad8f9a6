"""The form of compressed sparse rows, in one compiled scan.

Knows Numba only.
"""

from __future__ import annotations

from .compile import kernel

SOUND, OUT_OF_ORDER, OUT_OF_RANGE, NO_ROWS = range(4)


@kernel
def form(indptr, indices, last):
    """The form of rows whose indptr ends within `indices`: 0 is sound, with distinct, ascending columns up to `last`;
    1 has columns out of order or twice; 2 has columns beyond `last`; 3 has an indptr that goes back.
    """
    start, end = indptr[0], indptr[-1]
    at_row_ends = 0
    for i in range(1, indptr.size):
        k = indptr[i]
        if k < indptr[i - 1] or k > end:
            return 3
        if k < end and indptr[i - 1] < k:
            at_row_ends += indices[k] <= indices[k - 1]
    if start == end:
        return 0
    descents = 0
    outside = 0
    for k in range(start + 1, end):
        descents += indices[k] <= indices[k - 1]
        outside += indices[k] > last
    if outside > 0 or indices[start] > last:
        return 2
    return 1 if descents != at_row_ends else 0
