"""What a text is called as a category, and where it is counted.

Knows `columns`, `spans` and `values`.
"""

from __future__ import annotations

from math import isnan
from zlib import crc32

import numpy as np

from .columns import Column, Texts, as_texts, written
from .spans import LONGEST_TEXT
from .values import number_in


def kept(text: str) -> str:
    """A text as it is remembered: a long one by its beginning and a checksum of the rest."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT - 9]}…{crc32(text.encode('utf-8', 'replace')):08x}"


def category(text: str) -> str:
    """What a text is called as a category: a number as the number is written, whether it comes as a text or not."""
    number = number_in(text)
    return kept(text) if isnan(number) else written(number)


def categories(column: Column) -> Texts:
    """A column as categories, each once, with their hashes."""
    texts = as_texts(column)
    if texts.hashes is not None:
        return texts
    names: dict[str, int] = {}
    places = [names.setdefault(category(text), len(names)) for text in texts.names]
    codes = texts.codes if len(names) == len(places) else np.array([*places, -1], np.int64)[texts.codes]
    return Texts(codes, list(names), hashes=np.array([hash_of(name) for name in names], np.uint32))


def hash_of(text: str) -> int:
    """A number that places it among counters and buckets."""
    return crc32(text.encode("utf-8", "replace"))
