"""The compiled loops over texts in a buffer: their hashes, and which of them are known.

Knows Numba only.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from zlib import crc32

import numpy as np

from ..compiler.decorators import allocating, exact_kernel, exact_part, short_part

SPACE = 32
BEGINS_NO_NUMBER = np.array([chr(k).isascii() and chr(k).isalpha() and chr(k) not in "iI" for k in range(256)])
RENAMED = np.array([int.from_bytes(word) for word in (b"na", b"nan", b"n/a", b"null", b"none", b"true", b"false")])
CRC = np.array([crc32(bytes([k ^ 0xFF])) ^ 0xFF000000 for k in range(256)], np.uint32)  # the table that zlib uses


@exact_part
def _is_renamed(text, start, end):
    """Whether a text of up to five letters has another name as a category, or none, such as TRUE and NA."""
    word = 0
    for i in range(start, end):
        word = 256 * word + np.int64(text[i] | 32)
    found = False
    for other in RENAMED:
        found |= word == other
    return found


@short_part
def _crc(text, start, end):
    """The CRC-32 of some bytes."""
    h = np.uint32(0xFFFFFFFF)
    for i in range(start, end):
        h = CRC[(h ^ text[i]) & np.uint32(0xFF)] ^ (h >> np.uint32(8))
    return h ^ np.uint32(0xFFFFFFFF)


@exact_kernel
def hash_texts(text, starts, ends, bounds, longest, hashes, known):
    """Write the CRC-32 of each text, and of each column whether all its texts are categories as they are written.

    The texts of column c are those from bounds[c] to bounds[c + 1]. None may have another name, or be too long.
    """
    for c in range(known.size):
        known[c] = True
        for k in range(bounds[c], bounds[c + 1]):
            size = ends[k] - starts[k]
            if size < 1 or size > longest or not BEGINS_NO_NUMBER[text[starts[k]]] or text[ends[k] - 1] <= SPACE:
                known[c] = False
                break
            if size <= 5 and _is_renamed(text, starts[k], ends[k]):
                known[c] = False
                break
            hashes[k] = _crc(text, starts[k], ends[k])


@exact_kernel
def put_in_table(hashes, table):
    """Put the numbers 0, 1, … where their hashes point, or in the next free place, which is −1."""
    mask = table.size - 1
    for n in range(hashes.size):
        at = np.int64(hashes[n]) & mask
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = n


@exact_kernel
def find_texts(text, starts, ends, hashes, known, bounds, table, found):
    """Write which known text each text is, if any; `table` holds the known ones by their hashes."""
    mask = table.size - 1
    for k in range(starts.size):
        at = np.int64(hashes[k]) & mask
        while table[at] >= 0:
            first, size, same = bounds[table[at]], ends[k] - starts[k], 0
            if bounds[table[at] + 1] - first == size:
                while same < size and known[first + same] == text[starts[k] + same]:
                    same += 1
                if same == size:
                    found[k] = table[at]
                    break
            at = (at + 1) & mask


@exact_kernel
@allocating
def used_texts(text, offsets, codes):
    """Number the texts of a column anew as they turn up in its rows, alike ones once; return which ones, in that order.

    Text k is from offsets[k] to offsets[k + 1]; `codes` are changed in place, and −1 means no text.
    """
    n_texts, n_places, n = offsets.size - 1, 16, 0
    while n_places <= 2 * min(n_texts, codes.size):
        n_places *= 2
    table, new = np.full(n_places, -1), np.full(n_texts, -1)
    used, hashes, mask = np.empty(min(n_texts, codes.size), np.int64), np.empty(n_places, np.uint32), n_places - 1
    for r in range(codes.size):
        k = codes[r]
        if k < 0:
            continue
        if new[k] < 0:
            start, end = np.int64(offsets[k]), np.int64(offsets[k + 1])
            h = _crc(text, start, end)
            at = np.int64(h) & mask
            while table[at] >= 0:
                first, size, same = np.int64(offsets[used[table[at]]]), end - start, 0
                if hashes[at] == h and offsets[used[table[at]] + 1] - first == size:
                    while same < size and text[first + same] == text[start + same]:
                        same += 1
                    if same == size:
                        break
                at = (at + 1) & mask
            if table[at] < 0:
                table[at], hashes[at], used[n] = n, h, k
                n += 1
            new[k] = table[at]
        codes[r] = new[k]
    return used[:n]
