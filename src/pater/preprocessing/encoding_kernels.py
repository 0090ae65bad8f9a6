"""The compiled loops of the table encoder, which go value by value and row by row: no cut of a stream matters.

Knows Numba only.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import allocating, exact_kernel, exact_part, short_part

LARGEST = 1e150  # the largest number that mean and deviation take into account: its square is finite
SMALLEST = 1e-280  # the smallest sum of squares to divide by
TILE = 128  # rows that are written at a time, so that they stay in the cache from column to column


@short_part
def _over(a, b):
    """The floor of a / b, both whole. A product is faster than a division; adding a half makes its rounding safe."""
    return np.floor((a + 0.5) * (1.0 / b))


@exact_kernel
def parts_of_dates(seconds, hours, places):
    """Write the hour (if `hours`), weekday and month of moments, (3, rows), counted from 0; −1 where one is missing.

    Without a branch, and with floats only, so that several rows are computed at once.
    """
    for r in range(seconds.size):
        there = seconds[r] == seconds[r]
        second = seconds[r] if there else 0.0
        day = np.floor(second / 86400.0)
        hour = np.floor((second - day * 86400.0) / 3600.0)
        weekday = day + 3.0 - 7.0 * _over(day + 3.0, 7.0)
        of_era = day + 719468.0 - 146097.0 * _over(day + 719468.0, 146097.0)  # 400 years from the first of March on
        days = of_era - _over(of_era, 1460.0) + _over(of_era, 36524.0) - _over(of_era, 146096.0)
        year = _over(days, 365.0)
        of_year = of_era - (365.0 * year + _over(year, 4.0) - _over(year, 100.0))
        month = _over(5.0 * of_year + 2.0, 153.0) + 2.0
        month = month - 12.0 if month >= 12.0 else month
        places[0, r] = np.int32(hour if there and hours else -1.0)
        places[1, r] = np.int32(weekday if there else -1.0)
        places[2, r] = np.int32(month if there else -1.0)


@exact_kernel
@allocating
def standardise(x, learn, moments, clip, z):
    """Write the z-scores (rows, columns) of columns by the (count, mean, sum of squared distances) of each.

    With `learn`, these moments take in all numbers up to and including the row itself. The columns of a row are
    standardised side by side, without a branch: one division and root after the other takes twice the time.
    """
    counts, means, squares = np.empty(x.shape[0]), np.empty(x.shape[0]), np.empty(x.shape[0])
    for j in range(x.shape[0]):  # one by one, here and at the end: a slice of a matrix takes seconds to compile
        counts[j], means[j], squares[j] = moments[j, 0], moments[j, 1], moments[j, 2]
    for begin in range(0, x.shape[1], TILE):
        end = min(begin + TILE, x.shape[1])
        for j in range(x.shape[0]):
            for r in range(begin, end):
                z[r, j] = x[j, r]
        for r in range(begin, end):
            for j in range(x.shape[0]):
                v, count, mean, square = z[r, j], counts[j], means[j], squares[j]
                taken = learn and abs(v) <= LARGEST
                gap = v - mean
                next_mean = mean + gap / (count + 1.0)
                next_square = square + gap * (v - next_mean)
                count = count + 1.0 if taken else count
                mean = next_mean if taken else mean
                square = next_square if taken else square
                score = min(max((v - mean) * np.sqrt(count / square), -clip), clip)
                z[r, j] = score if square > SMALLEST and v == v else 0.0
                counts[j], means[j], squares[j] = count, mean, square
    for j in range(x.shape[0]):
        moments[j, 0], moments[j, 1], moments[j, 2] = counts[j], means[j], squares[j]


@exact_kernel
@allocating
def find_bins(x, edges, n_edges, missing, bins, local):
    """Write how many edges of its column each number reaches; −1, and a mark in `local`, where it is missing."""
    below = np.empty(TILE, np.int64)
    for begin in range(0, x.shape[1], TILE):
        size = min(TILE, x.shape[1] - begin)
        for j in range(x.shape[0]):
            tile = x[j, begin : begin + size]
            for r in range(size):
                below[r] = -np.int64(np.isnan(tile[r]))
            for k in range(n_edges[j]):
                edge = edges[j, k]
                for r in range(size):
                    below[r] += np.int64(edge <= tile[r])
            for r in range(size):
                bins[begin + r, j] = below[r]
                if below[r] < 0:
                    local[begin + r, missing[j]] = 0


@exact_kernel
def place_categories(codes, own, hashes, n_own, limits, seen, learn, places):
    """Write the place of each row's category: its own, that of rare ones, or that of a bucket; −1 becomes missing.

    own
        The place of each text of this batch, or −1.
    limits
        `most`, `min_count` and `buckets`: a text that comes for the `min_count`-th time gets a place of its own while
        there are fewer than `most`; after that, it shares one of the buckets.
    hashes
        `seen` uses them to count texts without a place of their own. It stops at `min_count`.

    Returns how many texts have a place of their own now.
    """
    most, min_count, buckets = limits
    rare, missing = most, most + 1
    for r in range(codes.size):
        c = codes[r]
        if c < 0:
            places[r] = missing
        elif own[c] >= 0:
            places[r] = own[c]
        else:
            h = np.int64(hashes[c]) % seen.size
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
    """Turn places within slots into columns, in place; return how many columns there are now.

    With `learn`, each new place gets the next column, row by row.
    """
    for r in range(local.shape[0]):
        for s in range(local.shape[1]):
            if local[r, s] >= 0:
                at = np.uint64(base[s] + local[r, s])
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
def count_rows(bins, local, tokens, of_bins, of_indicators):
    """Count rows by their bins and their indicators, in place."""
    for r in range(bins.shape[0]):
        for j in range(bins.shape[1]):
            if bins[r, j] >= 0:
                of_bins[j, bins[r, j]] += 1
        for s in range(local.shape[1]):
            if local[r, s] >= 0:
                of_indicators[local[r, s]] += 1
    for t in range(tokens.size):
        if tokens[t] >= 0:
            of_indicators[tokens[t]] += 1


@exact_kernel
def cross(codes, plan, rows, named, new, learn, places):
    """Write the place of each cross of each row; with `learn`, count rows by it.

    codes
        The value of each facet in each row, (rows, facets).
    plan
        For each cross: its two facets, how many values the second has if places are not hashed (else 0), where its
        places begin, and the seed of its hashes.
    named, new
        Which hashed places have a name; and, with `learn`, the row and the cross that come first to each place that
        has none, while there is room.

    Returns
    -------
    How many entries of `new` were written.
    """
    of, direct, starts, seeds = plan
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
            if learn:
                rows[at] += 1
    return found
