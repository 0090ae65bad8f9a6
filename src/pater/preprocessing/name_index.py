"""Lookup of the known texts in a batch, by compiled code where they stand in a buffer.

Knows `spans`, `categories` and the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .categories import hash_of
from .spans import Spans
from .text_kernels import find_texts, put_in_table


class NameIndex:
    """An index of names to their places 0, 1, …, as they were when it was made."""

    def __init__(self, names: Mapping[str, int]) -> None:
        self._names = dict(names)
        # A name that is not valid UTF-8 is encoded in a way that no text in a buffer can be.
        texts = [name.encode("utf-8", "surrogatepass") for name in names]
        self._text = np.frombuffer(b"".join(texts), np.uint8)
        self._bounds = np.cumsum([0, *map(len, texts)])
        self._table = np.full(1 << max(4, (2 * len(texts)).bit_length()), -1, np.int64)
        put_in_table(np.array([hash_of(name) for name in names], np.uint32), self._table)

    def __len__(self) -> int:
        return len(self._names)

    def places(self, texts: Sequence[str], hashes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The place of each text, given the texts' hashes, or −1; with one more −1 at the end."""
        found = np.full(len(texts) + 1, -1, np.int64)
        if isinstance(texts, Spans):
            buffer = np.frombuffer(texts.text, np.uint8)
            find_texts(buffer, texts.starts, texts.ends, hashes, self._text, self._bounds, self._table, found)
        else:
            found[:-1] = [self._names.get(text, -1) for text in texts]
        return found
