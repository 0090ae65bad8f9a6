"""Many bytes of a text at a time: how many of a kind there are, short numbers, and which texts are the same.

Knows Numba and `simd`. What is read before a field is within the text. Signs, exponents and long numbers are left to
`numbers`. A byte of a word is found by arithmetic on all eight (Warren, Hacker's Delight, 2nd edition, 6-1).
"""

from __future__ import annotations

import numpy as np

from ..kernels.compile import exact_kernel, exact_part
from ..kernels.simd import marks, ones

_POWERS = np.array([10.0**k for k in range(8)])
_ONES, _SEVENS, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0xF0F0F0F0F0F0F0F0)
_ZEROS, _POINTS, _SIXES = _ONES * np.uint64(48), _ONES * np.uint64(46), np.uint64(0x0606060606060606)
_FROM_TOP = np.uint64(0x0706050403020100)
_OWN = np.frombuffer(b"".join(bytes(16 - k) + b"\xff" * k for k in range(17)), "<u8").reshape(17, 2)  # last k of 16


@exact_kernel
def how_many(text, byte):
    """How often a byte occurs: a hundred times faster than `bytes.count` where it occurs often."""
    found, i = 0, 0
    while i + 64 <= text.size:
        found += ones(marks(text, i, byte, byte))
        i += 64
    while i < text.size:
        found += text[i] == byte
        i += 1
    return found


@exact_part
def _word(text, i):
    """The eight bytes from i on, the first of them the lowest."""
    word, at = np.uint64(0), np.uint64(i)
    for k in range(8):
        word |= np.uint64(text[at + np.uint64(k)]) << np.uint64(8 * k)
    return word


@exact_part
def _zero_bytes(word):
    """1 in each byte that is 0, and 0 in the others."""
    return (~(((word & _SEVENS) + _SEVENS) | word | _SEVENS)) >> np.uint64(7)


@exact_part
def _bytes_above(one):
    """How many bytes of a word are above the one that is 1, all others being 0."""
    return np.int64((one * _FROM_TOP) >> np.uint64(56)) & 7


@exact_part
def _are_digits(word):
    return (word & _HIGH) == (_ZEROS & _HIGH) and ((word + _SIXES) & _HIGH) == (_ZEROS & _HIGH)


@exact_part
def _eight_digits(word):
    """The number that eight digits are; neighbours are put together, then pairs, then fours."""
    word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


@exact_kernel
def short_number(text, start, end):
    """The number that these bytes are, and whether they are up to fifteen digits, with at most seven after a point."""
    size = end - start
    if size < 1 or size > 15 or end < 16:
        return 0.0, False
    first = (_word(text, end - 16) & _OWN[size, 0]) | (_ZEROS & ~_OWN[size, 0])
    last = (_word(text, end - 8) & _OWN[size, 1]) | (_ZEROS & ~_OWN[size, 1])
    point, places = _zero_bytes(last ^ _POINTS), 0
    if point != np.uint64(0):  # of several, some are left, and are no digits
        places = _bytes_above(point)
        before = (last & ~_OWN[places + 1, 1]) << np.uint64(8) | first >> np.uint64(56)
        first, last = first << np.uint64(8) | np.uint64(48), (last & _OWN[places, 1]) | before
    if not (_are_digits(first) and _are_digits(last)) or (size == 1 and point != np.uint64(0)):
        return 0.0, False
    value = float(np.int64(_eight_digits(first) * np.uint64(100_000_000) + _eight_digits(last)))
    return value / _POWERS[places], True


@exact_part
def _word_before(text, end):
    """The eight bytes before `end`, the first of them the lowest; those before the text are 0."""
    if end >= 8:
        return _word(text, end - 8)
    word = np.uint64(0)
    for i in range(end):
        word |= np.uint64(text[i]) << np.uint64(8 * (8 - end + i))
    return word


@exact_part
def hash_bytes(text, start, end):
    """A hash of some bytes, which are put in from the last to the first."""
    h, golden, half = np.uint64(end - start), np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # 2^64 over the golden ratio
    while end - start > 8:
        h ^= _word_before(text, end)
        h = (h ^ (h >> half)) * golden
        end -= 8
    h ^= _word_before(text, end) & _OWN[end - start, 1]
    h = (h ^ (h >> half)) * golden
    return h ^ (h >> half)


@exact_part
def same_bytes(text, start, end, other_start, other_end):
    """Whether the same bytes stand in two places."""
    if end - start != other_end - other_start:
        return False
    while end - start > 8:
        if _word_before(text, end) != _word_before(text, other_end):
            return False
        end -= 8
        other_end -= 8
    differ = _word_before(text, end) ^ _word_before(text, other_end)
    return (differ & _OWN[end - start, 1]) == np.uint64(0)
