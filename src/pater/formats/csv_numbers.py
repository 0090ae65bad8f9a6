"""The numbers of columns of CSV, compiled.

Knows `csv_fields`, `many_bytes` and `numbers`. What most tables have, a few digits, is read by a kernel of its own: the
one for all other numbers takes half a second to compile, which only those wait for who need it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import exact_kernel, exact_part
from .csv_fields import (
    IS_INFINITE,
    IS_MISSING,
    IS_NUMBER,
    IS_OTHER,
    IS_SLOW,
    IS_TEXT,
    MINUS,
    SLASH,
    SOUND,
    SPACE,
    TAB,
    is_missing,
    trimmed,
)
from .many_bytes import short_number
from .numbers import NOT_FINITE, NUMBER, SLOW, number

_A, _F, _I, _ZERO = b"afi0"
_LOWER = 32  # the bit that makes a letter a small one


@exact_part
def _is_word_or_date(text, start, end):
    """Whether a field begins with a letter (of all numbers, only infinity does) or like 2024-01-01 or 2024/01/01.

    It is not missing, unless it ends in blanks: then it may be, and is not judged here.
    """
    if text[end - 1] in (SPACE, TAB):
        return False
    first = text[start] | _LOWER
    if first >= _A:  # a letter, or a byte of one that is not ASCII
        return first != _I or end - start < 3 or text[start + 2] | _LOWER != _F
    mark = text[start + 4] if end - start > 4 else _ZERO
    return mark in (MINUS, SLASH) and np.uint8(text[start + 3] - _ZERO) <= 9


@exact_kernel
def short_numbers(text, starts, ends, wanted, codes, values, kinds):
    """The numbers of some columns, (wanted, rows), that are written with few digits; return how many fields are left.

    Those are `IS_OTHER`. Where there is no number, the value is NaN and `kinds` says why.
    """
    left = 0
    for r in range(values.shape[1]):
        for k in range(wanted.size):
            values[k, r], kinds[k, r] = np.nan, IS_MISSING
            if codes[r] != SOUND:
                continue
            j = np.uint64(wanted[k])
            start, end = np.int64(starts[r, j]), np.int64(ends[r, j])
            negative = text[np.uint64(start)] == MINUS
            value, short = short_number(text, start + negative, end)
            if short:
                values[k, r], kinds[k, r] = -value if negative else value, IS_NUMBER
            elif not is_missing(text, start, end):
                is_text = _is_word_or_date(text, start, end)
                kinds[k, r] = IS_TEXT if is_text else IS_OTHER
                left += not is_text
    return left


@exact_kernel
def other_numbers(text, starts, ends, wanted, values, kinds):
    """The numbers of the fields that are left, which most tables have none of."""
    for r in range(values.shape[1]):
        for k in range(wanted.size):
            if kinds[k, r] != IS_OTHER:
                continue
            j = np.uint64(wanted[k])
            start, end = trimmed(text, np.int64(starts[r, j]), np.int64(ends[r, j]))
            kinds[k, r] = IS_MISSING
            if is_missing(text, start, end):
                continue
            value, after, found = number(text, start)
            if after != end:
                kinds[k, r] = IS_TEXT
            elif found == NUMBER:
                values[k, r], kinds[k, r] = value, IS_NUMBER
            elif found == SLOW:
                kinds[k, r] = IS_SLOW
            else:
                kinds[k, r] = IS_INFINITE if found == NOT_FINITE else IS_TEXT
