"""Many bytes of a text at a time: counting them, short numbers, and equal texts.

Knows Numba. Bytes read around a field stay within the text. Exponents and long numbers are left to
`numbers`. All compiled parts are inlined: a call would take as long as the work itself.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import short_part

ONE_TO_ONE = 8  # bytes up to which texts of the same size and the same hash are the same
_POWERS = np.array([10.0**k for k in range(8)])
_ONES = np.uint64(0x0101010101010101)
_ZEROS, _MARKS, _POINT = _ONES * np.uint64(48), _ONES * np.uint64(16), np.uint64(46 ^ 48)
_TOPS, _UP_TO_TEN = _ONES * np.uint64(128), _ONES * np.uint64(128 - 10)  # sets the top bit of all above 9
_FROM_TOP = np.uint64(0x0706050403020100)
_OWN = np.frombuffer(b"".join(bytes(16 - k) + b"\xff" * k for k in range(17)), "<u8").reshape(17, 2)  # last k of 16


def how_many(text: NDArray[np.uint8], byte: int) -> int:
    """How often a byte occurs: ten times faster than `bytes.count` where it occurs often."""
    return int(np.count_nonzero(text == byte))


@short_part
def eight_bytes(text, i):
    """The eight bytes from i on, the first of them the lowest."""
    word, at = np.uint64(0), np.uint64(i)
    for k in range(8):
        word |= np.uint64(text[at + np.uint64(k)]) << np.uint64(8 * k)
    return word


@short_part
def are_digits(word):
    """Whether each byte is one of 0, 1, …, 9."""
    return ((word + _UP_TO_TEN) | word) & _TOPS == np.uint64(0)


@short_part
def _eight_digits(word):
    """The number that eight digits form; neighbours are combined, then pairs, then fours."""
    word = (word * np.uint64(2561)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


@short_part
def short_number(text, start, end):
    """The number that these bytes form, and whether they are up to fifteen digits, with at most seven after a point.

    The digits are moved to the top of one word, or two. A point is found by the one bit in which it differs from them,
    and the digits before it move up by one.
    """
    size, eight, no = end - start, np.uint64(8), np.uint64(0)
    if size < 1 or size > 15 or text.size < 8:
        return 0.0, False
    first = no
    if size <= 8:
        beyond = start + 8 - text.size
        last = eight_bytes(text, start) if beyond <= 0 else eight_bytes(text, start - beyond) >> np.uint64(8 * beyond)
        last = (last ^ _ZEROS) << np.uint64(64 - 8 * size)
    else:
        first = (eight_bytes(text, start) ^ _ZEROS) << np.uint64(128 - 8 * size)
        last = eight_bytes(text, end - 8) ^ _ZEROS
    mark, places = last & _MARKS, 0
    if mark != no:
        low, next_low = mark >> np.uint64(4), mark << np.uint64(4)
        if (last & (next_low - low)) != low * _POINT or size == 1:
            return 0.0, False
        places = np.int64((low * _FROM_TOP) >> np.uint64(56)) & 7  # of several points, some remain, and are no digits
        before, after = last & (low - np.uint64(1)), last & (~next_low + np.uint64(1))
        first, last = first << eight, after | before << eight | first >> np.uint64(56)
    if not (are_digits(first) and are_digits(last)):
        return 0.0, False
    digits = _eight_digits(last)
    if first != no:
        digits += _eight_digits(first) * np.uint64(100_000_000)
    return float(np.int64(digits)) / _POWERS[places], True


@short_part
def _word_before(text, end):
    """The eight bytes before `end`, the first of them the lowest; those before the text are 0."""
    if end >= 8:
        return eight_bytes(text, end - 8)
    word = np.uint64(0)
    for i in range(end):
        word |= np.uint64(text[i]) << np.uint64(8 * (8 - end + i))
    return word


@short_part
def hash_bytes(text, start, end):
    """A hash of some bytes, taken in from the last to the first."""
    h, golden, half = np.uint64(end - start), np.uint64(0x9E3779B97F4A7C15), np.uint64(32)  # 2^64 over the golden ratio
    while end - start > ONE_TO_ONE:
        h ^= _word_before(text, end)
        h = (h ^ (h >> half)) * golden
        end -= 8
    h ^= _word_before(text, end) & _OWN[end - start, 1]
    h = (h ^ (h >> half)) * golden
    return h ^ (h >> half)


@short_part
def same_bytes(text, start, end, other_start, other_end):
    """Whether two places hold the same bytes."""
    if end - start != other_end - other_start:
        return False
    while end - start > 8:
        if _word_before(text, end) != _word_before(text, other_end):
            return False
        end -= 8
        other_end -= 8
    differ = _word_before(text, end) ^ _word_before(text, other_end)
    return (differ & _OWN[end - start, 1]) == np.uint64(0)
