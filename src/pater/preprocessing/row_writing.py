"""The compiled loops that write encoded rows as CSR.

Knows the other loops of the encoder.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import allocating, exact_kernel, exact_part, short_part
from .encoding_kernels import find_bins, settle, standardise

SHORT = 32  # the most entries of a row that are sorted by counting


@short_part
def _put(indices, data, at, column, value, there):
    """Write an entry, which the next overwrites unless `there`; return the position of the next.

    Missing numbers cannot be predicted, and a mispredicted branch takes longer than writing ten entries.
    """
    indices[at], data[at] = column, value
    return at + np.uint64(there)


@exact_part
def _sort(columns, numbers, size):
    """Sort entries by their columns, which are distinct: a Shell sort, since it compiles fast."""
    gap = size
    while gap > 1:
        gap = max(1, gap * 5 // 11)
        for k in range(gap, size):
            column, number, to = columns[k], numbers[k], k
            while to >= gap and columns[to - gap] > column:
                columns[to], numbers[to] = columns[to - gap], numbers[to - gap]
                to -= gap
            columns[to], numbers[to] = column, number


@exact_kernel
@allocating
def write_rows(layout, z, bins, crosses, local, tokens, rows, filled):
    """Write CSR rows: z-scores, bins, crosses, then indicators in ascending order; return the entries so far.

    `layout` holds the columns of the bins, and of the first cross and the first indicator; `tokens` where those of
    each row start, their places and their values.
    """
    places, first = layout
    starts, of_words, values = tokens
    indptr, indices, data = rows
    columns, numbers = np.empty(SHORT, np.int64), np.empty(SHORT)
    at = np.uint64(filled)
    for r in range(local.shape[0]):
        for j in range(z.shape[1]):
            at = _put(indices, data, at, j, z[r, j], z[r, j] != 0.0)
        for layer in range(places.shape[0]):
            for j in range(z.shape[1]):
                bin = bins[r, j]
                place = places[layer, j, np.uint64(max(bin, 0))]
                at = _put(indices, data, at, place, 1.0, bin >= 0 and place >= 0)
        for k in range(crosses.shape[1]):
            at = _put(indices, data, at, first[0] + crosses[r, k], 1.0, True)
        begin = at
        for s in range(local.shape[1]):
            at = _put(indices, data, at, first[1] + local[r, s], 1.0, local[r, s] >= 0)
        for t in range(starts[r], starts[r + 1]):
            at = _put(indices, data, at, first[1] + of_words[t], values[t], of_words[t] >= 0)
        size = np.int64(at - begin)
        if size > columns.size:
            columns, numbers = np.empty(2 * size, np.int64), np.empty(2 * size)
        for k in range(size):
            columns[k], numbers[k] = indices[begin + np.uint64(k)], data[begin + np.uint64(k)]
        if size <= SHORT:
            for k in range(size):
                to = begin
                for other in range(size):
                    to += np.uint64(columns[other] < columns[k])
                indices[to], data[to] = columns[k], numbers[k]
        else:
            _sort(columns, numbers, size)
            for k in range(size):
                indices[begin + np.uint64(k)], data[begin + np.uint64(k)] = columns[k], numbers[k]
        indptr[r + 1] = at
    return np.int64(at)


@exact_kernel
def write_row(x, moments, clip, slots, places, layout, tokens, room):
    """Write the CSR row of some numbers and places without learning from it; return how many entries it has.

    `slots` holds `edges`, `n_edges`, `missing` and `bases`; `layout` and `tokens` (here without any) are those of
    `write_rows`; `room` has its other arrays.
    """
    edges, n_edges, missing, bases = slots
    z, bins, crosses, local, row = room
    standardise(x, False, moments, clip, z)
    find_bins(x, edges, n_edges, missing, bins, local)
    settle(local, bases, tokens[0], tokens[1], places, 0, False)
    return write_rows(layout, z, bins, crosses, local, tokens, row, 0)
