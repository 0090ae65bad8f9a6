"""libsvm and svmlight text: `label index:value index:value … # comment`.

Knows `numbers`, `murmur` and `batches`. Column j of the rows is the feature that the file calls j, whether its indices
begin with 0 or 1. With hashing, feature j is in the column where FeatureHasher puts the name "j".
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import exact_kernel, exact_part
from ..kernels.run import NOTHING, Rows
from .batches import Batch, tidy
from .blocks import Block
from .errors import Fault, shortened
from .hashed_names import LONGEST, NOTHING_SEEN, Seen, news_of
from .many_bytes import how_many
from .murmur import SEVERAL, hashed_and_marked
from .numbers import LARGEST_LABEL, NO_NUMBER, NOT_FINITE, SLOW, number

SPACE, TAB, NEWLINE, RETURN, HASH, COLON = b" \t\n\r#:"

SOUND, LABEL, LABEL_WHOLE, NO_LABEL, PAIR, VALUE, FINITE, LIMIT, TWICE = range(9)
MESSAGES = {
    LABEL: "the label is not a number",
    LABEL_WHOLE: "the label is not a whole number of at most 2^53; a classifier needs class labels",
    NO_LABEL: "there is no label",
    PAIR: "expected index:value",
    VALUE: "the value is not a number",
    FINITE: "infinity and NaN are not values to learn from",
    LIMIT: "the feature index {word} is beyond the limit of {limit} features; raise it with --features, or hash with "
    "--bits",
    TWICE: "the feature index is given twice in one row",
}
UNLABELLED = np.iinfo(np.int64).min
BEYOND = 1 << 40  # above every limit: an index this large ignores further digits, so that none overflows
LIMIT_OF_FEATURES = 1 << 22
# A NaN whose low bits say where the text of the number begins, and whose sign says whether to negate the number.
SLOW_MARK, NEGATIVE_SLOW_MARK = np.uint64(0x7FF8 << 48), np.uint64(0xFFF8 << 48)
_NUMBER = re.compile(rb"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


@exact_part
def end_of_line(text, i):
    while text[i] != NEWLINE:
        i += 1
    return i


@exact_part
def ends_word(c):
    return c in (SPACE, TAB, NEWLINE, RETURN)


@exact_part
def _is_rounded(text, i):
    """Whether the number at i, which is read as ±2^53, is written as another, which a float does not hold exactly."""
    digits, zeros = np.int64(0), 0  # up to the last that is not 0, and those since
    while not (ends_word(text[i]) or text[i] == HASH or text[i] | 32 == 101):
        d = np.uint8(text[i] - 48)
        if d == 0:
            zeros += 1
        elif d < 10:
            while zeros > 0 and digits < LARGEST_LABEL:
                digits *= 10
                zeros -= 1
            if digits >= LARGEST_LABEL:
                return True
            digits = digits * 10 + np.int64(d)
        i += 1
    return digits != np.int64(LARGEST_LABEL)


@exact_part
def whole_label(text, i):
    """The label at i, where it ends, and a code."""
    value, end, found = number(text, i)
    if found == NO_NUMBER or not (ends_word(text[end]) or text[end] == HASH):
        return UNLABELLED, end, LABEL
    if found != 0 or abs(value) > LARGEST_LABEL or value != np.floor(value):
        return UNLABELLED, i, LABEL_WHOLE
    if abs(value) == LARGEST_LABEL and _is_rounded(text, i):
        return UNLABELLED, i, LABEL_WHOLE
    return np.int64(value), end, SOUND


@exact_part
def _query(text, i):
    """Where `qid:7` at i ends, or i itself if there is none."""
    end = i + 4 if text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON else i
    while end > i and np.uint8(text[end] - 48) < 10:
        end += 1
    return end if end > i + 4 and (ends_word(text[end]) or text[end] == HASH) else i


@exact_kernel
def _parse(text, bits, limit, rows, noted, found_rows):
    """Fill the arrays of rows, and those of `Found`.

    Returns the number of rows, the largest column, the number of values left to `float`, the number of rows out of
    order, and the number of hashed indices that are news: `news` holds their column, their mark, and where they stand.
    """
    indptr, indices, data, marks = rows
    seen, news = noted
    labels, lines, codes, places = found_rows
    n, line, largest, slow, disorder, told = 0, 0, -1, 0, 0, 0
    k = 0
    i = 0
    indptr[0] = 0
    while i < text.size:
        while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
            i += 1
        if text[i] == NEWLINE or text[i] == HASH:
            i = end_of_line(text, i) + 1
            line += 1
            continue
        first, first_told = k, told
        code = SOUND
        label = UNLABELLED
        after = i
        while not (ends_word(text[after]) or text[after] == COLON):
            after += 1
        if text[after] != COLON:
            label, i, code = whole_label(text, i)
        ascending = True
        last = -1
        while code == SOUND:
            while text[i] == SPACE or text[i] == TAB:
                i += 1
            if text[i] == NEWLINE or text[i] == HASH or (text[i] == RETURN and text[i + 1] == NEWLINE):
                break
            start = i
            index = 0
            d = np.uint8(text[i] - 48)
            while d < 10:
                if index < BEYOND:
                    index = index * 10 + np.int64(d)
                i += 1
                d = np.uint8(text[i] - 48)
            if text[i] != COLON or i == start:
                i = _query(text, start)
                code = PAIR if i == start else SOUND
                continue
            end = i
            value, i, found = number(text, end + 1)
            sign = 1.0
            if bits > 0:
                while text[start] == 48 and start + 1 < end:
                    start += 1
                index, sign, mark = hashed_and_marked(text, start, end, bits)
                if seen.size > 0 and seen[index] != mark and seen[index] != SEVERAL:
                    news[told, 0], news[told, 1], news[told, 2], news[told, 3] = index, mark, start, end
                    told += 1
            if index >= limit:
                code = LIMIT
                i = start
            elif found == NO_NUMBER or not (ends_word(text[i]) or text[i] == HASH):
                code = VALUE
                i = end + 1
            elif found == NOT_FINITE:
                code = FINITE
                i = end + 1
            elif found == SLOW:
                slow += 1
                marks[k] = (SLOW_MARK if sign > 0.0 else NEGATIVE_SLOW_MARK) | np.uint64(end + 1)
            else:
                data[k] = sign * value
            if code == SOUND:
                indices[k] = index
                ascending &= index > last
                last = index
                largest = max(largest, index)
                k += 1
        if code != SOUND:
            k, told = first, first_told
            places[n] = i + 1
        disorder += not ascending
        labels[n] = label
        lines[n] = line
        codes[n] = code
        n += 1
        indptr[n] = k
        i = end_of_line(text, i) + 1
        line += 1
    return n, largest, slow, disorder, told


class LibsvmParser:
    """Blocks of libsvm text to batches. `bits` of 0 leaves the indices as they are, below `limit`."""

    def __init__(
        self, *, bits: int = 0, limit: int = LIMIT_OF_FEATURES, labelled: bool = True, seen: Seen | None = None
    ) -> None:
        self.bits, self.limit, self.labelled, self.seen = bits, max(limit, 1 << bits), labelled, seen

    def __call__(self, block: Block, source: str) -> Batch:
        text = np.frombuffer(block.text, np.uint8)
        n_lines, n_pairs = how_many(text, NEWLINE), how_many(text, COLON)
        indptr, indices, data = np.empty(n_lines + 1, np.uint32), np.empty(n_pairs, np.uint32), np.empty(n_pairs)
        found, seen = Found(n_lines), NOTHING_SEEN if self.seen is None else self.seen.marks
        news = np.empty((n_pairs if seen.size else 0, 4), np.int64)
        room = indptr, indices, data, data.view(np.uint64)
        n, largest, slow, disorder, told = _parse(text, self.bits, self.limit, room, (seen, news), found.arrays)
        found.cut(n)
        indptr = indptr[: n + 1]
        if slow:
            look_up(block.text, data, indptr, found.codes)
        if disorder:
            tidy(indptr, indices, data, found.codes, 0 if self.bits else TWICE, FINITE)
        filled = int(indptr[-1])
        rows = indptr, indices[:filled], data[:filled]
        n_features = 1 << self.bits if self.bits else int(largest) + 1
        batch = found.batch(rows, n_features, block, source, labelled=self.labelled, limit=self.limit)
        if told:
            batch.news = news_of(news[:told], lambda line: block.text[line[2] : line[3]].decode()[:LONGEST])
        return batch


class Found:
    """What a parser finds besides the features: for each row its label, its line, what is wrong with it, and where.

    A place counts the bytes of the block from 1; 0 stands for the whole line.
    """

    def __init__(self, n_lines: int) -> None:
        self.labels, self.lines = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
        self.codes, self.places = np.empty(n_lines, np.uint8), np.zeros(n_lines, np.int64)
        self.weights: NDArray[np.float64] = NOTHING
        self.tags: list[str] | None = None

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self.labels, self.lines, self.codes, self.places

    def cut(self, n: int) -> None:
        self.labels, self.lines, self.codes, self.places = (array[:n] for array in self.arrays)

    def batch(
        self,
        rows: Rows,
        n_features: int,
        block: Block,
        source: str,
        *,
        labelled: bool,
        messages: Mapping[int, str] = MESSAGES,
        limit: int = 0,
    ) -> Batch:
        """The batch without its malformed rows, which it lists as faults."""
        labels, lines, codes, places = self.arrays
        lines += block.first_line
        if labelled:
            codes[(codes == SOUND) & (labels == UNLABELLED)] = NO_LABEL
        batch = Batch(rows, n_features, labels, self.weights, self.tags, source=source, lines=lines, end=block.end)
        if codes.any():
            texts = {**MESSAGES, **messages}
            for r in np.flatnonzero(codes):
                what, place = texts[int(codes[r])], int(places[r])
                column = place and place - 1 - block.text.rfind(b"\n", 0, place - 1)
                if codes[r] == LIMIT:
                    word = block.text[place - 1 : block.text.find(b":", place)]
                    what = what.format(word=shortened(word), limit=limit)
                batch.faults.append(Fault(source, int(lines[r]), column, what))
            batch.take(codes == SOUND)
        if not labelled and batch.labels is not None and (batch.labels == UNLABELLED).any():
            batch.labels = None
        return batch


def look_up(text: bytes, data: NDArray[np.float64], indptr: NDArray[np.uint32], codes: NDArray[np.uint8]) -> None:
    """Parse with `float` the numbers that the compiled reader left open."""
    values = data[: int(indptr[-1])]
    for k in np.flatnonzero(np.isnan(values)):
        mark = int(values.view(np.uint64)[k])
        start = mark & 0x7FFFFFFFFFFFF
        match = _NUMBER.match(text, start)
        value = float(match[0]) if match else math.nan
        values[k] = -value if mark >> 63 else value
        if not math.isfinite(value):
            codes[int(np.searchsorted(indptr, k, side="right")) - 1] = FINITE
