"""Dates of CSV to seconds, compiled.

Knows `csv_fields` and `many_bytes`. Read here is what most files have: 2024-02-29 or 2024/02/29, a time after a T or a
blank, seconds and their parts, and a Z. Everything else is left to whoever reads texts one by one
(`preprocessing/values.py`), with the same result.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import exact_kernel, exact_part
from .csv_fields import is_missing, trimmed
from .many_bytes import are_digits, eight_bytes

_TWO = np.int64(2)  # a literal 2 would be of a type of its own, and its users compiled twice
COLON, POINT, BLANK, T, Z = b":. TZ"
_BEFORE_MONTH = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])  # days of a common year
_IN_MONTH = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_BEFORE_1970 = 719162  # days since the first of January of the year 1
_YEAR_AND_MONTH = np.frombuffer(b"0000-00-", "<u8")[0]  # what is left of the bytes are digits, and 0 for
_HYPHENS = np.frombuffer(b"\0\0\0\0\xff\0\0\xff", "<u8")[0]  # what parts them
_SLASHES = np.frombuffer(b"\0\0\0\0\x02\0\0\x02", "<u8")[0]  # what is left of slashes in the place of hyphens


@exact_part
def _pair(digits, k):
    """The number that digits k and k + 1 of a word are."""
    at = np.uint64(8) * k
    return 10 * np.int64((digits >> at) & np.uint64(15)) + np.int64((digits >> (at + np.uint64(8))) & np.uint64(15))


@exact_part
def _whole(text, i, n_digits):
    """The number of so many digits, or −1."""
    value = 0
    for k in range(i, i + n_digits):
        d = np.uint8(text[k] - 48)
        if d > 9:
            return -1
        value = 10 * value + np.int64(d)
    return value


@exact_part
def _day(text, i):
    """The days from 1970 to this date; if the text is not a date, a day before the year 1."""
    nothing = -_BEFORE_1970 - 1
    found, day = eight_bytes(text, i) ^ _YEAR_AND_MONTH, _whole(text, i + 8, _TWO)
    marks = found & _HYPHENS
    if not are_digits(found) or not (marks == np.uint64(0) or marks == _SLASHES):
        return nothing
    year, month = 100 * _pair(found, np.uint64(0)) + _pair(found, np.uint64(2)), _pair(found, np.uint64(5))
    if year < 1 or month < 1 or month > 12 or day < 1:
        return nothing
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _IN_MONTH[month - 1] + (leap and month == 2):
        return nothing
    past = year - 1
    days = 365 * past + past // 4 - past // 100 + past // 400 + _BEFORE_MONTH[month - 1] + (leap and month > 2)
    return days + day - 1 - _BEFORE_1970


@exact_part
def _microseconds(text, i, end):
    """The microseconds from midnight to this time of day, of 5, 8 or 10 to 15 bytes, or −1 if the text is not one."""
    size = end - i
    if size < 5 or size > 15:
        return -1
    hour, minute, second, part, sound = _whole(text, i, _TWO), _whole(text, i + 3, _TWO), 0, 0, text[i + 2] == COLON
    if size > 5:
        second = _whole(text, i + 6, _TWO) if size >= 8 else -1
        sound &= text[i + 5] == COLON
    if size > 8:
        part = _whole(text, i + 9, size - 9) if size >= 10 else -1
        sound &= text[i + 8] == POINT
        for _ in range(15 - size):
            part *= 10
    if not sound or hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59 or part < 0:
        return -1
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + part


@exact_kernel
def moments(text, starts, ends, columns, seconds, are_times):
    """Write the seconds since 1970 of some columns, (columns, rows), and which of these hold nothing but dates."""
    for c in range(columns.size):
        are_times[c] = _moments(text, starts, ends, columns[c], seconds[c])


@exact_part
def _moments(text, starts, ends, column, seconds):
    """Write the seconds of a column, NaN where a date is missing; False at the first row that holds something else."""
    found = False
    for r in range(seconds.size):
        seconds[r] = np.nan
        start, end = trimmed(text, np.int64(starts[r, column]), np.int64(ends[r, column]))
        if is_missing(text, start, end):
            continue
        if end - start < 10:
            return False
        day, time = _day(text, start), 0
        if end - start > 10:
            if text[start + 10] != T and text[start + 10] != BLANK:
                return False
            time = _microseconds(text, start + 11, end - (text[end - 1] == Z))
        if day < -_BEFORE_1970 or time < 0:
            return False
        seconds[r] = (day * 86_400_000_000 + time) / 1e6
        found = True
    return found
