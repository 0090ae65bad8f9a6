"""MurmurHash3 (32 bits; Appleby, 2011), and where scikit-learn's FeatureHasher puts a name among 2^bits columns."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import exact_kernel

SEVERAL = 255  # the mark of a column that needs no more names: it has two, or there is no room


@exact_kernel
def _mixed(k):
    k = np.uint32(k * np.uint32(0xCC9E2D51))
    k = np.uint32(k << np.uint32(15)) | np.uint32(k >> np.uint32(17))
    return np.uint32(k * np.uint32(0x1B873593))


@exact_kernel
def murmur(text, start, end):
    """The hash of the bytes start..end, with seed 0, as a signed number."""
    h = np.uint32(0)
    i = start
    while i + 4 <= end:
        k = np.uint32(text[i]) | np.uint32(np.uint32(text[i + 1]) << np.uint32(8))
        k |= np.uint32(np.uint32(text[i + 2]) << np.uint32(16)) | np.uint32(np.uint32(text[i + 3]) << np.uint32(24))
        h = np.uint32(h ^ _mixed(k))
        h = np.uint32(h << np.uint32(13)) | np.uint32(h >> np.uint32(19))
        h = np.uint32(np.uint32(h * np.uint32(5)) + np.uint32(0xE6546B64))
        i += 4
    if i < end:
        k = np.uint32(0)
        for j in range(end - 1, i - 1, -1):
            k = np.uint32(k << np.uint32(8)) | np.uint32(text[j])
        h = np.uint32(h ^ _mixed(k))
    h = np.uint32(h ^ np.uint32(end - start))
    h = np.uint32(h ^ np.uint32(h >> np.uint32(16)))
    h = np.uint32(h * np.uint32(0x85EBCA6B))
    h = np.uint32(h ^ np.uint32(h >> np.uint32(13)))
    h = np.uint32(h * np.uint32(0xC2B2AE35))
    h = np.uint32(h ^ np.uint32(h >> np.uint32(16)))
    return np.int32(h)


@exact_kernel
def hashed_and_marked(text, start, end, bits):
    """The column of a name among 2^bits, the sign that its value takes there, and a mark from 1 to 253.

    Names that share a column nearly always differ in their marks, which come from the rest of the hash.
    """
    h = np.int64(murmur(text, start, end))
    column = abs(h) & ((1 << bits) - 1)
    if h == -2147483648:  # FeatureHasher's own way round the one number without an absolute value
        column = (2147483647 - ((1 << bits) - 1)) & ((1 << bits) - 1)
    mark = 1 + (2 * (abs(h) >> bits) + (1 if h < 0 else 0)) % 253
    return column, (1.0 if h >= 0 else -1.0), mark


@exact_kernel
def hashed(text, start, end, bits):
    """The column of a name among 2^bits, and the sign that its value takes there."""
    column, sign, _ = hashed_and_marked(text, start, end, bits)
    return column, sign
