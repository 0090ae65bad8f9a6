"""The compiled loops of the table encoder: one value, one row at a time, so that cutting a stream changes nothing.

Knows Numba only.
"""

from __future__ import annotations

import numpy as np

from ..kernels.compile import exact_kernel, exact_part

LARGEST = 1e150  # of a number that mean and deviation take into account: its square is finite
SMALLEST = 1e-280  # of a sum of squares by which can be divided


@exact_kernel
def standardise(x, learn, moments, clip, z):
    """z-scores of columns, by the (count, mean, sum of squared distances) of each; with `learn`, up to each row."""
    for j in range(x.shape[0]):
        count, mean, square = moments[j, 0], moments[j, 1], moments[j, 2]
        for r in range(x.shape[1]):
            v = x[j, r]
            z[j, r] = 0.0
            if np.isnan(v):
                continue
            if learn and abs(v) <= LARGEST:
                count += 1.0
                gap = v - mean
                mean += gap / count
                square += gap * (v - mean)
            if square > SMALLEST:
                z[j, r] = min(max((v - mean) * np.sqrt(count / square), -clip), clip)
        moments[j, 0], moments[j, 1], moments[j, 2] = count, mean, square


@exact_kernel
def find_bins(x, edges, n_edges, missing, bins, local):
    """Of each number, how many edges of its column are not above it; −1 and a mark in `local` where it is missing."""
    for j in range(x.shape[0]):
        for r in range(x.shape[1]):
            below = 0
            for k in range(n_edges[j]):
                below += edges[j, k] <= x[j, r]
            bins[j, r] = below
            if np.isnan(x[j, r]):
                bins[j, r] = -1
                local[r, missing[j]] = 0


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


@exact_part
def _hash(a, b, seed):
    """A hash of two numbers: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014), after each of them."""
    h = seed
    for code in (a, b):
        h = (h ^ code) + np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
    return h


@exact_kernel
def cross(codes, of, direct, starts, seeds, named, new, learn, places):
    """The place of each cross of each row.

    codes
        What each row has of each facet, (rows, facets).
    of, direct, starts, seeds
        Of each cross its two facets, how many values the second has if places are counted and not hashed, where its
        places begin, and what its hashes begin with.
    named, new
        Of hashed places those that have a name; with `learn`, rows and crosses that are the first at theirs, while
        there is room.

    Returns
    -------
    How many of those there are.
    """
    found = 0
    for r in range(codes.shape[0]):
        for k in range(of.shape[0]):
            a, b = codes[r, of[k, 0]], codes[r, of[k, 1]]
            if direct[k] > 0:
                at = starts[k] + a * direct[k] + b
            else:
                at = starts[k] + _hash(a, b, seeds[k]) % (starts[k + 1] - starts[k])
                if learn and found < new.shape[0] and not named[at]:
                    named[at] = True
                    new[found, 0], new[found, 1] = r, k
                    found += 1
            places[r, k] = at
    return found


@exact_kernel
def write_rows(z, bins, places, first, crosses, local, token_starts, tokens, values, indptr, indices, data, filled):
    """CSR rows: z-scores, bins, crosses, then what was settled, in ascending order; how many numbers there are now.

    `first` are the columns of the first cross and of what was settled first.
    """
    for r in range(local.shape[0]):
        for j in range(z.shape[0]):
            if z[j, r] != 0.0:
                indices[filled], data[filled] = j, z[j, r]
                filled += 1
        for layer in range(places.shape[0]):
            for j in range(z.shape[0]):
                if bins[j, r] >= 0 and places[layer, j, bins[j, r]] >= 0:
                    indices[filled], data[filled] = places[layer, j, bins[j, r]], 1.0
                    filled += 1
        for k in range(crosses.shape[1]):
            indices[filled], data[filled] = first[0] + crosses[r, k], 1.0
            filled += 1
        begin = filled
        for s in range(local.shape[1]):
            if local[r, s] >= 0:
                indices[filled], data[filled] = first[1] + local[r, s], 1.0
                filled += 1
        for t in range(token_starts[r], token_starts[r + 1]):
            if tokens[t] >= 0:
                indices[filled], data[filled] = first[1] + tokens[t], values[t]
                filled += 1
        for k in range(begin + 1, filled):
            column, value, at = indices[k], data[k], k
            while at > begin and indices[at - 1] > column:
                indices[at], data[at] = indices[at - 1], data[at - 1]
                at -= 1
            indices[at], data[at] = column, value
        indptr[r + 1] = filled
    return filled
