"""Texts in a buffer: hashed all at once by compiled code, decoded one by one when they are asked for.

Knows `columns` and the kernels. Most batches bring thousands of texts, and Python needs to see only a few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from .columns import Texts
from .text_kernels import hash_texts

Places = NDArray[np.int64]
LONGEST_TEXT = 200  # characters of a category that are remembered


class Spans(Sequence[str]):
    """Texts given by where they start and end in a buffer of UTF-8."""

    def __init__(self, text: bytes, starts: Places, ends: Places) -> None:
        self.text, self.starts, self.ends = text, starts, ends

    def __len__(self) -> int:
        return self.starts.size

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> list[str]: ...
    def __getitem__(self, k: int | slice) -> str | list[str]:
        if isinstance(k, slice):
            return list(Spans(self.text, self.starts[k], self.ends[k]))
        return self.text[self.starts[k] : self.ends[k]].decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        text = self.text
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            yield text[start:end].decode("utf-8", "replace")


def texts_in(text: bytes, starts: Places, ends: Places, bounds: Places, codes: Places) -> list[Texts]:
    """Columns of distinct texts in a buffer of valid UTF-8, with their hashes if each is a category as it is written.

    The texts of column c are those from bounds[c] to bounds[c + 1], and its codes (columns, rows) count from there.
    """
    hashes, known = np.empty(starts.size, np.uint32), np.empty(len(codes), np.bool_)
    hash_texts(np.frombuffer(text, np.uint8), starts, ends, bounds, LONGEST_TEXT, hashes, known)
    found, first = [], 0
    for own, last, are_known in zip(codes, bounds[1:].tolist(), known.tolist(), strict=True):
        spans = Spans(text, starts[first:last], ends[first:last])
        found.append(Texts(own, spans, hashes=hashes[first:last] if are_known else None))
        first = last
    return found
