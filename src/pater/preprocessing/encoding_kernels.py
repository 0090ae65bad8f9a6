"""The compiled loops of the table encoder: one value, one row at a time, so that cutting a stream changes nothing.

Knows Numba only.
"""

from __future__ import annotations

import numpy as np

from ..kernels.compile import exact_kernel

LARGEST = 1e150  # of a number that mean and deviation take into account: its square is finite


@exact_kernel
def standardise(x, learn, moments, clip, z):
    """z-scores of one column, by its (count, mean, sum of squared distances); with `learn`, up to and with each row."""
    count, mean, square = moments[0], moments[1], moments[2]
    for r in range(x.size):
        z[r] = 0.0
        if np.isnan(x[r]):
            continue
        if learn and abs(x[r]) <= LARGEST:
            count += 1.0
            gap = x[r] - mean
            mean += gap / count
            square += gap * (x[r] - mean)
        if square > 0.0:
            z[r] = min(max((x[r] - mean) / np.sqrt(square / count), -clip), clip)
    moments[0], moments[1], moments[2] = count, mean, square


@exact_kernel
def find_bins(x, edges, bins):
    """Of each number, how many edges are not above it; −1 for none where it is missing."""
    for r in range(x.size):
        low, high = 0, edges.size
        while low < high:
            middle = (low + high) // 2
            if edges[middle] <= x[r]:
                low = middle + 1
            else:
                high = middle
        bins[r] = -1 if np.isnan(x[r]) else low


@exact_kernel
def place_categories(codes, own, slots, n_own, most, min_count, buckets, seen, learn, places):
    """The place of each row's category: its own, or that of rare ones, or that of a bucket; −1 becomes missing.

    own
        Of each text of this batch its own place, or −1. A text that comes for the `min_count`-th time gets one while
        there are fewer than `most`; after that, it shares one of the buckets.
    slots
        Where `seen` counts each text that has no place of its own. `seen` stops at `min_count`.
    """
    rare, missing = most, most + 1
    for r in range(codes.size):
        c = codes[r]
        if c < 0:
            places[r] = missing
        elif own[c] >= 0:
            places[r] = own[c]
        else:
            h = slots[c]
            if learn and seen[h] < min_count:
                seen[h] += 1
            if seen[h] < min_count:
                places[r] = rare
            elif learn and n_own < most:
                places[r] = own[c] = n_own
                n_own += 1
            elif n_own < most:
                places[r] = rare
            else:
                places[r] = most + 2 + h % buckets
    return n_own


@exact_kernel
def settle(local, base, token_starts, tokens, places, known, learn):
    """Turn places within a slot into columns, in place. With `learn`, a new one gets the next column, row by row."""
    for r in range(local.shape[0]):
        for s in range(local.shape[1]):
            if local[r, s] >= 0:
                at = base[s] + local[r, s]
                if learn and places[at] < 0:
                    places[at] = known
                    known += 1
                local[r, s] = places[at]
        for t in range(token_starts[r], token_starts[r + 1]):
            at = tokens[t]
            if learn and places[at] < 0:
                places[at] = known
                known += 1
            tokens[t] = places[at]
    return known


@exact_kernel
def write_rows(z, bins, columns_of_bins, first, local, token_starts, tokens, token_values, indptr, indices, data):
    """CSR rows: z-scores, then the bins, then what was settled, in ascending order; how many numbers there are."""
    filled = 0
    indptr[0] = 0
    for r in range(local.shape[0]):
        for j in range(z.shape[0]):
            if z[j, r] != 0.0:
                indices[filled], data[filled] = j, z[j, r]
                filled += 1
        for j in range(z.shape[0]):
            if bins[j, r] >= 0 and columns_of_bins[j, bins[j, r]] >= 0:
                indices[filled], data[filled] = columns_of_bins[j, bins[j, r]], 1.0
                filled += 1
        begin = filled
        for s in range(local.shape[1]):
            if local[r, s] >= 0:
                indices[filled], data[filled] = first + local[r, s], 1.0
                filled += 1
        for t in range(token_starts[r], token_starts[r + 1]):
            if tokens[t] >= 0:
                indices[filled], data[filled] = first + tokens[t], token_values[t]
                filled += 1
        for k in range(begin + 1, filled):
            column, value, at = indices[k], data[k], k
            while at > begin and indices[at - 1] > column:
                indices[at], data[at] = indices[at - 1], data[at - 1]
                at -= 1
            indices[at], data[at] = column, value
        indptr[r + 1] = filled
    return filled
