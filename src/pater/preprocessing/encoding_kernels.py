"""The compiled loops of the table encoder: one value, one row at a time, so that cutting a stream changes nothing.

Knows Numba only.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from ..kernels.compile import exact_kernel, exact_part

LARGEST = 1e150  # of a number that mean and deviation take into account: its square is finite
SMALLEST = 1e-280  # of a sum of squares by which can be divided
TILE = 128  # rows that are written to at a time, so that they stay in the cache from column to column
SHORT = 32  # entries of a row that are put in order by counting
SPACE = 32
BEGINS_NO_NUMBER = np.array([chr(k).isascii() and chr(k).isalpha() and chr(k) not in "iI" for k in range(256)])
RENAMED = np.array([int.from_bytes(word) for word in (b"na", b"nan", b"n/a", b"null", b"none", b"true", b"false")])
CRC = np.array([crc32(bytes([k ^ 0xFF])) ^ 0xFF000000 for k in range(256)], np.uint32)  # the table that zlib goes by


@exact_part
def _is_renamed(text, start, end):
    """Whether a text of up to five letters is no category by the name that it has, such as NA and TRUE."""
    word = 0
    for i in range(start, end):
        word = 256 * word + np.int64(text[i] | 32)
    found = False
    for other in RENAMED:
        found |= word == other
    return found


@exact_kernel
def hash_texts(text, starts, ends, longest, hashes):
    """The CRC-32 of each text; False as soon as one may have another name as a category, or has too many bytes."""
    for k in range(starts.size):
        size = ends[k] - starts[k]
        if size < 1 or size > longest or not BEGINS_NO_NUMBER[text[starts[k]]] or text[ends[k] - 1] <= SPACE:
            return False
        if size <= 5 and _is_renamed(text, starts[k], ends[k]):
            return False
        h = np.uint32(0xFFFFFFFF)
        for i in range(starts[k], ends[k]):
            h = CRC[(h ^ text[i]) & np.uint32(0xFF)] ^ (h >> np.uint32(8))
        hashes[k] = h ^ np.uint32(0xFFFFFFFF)
    return True


@exact_kernel
def put_in_table(hashes, table):
    """Put the numbers 0, 1, … where their hashes point to, or behind; the table has free places, which are −1."""
    mask = table.size - 1
    for n in range(hashes.size):
        at = np.int64(hashes[n]) & mask
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = n


@exact_kernel
def find_texts(text, starts, ends, hashes, known, bounds, table, found):
    """Which of some known texts each text is, if any; those are in a table by their hashes."""
    mask = table.size - 1
    for k in range(starts.size):
        at = np.int64(hashes[k]) & mask
        while table[at] >= 0:
            first, size, same = bounds[table[at]], ends[k] - starts[k], 0
            if bounds[table[at] + 1] - first == size:
                while same < size and known[first + same] == text[starts[k] + same]:
                    same += 1
                if same == size:
                    found[k] = table[at]
                    break
            at = (at + 1) & mask


@exact_kernel
def parts_of_dates(seconds, hours, places):
    """Hour, if that is wanted, weekday and month of moments, (3, rows), from 0 on; −1 where nothing is there."""
    for r in range(seconds.size):
        places[0, r] = places[1, r] = places[2, r] = -1
        if np.isnan(seconds[r]):
            continue
        days = np.floor(seconds[r] / 86400.0)
        if hours:
            places[0, r] = np.int32(np.floor((seconds[r] - days * 86400.0) / 3600.0))
        day = np.int64(days)
        places[1, r] = (day + 3) % 7
        of_era = (day + 719468) % 146097  # eras are 400 years that begin on the first of March
        year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
        month = (5 * (of_era - (365 * year + year // 4 - year // 100)) + 2) // 153
        places[2, r] = (month + 2) % 12


@exact_kernel
def standardise(x, learn, moments, clip, z):
    """z-scores (rows, columns) of columns, by the (count, mean, sum of squared distances) of each.

    With `learn`, those are of all numbers up to the row itself.
    """
    for begin in range(0, x.shape[1], TILE):
        for j in range(x.shape[0]):
            count, mean, square = moments[j, 0], moments[j, 1], moments[j, 2]
            for r in range(begin, min(begin + TILE, x.shape[1])):
                v = x[j, r]
                z[r, j] = 0.0
                if np.isnan(v):
                    continue
                if learn and abs(v) <= LARGEST:
                    count += 1.0
                    gap = v - mean
                    mean += gap / count
                    square += gap * (v - mean)
                if square > SMALLEST:
                    z[r, j] = min(max((v - mean) * np.sqrt(count / square), -clip), clip)
            moments[j, 0], moments[j, 1], moments[j, 2] = count, mean, square


@exact_kernel
def find_bins(x, edges, n_edges, missing, bins, local):
    """Of each number, how many edges of its column are not above it; −1 and a mark in `local` where it is missing."""
    for begin in range(0, x.shape[1], TILE):
        for j in range(x.shape[0]):
            for r in range(begin, min(begin + TILE, x.shape[1])):
                below = 0
                for k in range(n_edges[j]):
                    below += edges[j, k] <= x[j, r]
                bins[r, j] = below
                if np.isnan(x[j, r]):
                    bins[r, j] = -1
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
def count_rows(bins, local, tokens, of_bins, of_indicators):
    """Count the bins and the columns that rows have, in place."""
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
def cross(codes, of, direct, starts, seeds, rows, named, new, learn, places):
    """The place of each cross of each row; with `learn`, rows are counted by it.

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
            if learn:
                rows[at] += 1
    return found


@exact_kernel
def write_rows(z, bins, places, first, crosses, local, token_starts, tokens, values, indptr, indices, data, filled):
    """CSR rows: z-scores, bins, crosses, then what was settled, in ascending order; how many numbers there are now.

    `first` are the columns of the first cross and of what was settled first.
    """
    columns, numbers = np.empty(SHORT, np.int64), np.empty(SHORT)
    for r in range(local.shape[0]):
        for j in range(z.shape[1]):
            if z[r, j] != 0.0:
                indices[filled], data[filled] = j, z[r, j]
                filled += 1
        for layer in range(places.shape[0]):
            for j in range(z.shape[1]):
                if bins[r, j] >= 0 and places[layer, j, bins[r, j]] >= 0:
                    indices[filled], data[filled] = places[layer, j, bins[r, j]], 1.0
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
        size = filled - begin
        if size > columns.size:
            columns, numbers = np.empty(2 * size, np.int64), np.empty(2 * size)
        for k in range(size):
            columns[k], numbers[k] = indices[begin + k], data[begin + k]
        if size <= SHORT:
            for k in range(size):
                at = begin
                for other in range(size):
                    at += columns[other] < columns[k]
                indices[at], data[at] = columns[k], numbers[k]
        else:
            order = np.argsort(columns[:size])
            for k in range(size):
                indices[begin + k], data[begin + k] = columns[order[k]], numbers[order[k]]
        indptr[r + 1] = filled
    return filled
