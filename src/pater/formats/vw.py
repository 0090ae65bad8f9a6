"""Vowpal Wabbit text: `label importance 'tag |namespace:scale feature:value feature |other …`.

Knows `numbers`, `murmur` and `batches`. A feature is called `namespace^feature`, or just `feature` in the nameless
namespace, and lands where FeatureHasher puts that name.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from ..compiler.decorators import allocating, exact_kernel, exact_part
from ..kernels.rules import LARGEST_WEIGHT
from ..models.row_weights import NO_WEIGHT
from .batches import Batch, tidy
from .blocks import Block
from .hashed_names import LONGEST, NOTHING_SEEN, Seen, news_of
from .libsvm import (
    COLON,
    FINITE,
    LABEL,
    NEWLINE,
    RETURN,
    SOUND,
    SPACE,
    TAB,
    UNLABELLED,
    VALUE,
    Found,
    end_of_line,
    ends_word,
    look_up,
    whole_label,
)
from .libsvm import NEGATIVE_SLOW_MARK as NEGATIVE_MARK
from .libsvm import SLOW_MARK as MARK
from .many_bytes import how_many
from .murmur import SEVERAL, hashed_and_marked
from .numbers import NOT_FINITE, NUMBER, SLOW, number

BAR, QUOTE, CARET = b"|'^"
NO_BAR, IMPORTANCE, SCALE, NAME = 20, 21, 22, 23
MESSAGES = {
    NO_BAR: "there is no | before the features",
    IMPORTANCE: f"the importance is {NO_WEIGHT}",
    SCALE: "the scale of the namespace is not a number",
    NAME: "expected the name of a feature",
}


@exact_part
def _ends_name(c):
    return ends_word(c) or c in (COLON, BAR)


@exact_part
def _skip_blanks(text, i):
    while text[i] == SPACE or text[i] == TAB or (text[i] == RETURN and text[i + 1] == NEWLINE):
        i += 1
    return i


@exact_part
def _is_weight(value):
    return value == 0.0 or 1.0 / LARGEST_WEIGHT <= value <= LARGEST_WEIGHT


@exact_part
def _head(text, i):
    """What precedes the first bar: label, importance, where the tag starts and ends, where the bar is, and a code."""
    label, importance, tag, tag_end, code = UNLABELLED, 1.0, 0, 0, SOUND
    place = 0
    i = _skip_blanks(text, i)
    while text[i] != BAR and text[i] != NEWLINE:
        end = i
        while not (ends_word(text[end]) or text[end] == BAR):
            end += 1
        if text[i] == QUOTE or text[end] == BAR:  # a tag begins with a quote or touches the bar
            tag, tag_end = (i + 1 if text[i] == QUOTE else i), end
        elif place == 0:
            label, after, code = whole_label(text, i)
            if code == SOUND and after != end:  # a comment may follow in libsvm, but not here
                code = LABEL
            if code != SOUND:
                return label, importance, tag, tag_end, after if code == LABEL else i, code
            place = 1
        elif place < 3:  # the importance, then VW's base of the prediction, which no rule here uses
            value, after, found = number(text, i)
            if found != NUMBER or after != end or (place == 1 and not _is_weight(value)):
                return label, importance, tag, tag_end, i, IMPORTANCE
            if place == 1:
                importance = value
            place += 1
        else:
            return label, importance, tag, tag_end, i, NO_BAR
        i = _skip_blanks(text, end)
    return label, importance, tag, tag_end, i, (SOUND if text[i] == BAR else NO_BAR)


@exact_kernel
@allocating
def _parse(text, bits, rows, weights, tags, name, noted, found_rows):
    """Fill the arrays of rows, and those of `Found`; return the number of rows, of values left to `float`, and of names
    that are news.

    For each of those, `news` holds the column, the mark, and where feature and namespace begin and end.
    """
    indptr, indices, data, marks = rows
    seen, news = noted
    labels, lines, codes, places = found_rows
    n, line, slow, k, i, told = 0, 0, 0, 0, 0, 0
    indptr[0] = 0
    while i < text.size:
        i = _skip_blanks(text, i)
        if text[i] == NEWLINE:
            i += 1
            line += 1
            continue
        first, first_told = k, told
        label, importance, tag, tag_end, i, code = _head(text, i)
        scale, prefix, space = 1.0, 0, 0
        while code == SOUND:
            i = _skip_blanks(text, i)
            if text[i] == NEWLINE:
                break
            opens = text[i] == BAR
            if opens:
                i += 1
                prefix, scale = 0, 1.0
                if ends_word(text[i]):
                    continue
            start = i
            while not _ends_name(text[i]):
                i += 1
            size = i - start
            if size == 0 and not opens:
                code = NAME
                break
            value, found, at = 1.0, NUMBER, i
            if text[i] == COLON:
                at = i + 1
                value, i, found = number(text, at)
                ends = ends_word(text[i]) or text[i] == BAR
                if (found != NUMBER and found != SLOW) or not ends:
                    code = SCALE if opens else (FINITE if found == NOT_FINITE and ends else VALUE)
                    i = at
                    break
            if opens:
                if found == SLOW:
                    code = SCALE
                    i = at
                    break
                name[:size] = text[start : start + size]
                name[size] = CARET
                prefix, scale, space = size + 1, value, start
                continue
            if prefix == 0:
                column, sign, mark = hashed_and_marked(text, start, start + size, bits)
            else:
                for letter in range(size):
                    name[prefix + letter] = text[start + letter]
                column, sign, mark = hashed_and_marked(name, 0, prefix + size, bits)
            if seen.size > 0 and seen[column] != mark and seen[column] != SEVERAL:
                news[told, 0], news[told, 1], news[told, 2], news[told, 3] = column, mark, start, start + size
                news[told, 4], news[told, 5] = space, space + max(0, prefix - 1)
                told += 1
            if found == SLOW:
                slow += 1
                marks[k] = (MARK if sign > 0.0 else NEGATIVE_MARK) | np.uint64(at)
                if scale != 1.0:
                    code = VALUE
                    i = at
                    break
            else:
                data[k] = sign * (value * scale)
                if not np.isfinite(data[k]):
                    code = FINITE
                    i = at
                    break
            indices[k] = column
            k += 1
        if code != SOUND:
            k, told = first, first_told
            places[n] = i + 1
        weights[n] = importance
        tags[n, 0], tags[n, 1] = tag, tag_end
        labels[n] = label
        lines[n] = line
        codes[n] = code
        n += 1
        indptr[n] = k
        i = end_of_line(text, i) + 1
        line += 1
    return n, slow, told


class VWParser:
    """Blocks of VW text to batches."""

    def __init__(self, *, bits: int = 18, labelled: bool = True, seen: Seen | None = None) -> None:
        self.bits, self.labelled, self.seen = bits, labelled, seen

    def __call__(self, block: Block, source: str) -> Batch:
        text = np.frombuffer(block.text, np.uint8)
        n_lines = how_many(text, NEWLINE)
        most = how_many(text, SPACE) + how_many(text, TAB) + how_many(text, BAR) + n_lines
        indptr, indices, data = np.empty(n_lines + 1, np.uint32), np.empty(most, np.uint32), np.empty(most)
        weights, tags = np.empty(n_lines), np.empty((n_lines, 2), np.int64)
        longest = np.empty(2 * len(block.text) + 1, np.uint8)
        found, seen = Found(n_lines), NOTHING_SEEN if self.seen is None else self.seen.marks
        news = np.empty((most if seen.size else 0, 6), np.int64)
        room = indptr, indices, data, data.view(np.uint64)
        n, slow, told = _parse(text, self.bits, room, weights, tags, longest, (seen, news), found.arrays)
        found.cut(n)
        indptr = indptr[: n + 1]
        if slow:
            look_up(block.text, data, indptr, found.codes)
        tidy(indptr, indices, data, found.codes, 0, FINITE)
        filled = int(indptr[-1])
        found.weights = weights[:n] if (weights[:n] != 1.0).any() else found.weights
        if (tags[:n, 1] > tags[:n, 0]).any():
            found.tags = [block.text[start:end].decode("utf-8", "replace") for start, end in tags[:n].tolist()]
        rows = indptr, indices[:filled], data[:filled]
        batch = found.batch(rows, 1 << self.bits, block, source, messages=MESSAGES, labelled=self.labelled)
        batch.news = news_of(news[:told], lambda line: _name(block.text, *line[2:]))
        return batch


def _name(text: bytes, start: int, end: int, space: int, space_end: int) -> str:
    namespace = text[space:space_end] + b"^" if space_end > space else b""
    return (namespace + text[start:end]).decode("utf-8", "replace")[:LONGEST]
