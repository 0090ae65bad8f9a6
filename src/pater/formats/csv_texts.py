"""The texts of columns of CSV, each once, and which of them every row has.

Knows `csv_cells`, `csv_fields` and the texts of `preprocessing`. All columns are read by one call, as every call
of a kernel may hand the interpreter to another thread and wait for it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import allocating, exact_kernel
from ..preprocessing.columns import Texts
from ..preprocessing.spans import Spans, texts_in
from .csv_cells import Cells
from .csv_fields import QUOTE, is_missing, trimmed
from .many_bytes import ONE_TO_ONE, hash_bytes, same_bytes


@exact_kernel
@allocating
def distinct(text, starts, ends, columns, codes, spans, bounds):
    """Which text each row has in some columns, (columns, rows), without the blanks around it; −1 if it is missing.

    The codes of a column count up as its texts turn up. `spans` is filled with the start and the end of each text and
    whether quotes are doubled in it, those of column k from bounds[k] to bounds[k + 1].
    """
    n_rows, n_places, n = codes.shape[1], 16, 0
    while n_places <= 2 * n_rows:
        n_places *= 2
    table, hashes, mask = np.empty(n_places, np.int32), np.empty(codes.size, np.uint64), np.uint64(n_places - 1)
    for c in range(columns.size):
        j, first = np.uint64(columns[c]), n
        bounds[c] = first
        table[:] = -1
        for r in range(n_rows):
            codes[c, r] = -1
            start, end = trimmed(text, np.int64(starts[r, j]), np.int64(ends[r, j]))
            if is_missing(text, start, end):
                continue
            doubled = 0
            if starts[r, j] > 0 and text[np.uint64(starts[r, j] - 1)] == QUOTE:  # else quotes stand for themselves
                for i in range(start, end):
                    doubled |= text[i] == QUOTE
            h, size = hash_bytes(text, start, end), end - start
            place = h & mask
            k = np.int64(table[place])
            while k >= 0:
                at = np.uint64(first + k)
                alike = hashes[at] == h and spans[2, at] == doubled and spans[1, at] - spans[0, at] == size
                if alike and (size <= ONE_TO_ONE or same_bytes(text, start, end, spans[0, at], spans[1, at])):
                    break
                place = (place + np.uint64(1)) & mask
                k = np.int64(table[place])
            if k < 0:
                k = n - first
                table[place] = k
                hashes[n] = h
                spans[0, n], spans[1, n], spans[2, n] = start, end, doubled
                n += 1
            codes[c, r] = k
    bounds[columns.size] = n


def texts_of(cells: Cells, columns: NDArray[np.int64]) -> list[Texts]:
    """The texts of some columns."""
    codes = np.empty((columns.size, len(cells)), np.int64)
    spans, bounds = np.empty((3, codes.size), np.int64), np.empty(columns.size + 1, np.int64)
    distinct(cells.text, cells.starts, cells.ends, columns, codes, spans, bounds)
    starts, ends, doubled = spans[:, : bounds[-1]]
    if cells.is_utf8 and not doubled.any():
        return texts_in(cells.block.text, starts, ends, bounds, codes)
    parts = [slice(*pair) for pair in zip(bounds.tolist(), bounds[1:].tolist(), strict=False)]
    return [
        _decoded(Spans(cells.block.text, starts[part], ends[part]), doubled[part], own)
        for part, own in zip(parts, codes, strict=True)
    ]


def _decoded(spans: Spans, doubled: NDArray[np.int64], codes: NDArray[np.int64]) -> Texts:
    """The texts of a column with quotes as they are meant, of bytes that may not be UTF-8."""
    names = list(spans)
    for k in np.flatnonzero(doubled).tolist():
        names[k] = names[k].replace('""', '"')
    if len(set(names)) < len(names):  # what is not the same may be written alike
        known: dict[str, int] = {}
        same = np.array([*(known.setdefault(name, len(known)) for name in names), -1], np.int64)
        codes, names = same[codes], list(known)
    return Texts(codes, names)
