"""The compiled half of the CSV reader: where fields begin and end, and what they hold.

Knows `numbers` and `murmur`. RFC 4180: a field may stand in double quotes, in which a quote is doubled and the
delimiter and line ends are ordinary text.
"""

from __future__ import annotations

import numpy as np

from .._compile import exact_kernel
from .murmur import hashed
from .numbers import NOT_FINITE, NUMBER, SLOW, number

NEWLINE, RETURN, QUOTE, SPACE, TAB, EQUALS, QUESTION, SLASH = b'\n\r" \t=?/'
SOUND, TOO_FEW, TOO_MANY, AFTER_QUOTE, OPEN_QUOTE = range(5)
IS_NUMBER, IS_MISSING, IS_SLOW, IS_INFINITE, IS_TEXT = range(5)


@exact_kernel
def last_row_end(text):
    """Where the last row ends that is whole, or −1. The text begins with a row."""
    last = -1
    quoted = False
    for i in range(text.size):
        if text[i] == QUOTE:
            quoted = not quoted
        elif text[i] == NEWLINE and not quoted:
            last = i
    return last


@exact_kernel
def split(text, delimiter, width, starts, ends, lines, codes, columns):
    """Find the fields of each row, `width` a row; how many rows. Empty lines are none."""
    n, line, i = 0, 0, 0
    while i < text.size:
        if text[i] == NEWLINE or (text[i] == RETURN and text[i + 1] == NEWLINE):
            i += 1 if text[i] == NEWLINE else 2
            line += 1
            continue
        begin, first_line = i, line
        code, column, j = SOUND, 0, 0
        while True:
            if text[i] == QUOTE:
                start = i + 1
                i = start
                while i < text.size and not (text[i] == QUOTE and (i + 1 == text.size or text[i + 1] != QUOTE)):
                    line += text[i] == NEWLINE
                    i += 2 if text[i] == QUOTE else 1
                end = min(i, text.size)
                if i >= text.size:
                    code, column = OPEN_QUOTE, start - begin
                    i = text.size - 1
                    line -= 1
                else:
                    i += 1
                    if text[i] != delimiter and text[i] != NEWLINE and text[i] != RETURN:
                        code, column = AFTER_QUOTE, i - begin + 1
                        while text[i] != NEWLINE:
                            i += 1
            else:
                start = i
                while text[i] != delimiter and text[i] != NEWLINE:
                    i += 1
                end = i - 1 if text[i] == NEWLINE and i > start and text[i - 1] == RETURN else i
            if j < width:
                starts[n, j] = start
                ends[n, j] = end
            elif code == SOUND:
                code, column = TOO_MANY, start - begin + 1
            j += 1
            if text[i] == RETURN:
                i += 1
            if text[i] == NEWLINE:
                break
            i += 1
        if code == SOUND and j < width:
            code, column = TOO_FEW, i - begin + 1
        lines[n] = first_line
        codes[n] = code
        columns[n] = column
        n += 1
        i += 1
        line += 1
    return n


@exact_kernel
def _is_missing(text, start, end):
    """Nothing, ?, NA, N/A, NaN, null or none, in small or large letters."""
    size = end - start
    if size == 0 or (size == 1 and text[start] == QUESTION):
        return True
    if size < 2 or size > 4:
        return False
    a, b = text[start] | 32, text[start + 1] | 32
    if a != 110:
        return False
    if size == 2:
        return b == 97
    c = text[start + 2] | 32
    if size == 3:
        return (b == 97 and c == 110) or (text[start + 1] == SLASH and c == 97)
    d = text[start + 3] | 32
    return (b == 117 and c == 108 and d == 108) or (b == 111 and c == 110 and d == 101)


@exact_kernel
def _trimmed(text, start, end):
    while start < end and (text[start] == SPACE or text[start] == TAB):
        start += 1
    while start < end and (text[end - 1] == SPACE or text[end - 1] == TAB):
        end -= 1
    return start, end


@exact_kernel
def numbers(text, starts, ends, codes, values, kinds):
    """The numbers of one column; NaN where there is none, and `kinds` says why."""
    for r in range(values.size):
        values[r], kinds[r] = np.nan, IS_MISSING
        if codes[r] != SOUND:
            continue
        start, end = _trimmed(text, starts[r], ends[r])
        if _is_missing(text, start, end):
            continue
        value, after, found = number(text, start)
        if found == NOT_FINITE:
            kinds[r] = IS_INFINITE
        elif found == NUMBER and after == end:
            values[r], kinds[r] = value, IS_NUMBER
        elif found == SLOW and after == end:
            kinds[r] = IS_SLOW
        else:
            kinds[r] = IS_TEXT


@exact_kernel
def categories(text, starts, ends, codes, bits, prefix, scratch, places, signs):
    """Where `column=value` lands for each row of one column; −1 for a missing value."""
    size = prefix.size
    scratch[:size] = prefix
    for r in range(places.size):
        places[r] = -1
        if codes[r] != SOUND:
            continue
        start, end = _trimmed(text, starts[r], ends[r])
        if _is_missing(text, start, end):
            continue
        length = size
        i = start
        while i < end:
            scratch[length] = text[i]
            length += 1
            i += 2 if text[i] == QUOTE and i + 1 < end and text[i + 1] == QUOTE else 1
        places[r], signs[r] = hashed(scratch, 0, length, bits)


@exact_kernel
def gather(codes, places, values, indptr, indices, data):
    """Sparse rows of the entries (columns, rows) whose place is not −1."""
    k = 0
    indptr[0] = 0
    for r in range(places.shape[1]):
        for j in range(places.shape[0]):
            if places[j, r] >= 0 and codes[r] == SOUND:
                indices[k] = places[j, r]
                data[k] = values[j, r]
                k += 1
        indptr[r + 1] = k
