"""What a text is called as a category, and where it is counted.

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

BLANKS = " \t"  # that are no part of a text, inside quotes or not: so CSV has them, and every other reader
MISSING = frozenset({"", "?", "na", "n/a", "nan", "+nan", "-nan", "null", "none"})
"""Texts, in small letters, that say that a category is missing: those that the reader of CSV takes for nothing."""


def kept(text: str) -> str:
    """A text as it is remembered: a long one by its beginning and a checksum of the rest."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT - 9]}…{crc32(text.encode('utf-8', 'replace')):08x}"


def is_nothing(text: str) -> bool:
    """Whether a text says that nothing is there."""
    word = text.strip(BLANKS)
    return len(word) <= 4 and word.lower() in MISSING


def nothing_in(texts: Texts) -> NDArray[np.bool_]:
    """In which rows nothing is there, or a text that says so; none with a hash does."""
    if texts.hashes is not None:
        return texts.codes < 0
    return np.array([*map(is_nothing, texts.names), True], np.bool_)[texts.codes]


def category(text: str, known: Collection[str] = (), *, exact: bool = True) -> str | None:
    """What a text is called as a category, or None if it says that nothing is there.

    A text is called as it is, without the blanks around it, and a truth value in letters of any case is one. 7.0 is 7,
    since a number is called as it is written, whether it comes as a text or not, and a whole one is written in both
    ways. No other two texts are one: 007 and 7 may be different ids, and so may numbers of more digits than a float
    has. Where it is not `exact`, as in older files, all texts that are the same number are one. Names that are `known`
    stay: encoders of older files know some that are called otherwise here.
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
    """How the texts of a column are called, which is decided once: what comes later is called the same in any batch.

    exact
        Whether only texts that are written alike are one.
    truths
        Whether the column has begun with truth values alone, so that 1 and 0 are these.
    """

    exact: bool = True
    truths: bool = False

    @classmethod
    def of_file(cls, names: Collection[str], others: Iterable[str]) -> Naming:
        """That of a file that does not say it, because it is of before, or because it says no more than its names do.

        Without a name that is a number, both ways to call texts have come to the same.
        """
        truths = 0 < len(names) <= 2 and all(name in _OF_DIGITS.values() for name in names)
        return cls(all(isnan(number_in(name)) for name in (*names, *others)), truths)

    def to_json(self, names: Collection[str], others: Iterable[str]) -> dict[str, bool]:
        """What a file has to say of it."""
        read = self.of_file(names, others)._asdict()
        return {name: value for name, value in self._asdict().items() if value != read[name]}

    def names(self, texts: Iterable[str], known: Collection[str]) -> Iterable[str | None]:
        found = (category(text, known, exact=self.exact) for text in texts)
        return (_OF_DIGITS.get(name or "", name) for name in found) if self.truths else found


EXACT = Naming()


def categories(column: Column, known: Collection[str] = (), naming: Naming = EXACT) -> Texts:
    """A column as categories, each once, with their hashes."""
    texts = as_texts(column)
    if texts.hashes is not None:
        return texts
    names: dict[str, int] = {}
    found = naming.names(texts.names, known)
    places = [-1 if name is None else names.setdefault(name, len(names)) for name in found]
    codes = texts.codes if len(names) == len(places) else np.array([*places, -1], np.int64)[texts.codes]
    return Texts(codes, list(names), hashes=np.array([hash_of(name) for name in names], np.uint32))


def hash_of(text: str) -> int:
    """A number that places it among counters and buckets."""
    return crc32(text.encode("utf-8", "replace"))
