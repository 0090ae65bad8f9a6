"""What a text is called as a category, and where it is counted.

Knows `columns`, `spans` and `values`.
"""

from __future__ import annotations

from collections.abc import Container
from math import isnan
from zlib import crc32

import numpy as np

from .columns import Column, Texts, as_texts, written
from .spans import LONGEST_TEXT
from .values import TRUTHS, number_in

MISSING = frozenset({"", "?", "na", "n/a", "nan", "+nan", "-nan", "null", "none"})
"""Texts, in small letters, that say that a category is missing: those that the reader of CSV takes for nothing."""


def kept(text: str) -> str:
    """A text as it is remembered: a long one by its beginning and a checksum of the rest."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT - 9]}…{crc32(text.encode('utf-8', 'replace')):08x}"


def category(text: str, known: Container[str] = ()) -> str | None:
    """What a text is called as a category, or None if it says that nothing is there.

    A number is called as the number is written, whether it comes as a text or not, and so is a truth value in letters
    of any case. Names that are `known` stay: encoders of older files know some that are called otherwise here.
    """
    if text in known:
        return text
    word = text.strip(" \t").lower() if len(text) < LONGEST_TEXT else text
    if word in MISSING:
        return None
    if word in TRUTHS:
        return word.capitalize()
    number = number_in(text)
    return kept(text) if isnan(number) else written(number)


def categories(column: Column, known: Container[str] = ()) -> Texts:
    """A column as categories, each once, with their hashes."""
    texts = as_texts(column)
    if texts.hashes is not None:
        return texts
    names: dict[str, int] = {}
    found = (category(text, known) for text in texts.names)
    places = [-1 if name is None else names.setdefault(name, len(names)) for name in found]
    codes = texts.codes if len(names) == len(places) else np.array([*places, -1], np.int64)[texts.codes]
    return Texts(codes, list(names), hashes=np.array([hash_of(name) for name in names], np.uint32))


def hash_of(text: str) -> int:
    """A number that places it among counters and buckets."""
    return crc32(text.encode("utf-8", "replace"))
