"""What may be a label: whole numbers that a float holds exactly, and text that is not too long.

Knows NumPy, `truth` and `numbers`. Text is kept once for each class, however many rows have it: in NumPy's own arrays
of text, every row would be as wide as the longest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models.truth import named, truth_in
from .numbers import LARGEST_LABEL

LONGEST_LABEL = 1000  # characters
_DIGITS_OF_LARGEST = b"9007199254740992"
_WRITTEN_AS_NUMBERS = {"0": False, "0.0": False, "1": True, "1.0": True}


def label_faults(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """True where a number is not a class label: not whole, or too large to be exact."""
    with np.errstate(invalid="ignore"):
        return np.asarray(~((np.abs(values) <= LARGEST_LABEL) & (values == np.floor(values))))


def is_rounded(text: bytes) -> bool:
    """Whether a number that is read as ±2^53 is written as another, which a float does not hold exactly."""
    digits = text.strip().lstrip(b"+-").lower().partition(b"e")[0]
    return digits.replace(b".", b"").strip(b"0") != _DIGITS_OF_LARGEST


def are_truths(names: Iterable[str | None]) -> bool:
    """Whether labels are 1 and 0, among which there may be words for True and False."""
    found = {name for name in names if name}
    truths = {_WRITTEN_AS_NUMBERS.get(name, truth_in(name)) for name in found}
    return truths == {False, True} and any(name in _WRITTEN_AS_NUMBERS for name in found)


class Texts(NamedTuple):
    """Labels that are text: the distinct ones, None for those that are not UTF-8, and which of them each row has."""

    names: list[str | None]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[bytes], n_rows: int) -> Texts:
        """From the bytes of each row, without surrounding blanks."""
        places: dict[bytes, int] = {}
        codes = np.fromiter((places.setdefault(text, len(places)) for text in rows), np.int64, n_rows)
        return cls([_decoded(text.strip()) for text in places], codes)

    def faults(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """What may be wrong with a label, and the rows where it is."""
        sizes = np.array([-1 if name is None else len(name) for name in self.names], np.int64)[self.codes]
        yield "the label is not UTF-8", sizes < 0
        yield "there is no label", sizes == 0
        yield f"the label has more than {LONGEST_LABEL:,} characters", sizes > LONGEST_LABEL

    def array(self) -> NDArray[Any]:
        """One label per row, the same object for equal ones; each truth value has one spelling."""
        return np.array(["" if name is None else named(name) for name in self.names], object)[self.codes]

    def truths(self) -> NDArray[np.float64]:
        """1 and 0 where labels are the words for truth values, NaN elsewhere."""
        found = [truth_in(name) for name in self.names]
        return np.array([np.nan if truth is None else float(truth) for truth in found], np.float64)[self.codes]


def _decoded(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None
