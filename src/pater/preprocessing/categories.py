"""The name of a text as a category, and the hash by which it is counted.

Knows `columns`, `spans` and `values`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import isnan
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .columns import Column, Texts, as_texts, written
from .spans import LONGEST_TEXT
from .values import TRUTHS, number_in

BLANKS = " \t"  # stripped from texts, inside quotes or not, by the reader of CSV and by every other one
MISSING = frozenset({"", "?", "na", "n/a", "nan", "+nan", "-nan", "null", "none"})
"""Texts, in lower case, that mean a missing category: those that the reader of CSV takes for nothing."""


def kept(text: str) -> str:
    """The text as it is remembered: a long one as its beginning and a checksum of the whole."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT - 9]}…{crc32(text.encode('utf-8', 'replace')):08x}"


def is_nothing(text: str) -> bool:
    """Whether a text stands for a missing value."""
    word = text.strip(BLANKS)
    return len(word) <= 4 and word.lower() in MISSING


def nothing_in(texts: Texts) -> NDArray[np.bool_]:
    """A mask of the rows that hold nothing, or a text that means so, which no text with a hash does."""
    if texts.hashes is not None:
        return texts.codes < 0
    return np.array([*map(is_nothing, texts.names), True], np.bool_)[texts.codes]


def category(text: str, known: Collection[str] = (), *, exact: bool = True) -> str | None:
    """The name of a text as a category, or None if it stands for a missing value.

    The name is the text itself, without the blanks around it; a truth value in letters of any case is "True" or
    "False". 7.0 becomes 7, so that a number has one name whether it comes as a text or not, since whole numbers are
    written in both ways. No other two texts share a name: 007 and 7 may be different ids, and so may numbers with more
    digits than a float holds. Where `exact` is False, as in older files, all texts of the same number share a name.
    Names that are `known` stay: encoders of older files know some that would be named differently here.
    """
    if text in known:
        return text
    if is_nothing(text):
        return None
    text = text.strip(BLANKS)
    truth = TRUTHS.get(text.lower())
    if truth is not None:
        return str(truth == 1.0)
    number = np.nan if exact and not text.endswith(".0") else number_in(text)
    if isnan(number) or (exact and f"{written(number)}.0" != text and text != "-0.0"):
        return kept(text)
    return written(number)


_OF_DIGITS = {"0": "False", "1": "True"}


class Naming(NamedTuple):
    """How the texts of a column are named, decided once, so that a text has the same name in every batch.

    exact
        Whether only texts that are written alike share a name.
    truths
        Whether the column began with truth values alone, so that 1 and 0 are read as True and False.
    """

    exact: bool = True
    truths: bool = False

    @classmethod
    def of_file(cls, names: Collection[str], others: Iterable[str]) -> Naming:
        """The naming that the names in a file imply, for older files and for those where it is not stored.

        Where no name is a number, both values of `exact` give the same names.
        """
        truths = 0 < len(names) <= 2 and all(name in _OF_DIGITS.values() for name in names)
        return cls(all(isnan(number_in(name)) for name in (*names, *others)), truths)

    def to_json(self, names: Collection[str], others: Iterable[str]) -> dict[str, bool]:
        """The fields that a file has to store: those that its names do not imply."""
        read = self.of_file(names, others)._asdict()
        return {name: value for name, value in self._asdict().items() if value != read[name]}

    def names(self, texts: Iterable[str], known: Collection[str]) -> Iterable[str | None]:
        found = (category(text, known, exact=self.exact) for text in texts)
        return (_OF_DIGITS.get(name or "", name) for name in found) if self.truths else found


EXACT = Naming()


def categories(column: Column, known: Collection[str] = (), naming: Naming = EXACT) -> Texts:
    """The column as categories, each listed once, with their hashes."""
    texts = as_texts(column)
    if texts.hashes is not None:
        return texts
    names: dict[str, int] = {}
    found = naming.names(texts.names, known)
    places = [-1 if name is None else names.setdefault(name, len(names)) for name in found]
    codes = texts.codes if len(names) == len(places) else np.array([*places, -1], np.int64)[texts.codes]
    return Texts(codes, list(names), hashes=np.array([hash_of(name) for name in names], np.uint32))


def hash_of(text: str) -> int:
    """The CRC-32 of a text, which places it among counters and buckets."""
    return crc32(text.encode("utf-8", "replace"))
