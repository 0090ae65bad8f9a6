"""What a text is called as a category, and where it is counted.

Knows `columns` and `values`.
"""

from __future__ import annotations

from math import isnan
from zlib import crc32

import numpy as np

from .columns import Column, Texts, as_texts, written
from .values import number_in

LONGEST_TEXT = 200  # characters of a category that are remembered


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
    """A column as categories, each once."""
    texts = as_texts(column)
    names: dict[str, int] = {}
    places = [names.setdefault(category(text), len(names)) for text in texts.names]
    codes = texts.codes if len(names) == len(places) else np.array([*places, -1], np.int64)[texts.codes]
    return Texts(codes, list(names))


def hash_of(text: str) -> int:
    """A number that places it among counters and buckets."""
    return crc32(text.encode("utf-8", "replace"))
