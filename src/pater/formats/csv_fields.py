"""The fields of CSV, compiled: where they begin and end, which of them hold nothing, and where texts are hashed to.

Knows `murmur`. RFC 4180: a field may stand in double quotes, in which a quote is doubled and the
delimiter and line ends are ordinary text.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import allocating, exact_kernel, exact_part, short_part
from ..kernels.simd import lowest, marks, ones
from .murmur import SEVERAL, hashed_and_marked

NEWLINE, RETURN, QUOTE, SPACE, TAB, QUESTION, SLASH, PLUS, MINUS = b'\n\r" \t?/+-'
SOUND, TOO_FEW, TOO_MANY, AFTER_QUOTE, OPEN_QUOTE, LONE_RETURN, NOT_FINITE_SUM, WRONG = range(8)
SPARE = 4
IS_NUMBER, IS_MISSING, IS_SLOW, IS_INFINITE, IS_TEXT, IS_OTHER = range(6)


@exact_part
def _closing_quote(text, i):
    """Where the quotes are closed that were opened before i, or the size of the text; and the line ends before it."""
    lines = 0
    while i < text.size and not (text[i] == QUOTE and (i + 1 == text.size or text[i + 1] != QUOTE)):
        lines += text[i] == NEWLINE
        i += 2 if text[i] == QUOTE else 1
    return min(i, text.size), lines


@exact_kernel
def row_end(text, delimiter, first):
    """Where the last complete row ends, or with `first` the first one; −1 if none does. The text begins with a row.

    Rows end where `split` ends them: after a closing quote with more text behind it, or a lone carriage return, the
    rest of the line is malformed and belongs to the row.
    """
    found = -1
    i = 3 if text.size > 2 and text[0] == 0xEF and text[1] == 0xBB and text[2] == 0xBF else 0  # a byte order mark
    while i < text.size:
        if text[i] == QUOTE:
            i = _closing_quote(text, i + 1)[0] + 1
        else:
            while i < text.size and text[i] != delimiter and text[i] != NEWLINE and text[i] != RETURN:
                i += 1
        if i < text.size and text[i] != delimiter:
            while i < text.size and text[i] != NEWLINE:
                i += 1
            if i < text.size:
                found = i
                if first:
                    return found
        i += 1
    return found


@exact_kernel
def split(text, delimiter, width, starts, ends, lines, wrong):
    """Find the fields of the rows that have `width` of them, and the rows that do not; return the number of each.

    Empty lines are not rows. There must be room for one field per delimiter and line end. `wrong` receives the line,
    the column and a code for each row that does not have `width` fields.
    """
    fault_lines, fault_columns, fault_codes = wrong
    n, faults, k, line, i = 0, 0, 0, 0, 0
    while i < text.size:
        if text[i] == NEWLINE or (text[i] == RETURN and text[i + 1] == NEWLINE):
            i += 1 if text[i] == NEWLINE else 2
            line += 1
            continue
        begin, first_line, first_field = i, line, k
        code, column, j = SOUND, 0, 0
        while True:
            if text[i] == QUOTE:
                start = i + 1
                i, inside = _closing_quote(text, start)
                end = i
                line += inside
                if i == text.size:
                    code, column = OPEN_QUOTE, start - begin
                    i -= 1
                else:
                    i += 1
            else:
                start = i
                while text[i] != delimiter and text[i] != NEWLINE and text[i] != RETURN:
                    i += 1
                end = i
            if j < width:
                starts[k], ends[k] = start, end
                k += 1
            elif code == SOUND:
                code, column = TOO_MANY, start - begin + 1
            j += 1
            if text[i] == delimiter:
                i += 1
                continue
            if text[i] == RETURN and text[i + 1] == NEWLINE:
                i += 1
            if text[i] != NEWLINE:
                code, column = LONE_RETURN if text[i] == RETURN else AFTER_QUOTE, i - begin + 1
                while text[i] != NEWLINE:
                    i += 1
            break
        if code == SOUND and j < width:
            code, column = TOO_FEW, i - begin + 1
        if code == SOUND:
            lines[n] = first_line
            n += 1
        else:
            k = first_field
            fault_lines[faults], fault_columns[faults], fault_codes[faults] = first_line, column, code
            faults += 1
        i += 1
        line += 1
    return n, faults


@exact_kernel
def split_plain(text, delimiter, width, starts, ends):
    """Find the fields of a text without quotes and carriage returns; whether each of its lines has `width` of them.

    The text ends with a line. `ends` has room for that many fields of each line, and `starts` for `SPARE` more: where
    they end is found for 64 bytes at once, and written four at a time, of which the last few may be none.
    """
    k, i, n = 0, 0, ends.size
    starts[0] = 0
    while i + 64 <= text.size:
        found = marks(text, i, delimiter, NEWLINE)
        after = k + ones(found)
        if after > n:
            return False
        while found != np.uint64(0):
            for _ in range(4):
                k += 1
                starts[np.uint64(k)] = i + lowest(found) + 1
                found &= found - np.uint64(1)
        k = after
        i += 64
    while i < text.size:
        if text[i] == delimiter or text[i] == NEWLINE:
            k += 1
            if k > n:
                return False
            starts[k] = i + 1
        i += 1
    for j in range(n):
        ends[j] = starts[j + 1] - 1
    for last in range(width - 1, k, width):
        if text[ends[last]] != NEWLINE:
            return False
    return k == n


@short_part
def is_missing(text, start, end):
    """Nothing, ?, NA, N/A, NaN with or without a sign, null or none, in small or large letters."""
    if end - start == 4 and (text[start] == PLUS or text[start] == MINUS):
        start += 1
        if text[start + 1] == SLASH:
            return False
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


@short_part
def trimmed(text, start, end):
    """Where the field begins and ends without blanks around it; of int64, so that it is compiled only once."""
    while start < end and (text[np.uint64(start)] == SPACE or text[np.uint64(start)] == TAB):
        start += 1
    while start < end and (text[np.uint64(end - 1)] == SPACE or text[np.uint64(end - 1)] == TAB):
        end -= 1
    return start, end


@exact_kernel
@allocating
def categories(text, fields, wanted, bits, names, places, signs, noted):
    """Where `column=value` lands for some columns, each in its line of `places`; −1 for a missing value.

    fields
        Where each begins and ends.
    wanted
        Columns, and the line of `places` for each.
    names
        What stands before the values of a column, one text after the other; the bounds of these; and room for a name.
    noted
        The names that are known already, by place; and room for those that are not: column, mark, row, and number of
        the wanted column.

    Returns how many names are not.
    """
    starts, ends = fields
    wanted, into = wanted
    prefixes, bounds, scratch = names
    seen, news = noted
    told = 0
    for k in range(wanted.size):
        line = into[k]
        size = bounds[k + 1] - bounds[k]
        scratch[:size] = prefixes[bounds[k] : bounds[k + 1]]
        for r in range(places.shape[1]):
            places[line, r], signs[line, r] = -1, 0.0
            start, end = trimmed(text, np.int64(starts[r, wanted[k]]), np.int64(ends[r, wanted[k]]))
            if is_missing(text, start, end):
                continue
            length = size
            i = start
            quoted = starts[r, wanted[k]] > 0 and text[starts[r, wanted[k]] - 1] == QUOTE
            while i < end:
                scratch[length] = text[i]
                length += 1
                i += 2 if quoted and text[i] == QUOTE and i + 1 < end and text[i + 1] == QUOTE else 1
            column, sign, mark = hashed_and_marked(scratch, 0, length, bits)
            places[line, r], signs[line, r] = column, sign
            if seen.size > 0 and seen[column] != mark and seen[column] != SEVERAL:
                news[told, 0], news[told, 1], news[told, 2], news[told, 3] = column, mark, r, k
                told += 1
    return told


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
