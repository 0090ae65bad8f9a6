"""From decimal text to the nearest float64, compiled: bit for bit what Python's `float` gives.

Knows Numba only. Up to 19 digits go through the algorithm of Lemire, "Number Parsing at a Gigabyte per
Second", Software: Practice and Experience 51 (2021): the digits times a 128-bit power of five, rounded. What it does
not decide (more digits, numbers near the ends of the range) is reported as `SLOW`, and the caller asks `float`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import exact_kernel, exact_part

NUMBER, NO_NUMBER, NOT_FINITE, SLOW = range(4)
LARGEST_LABEL = 2.0**53  # up to it, a float holds every whole number

_LEAST, _MOST = -342, 308
_INFINITY, _NAN = np.frombuffer(b"infinity", np.uint8), np.frombuffer(b"nan", np.uint8)
_EXACT_POWERS = np.array([10.0**k for k in range(23)])
_TWOS = np.ldexp(1.0, np.arange(-1074, 972))


def _powers_of_five() -> np.ndarray:
    """The leading 128 bits of 5^q in two words: cut off for q ≥ 0, rounded up for q < 0."""
    words = np.empty((_MOST - _LEAST + 1, 2), np.uint64)
    for q in range(_LEAST, _MOST + 1):
        power = 5 ** abs(q)
        if q >= 0:
            spare = power.bit_length() - 128
            leading = power >> spare if spare > 0 else power << -spare
        else:
            leading = (1 << (power.bit_length() + 127)) // power + 1
            leading >>= max(0, leading.bit_length() - 128)
        words[q - _LEAST] = leading >> 64, leading & (2**64 - 1)
    return words


_FIVES = _powers_of_five()


@exact_part
def _product(a, b):
    """The high and the low word of a·b."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + (a_low * b_low >> half)  # at most 2^64 − 2^32
    other = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> half) + (other >> half), a * b


@exact_part
def _to_the_left(a):
    """A nonzero word, shifted left until its first bit is 1, and by how much."""
    zeros = np.uint64(0)
    for shift in (np.uint64(32), np.uint64(16), np.uint64(8), np.uint64(4), np.uint64(2), np.uint64(1)):
        if a >> (np.uint64(64) - shift) == np.uint64(0):
            a, zeros = a << shift, zeros + shift
    return a, np.int64(zeros)


@exact_part
def _nearest(digits, q):
    """The float nearest to digits·10^q, and whether it was decided."""
    if q < _LEAST or q > _MOST:
        return 0.0, False
    one = np.uint64(1)
    w, zeros = _to_the_left(digits)
    high, low = _product(w, _FIVES[q - _LEAST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        carry, _ = _product(w, _FIVES[q - _LEAST, 1])
        before = low
        low = low + carry
        if low < before:
            high = high + one
    if low == np.uint64(0xFFFFFFFFFFFFFFFF) and (q < -27 or q > 55):
        return 0.0, False
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    m = high >> shift
    exponent = np.int64(((217706 * q) >> 16) + 63 + 1023) + np.int64(top) - zeros
    if exponent <= 0:
        return 0.0, False
    halfway = low <= one and -4 <= q <= 23 and m & np.uint64(3) == one and (m << shift) == high
    if halfway:
        m = m & ~one
    m = (m + (m & one)) >> one
    if m >= np.uint64(1 << 53):
        m = np.uint64(1 << 52)
        exponent += 1
    if exponent >= 0x7FF:
        return 0.0, False
    return float(m) * _TWOS[exponent - 1], True  # both exact


@exact_part
def _not_finite(text, i):
    """Where an `inf`, `infinity` or `nan` that begins at i ends, in any case of letters; i itself if there is none."""
    word = _INFINITY if text[i] | 32 == _INFINITY[0] else _NAN
    n = 0
    while n < word.size and text[i + n] | 32 == word[n]:
        n += 1
    return i + (n if n == word.size else 3 if n >= 3 else 0)


@exact_kernel
def number(text, i):
    """The number that begins at i: its value, where it ends, and what became of it.

    `text` must end in a byte that cannot be part of a number, so that no bounds are checked. The caller must check what
    follows the number: `info` is `inf` and an o.
    """
    first = i
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += 1
    digits = np.uint64(0)
    begin = start = i
    d = np.uint8(text[i] - 48)
    while d < 10:
        digits = digits * np.uint64(10) + np.uint64(d)
        i += 1
        d = np.uint8(text[i] - 48)
    count = i - start
    q = 0
    if text[i] == 46:
        i += 1
        start = i
        d = np.uint8(text[i] - 48)
        while d < 10:
            digits = digits * np.uint64(10) + np.uint64(d)
            i += 1
            d = np.uint8(text[i] - 48)
        q = start - i
        count -= q
    if count == 0:
        end = _not_finite(text, begin)
        return (0.0, first, NO_NUMBER) if end == begin else (0.0, end, NOT_FINITE)
    if text[i] | 32 == 101:
        i += 1
        down = text[i] == 45
        if down or text[i] == 43:
            i += 1
        start = i
        exponent = 0
        d = np.uint8(text[i] - 48)
        while d < 10:
            if exponent < 100000:
                exponent = exponent * 10 + np.int64(d)
            i += 1
            d = np.uint8(text[i] - 48)
        if i == start:
            return 0.0, first, NO_NUMBER
        q += -exponent if down else exponent
    if count > 19:
        return 0.0, i, SLOW
    if digits == np.uint64(0):
        return (-0.0 if negative else 0.0), i, NUMBER
    if digits <= np.uint64(1 << 53) and -22 <= q <= 22:
        value = float(digits)
        value = value * _EXACT_POWERS[q] if q >= 0 else value / _EXACT_POWERS[-q]
    else:
        value, decided = _nearest(digits, q)
        if not decided:
            return 0.0, i, SLOW
    return (-value if negative else value), i, NUMBER
