"""The cells of one column of JSON rows.

Knows `preprocessing/columns.py` and `plain_rows`. What a cell means does not depend on other rows: in a column of
texts, a number is the text that it is written as, and still a number where numbers are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.categories import nothing_in
from ..preprocessing.columns import Column, Numbers, Texts, as_texts, written
from ..preprocessing.tables import TRUTHS
from .columns import CATEGORY, NUMBER
from .errors import shortened
from .plain_rows import Coded

Faults = dict[int, str]
_NUMBERS, _TEXTS, _TRUTHS = ({*kinds, type(None)} for kinds in ((float, int), (str,), (bool,)))
CELL = (float, int, str, bool, type(None))
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
TOO_LARGE = "a number in column {name!r} is too large"
NO_CELL = "column {name!r} holds {kind}; a value is a number, text, true, false or null"
TEXT_IN_NUMBERS = "{text!r} is text, but column {name!r} holds numbers"


_OF_TRUTHS, _PLAIN_TRUTHS = {False: 0, True: 1, None: -1}, np.array([0.0, 1.0])


def kind_of(value: Any) -> str:
    """What messages call a value."""
    return _KINDS.get(type(value), "a number")


class Cells:
    """One column of some rows: as an encoder takes it, as numbers, and as coded texts.

    `plain` holds the number that each text stands for in a column of numbers, or NaN; `missing` counts empty cells.
    """

    def __init__(
        self, column: Numbers | Texts, plain: NDArray[np.float64] | None = None, *, missing: int | None = None
    ) -> None:
        self.column, self._plain = column, plain
        if missing is None:
            missing = int((nothing_in(column) if isinstance(column, Texts) else np.isnan(column.values)).sum())
        self.missing = missing

    def raw(self, kind: str) -> Column:
        """The column for an encoder that was told of this kind; if all cells are empty, the kind decides its type."""
        column, n_rows = self.column, len(self.column[0])
        if self.missing == n_rows and not (isinstance(column, Texts) and (column.codes >= 0).any()):
            column = Numbers(np.full(n_rows, np.nan)) if kind == NUMBER else Texts(np.full(n_rows, -1, np.int64), [])
        return categories(column) if kind == CATEGORY else column

    def numbers(self, name: str, faults: Faults) -> NDArray[np.float64]:
        """The column as floats, NaN where a cell is empty; a text is a fault."""
        if isinstance(self.column, Numbers):
            return self.column.values
        codes, names = self.column.codes, self.column.names
        plain = np.full(len(names), np.nan) if self._plain is None else self._plain
        values = np.append(plain, np.nan)[codes]
        for r in np.flatnonzero(np.isnan(values) & (codes >= 0)).tolist():
            faults.setdefault(r, TEXT_IN_NUMBERS.format(text=shortened(names[codes[r]]), name=name))
        return values

    def coded(self) -> Coded:
        """The distinct texts of the column, and the code of each row; the code after the last stands for nothing."""
        texts = categories(self.column)
        return texts.names, np.where(texts.codes < 0, len(texts.names), texts.codes)


def categories(column: Column) -> Texts:
    """A column as categories, one for each text."""
    texts = as_texts(column)
    places: dict[str, int] = {}
    of_names = np.array([*(places.setdefault(name, len(places)) for name in texts.names), -1], np.int64)
    return Texts(of_names[texts.codes], list(places), declared=True)


def cells_of(values: Sequence[Any], name: str, faults: Faults, kind: str | None = None) -> Cells:
    """The cells of a column, of this kind if it is known; a value that cannot be a cell is a fault."""
    kinds = set(map(type, values))
    if kind == CATEGORY and int in kinds:  # keep all digits: a float has fewer
        values = [str(value) if type(value) is int and abs(value) > 1 << 53 else value for value in values]
        kinds = set(map(type, values))
    missing = None if type(None) in kinds else 0
    if kinds <= _NUMBERS:
        try:
            numbers = Numbers(np.array(values, np.float64) + 0.0)  # no negative zero
        except OverflowError:
            return cells_of(_without_too_large(values, name, faults), name, faults)
        return Cells(numbers, missing=missing)
    if kinds <= _TEXTS:
        names = [text for text in dict.fromkeys(values) if text is not None]
        codes = _codes(values, {None: -1, **dict(zip(names, range(len(names)), strict=True))})
        return Cells(Texts(codes, names))
    if kinds <= _TRUTHS:
        return Cells(Texts(_codes(values, _OF_TRUTHS), TRUTHS), _PLAIN_TRUTHS, missing=missing)
    for r, value in enumerate(values) if not kinds <= set(CELL) else ():
        if not isinstance(value, CELL):
            faults.setdefault(r, NO_CELL.format(name=name, kind=kind_of(value)))
    return _mixed(_without_too_large(values, name, faults))


def _codes(values: Sequence[Any], places: dict[Any, int]) -> NDArray[np.int64]:
    return np.fromiter(map(places.__getitem__, values), np.int64, len(values))


def _without_too_large(values: Sequence[Any], name: str, faults: Faults) -> list[Any]:
    found = list(values)
    for r, value in enumerate(values):
        if isinstance(value, int) and abs(value) >= 1 << 1023:
            faults.setdefault(r, TOO_LARGE.format(name=name))
            found[r] = None
    return found


def _mixed(values: Sequence[Any]) -> Cells:
    """Cells of several kinds: texts, some of which were numbers or truth values."""
    places: dict[tuple[type, Any], int] = {}
    codes = np.empty(len(values), np.int64)
    for r, value in enumerate(values):
        if not isinstance(value, CELL) or value is None or value != value:
            codes[r] = -1
        elif isinstance(value, str | bool):
            codes[r] = places.setdefault((type(value), value), len(places))
        else:
            codes[r] = places.setdefault((float, float(value) + 0.0), len(places))
    names = [text_of(value) for _, value in places]
    numbers = np.array([value if kind is float else np.nan for kind, value in places], np.float64)
    plain = np.array([np.nan if kind is str else float(value) for kind, value in places], np.float64)
    return Cells(Texts(codes, names, numbers=numbers), plain)


def text_of(value: Any) -> str:
    """A cell as a text."""
    return value if isinstance(value, str) else TRUTHS[value] if isinstance(value, bool) else written(float(value))
