"""Delimited text: one row per line, a label column, perhaps ids, categories and missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pater.data.entry import Parsed, RawFile
from pater.data.errors import DataError

MISSING = "?"

Convert = Callable[[str], float]


@dataclass(frozen=True)
class Table:
    """The columns of a delimited file and how each is used.

    ``columns`` names every column of the file. ``label`` is the class column, with the text that
    stands for the positive and for the negative class; ``ignored`` columns are ids and the like;
    all others are features, in file order.

    ``codes`` gives, for a categorical column, its values in the order in which the data set's
    documentation lists them, blank-separated; a value becomes its position in that list, from 0.

    ``missing`` says what happens to "?": ``"none"`` where there is none (one would be an error), ``"drop"`` where the
    row is left out, ``"value"`` where it is a category of its own and so is listed in ``codes``.

    ``separator`` is ``None`` for runs of blanks.
    """

    columns: tuple[str, ...]
    label: str
    positive: str
    negative: str
    ignored: tuple[str, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)
    missing: Literal["none", "drop", "value"] = "none"
    separator: str | None = ","
    header_lines: int = 0

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns that are neither label nor ignored."""
        return tuple(c for c in self.columns if c != self.label and c not in self.ignored)

    def parse(self, files: Sequence[RawFile]) -> Parsed:
        """Read the files one after the other."""
        values = np.concatenate([self._values(file) for file in files])
        features = [self.columns.index(name) for name in self.feature_names]
        X = np.ascontiguousarray(values[:, features])
        y = values[:, self.columns.index(self.label)].astype(np.int8)
        return Parsed(X, y, self.feature_names)

    def describe(self) -> str:
        """Say which label is positive and what is done with missing values and categories."""
        said = [f'Positive: {self.label} "{self.positive}"; negative: "{self.negative}".']
        if self.missing == "drop":
            said.append(f'Rows with "{MISSING}" are left out.')
        if self.missing == "value":
            said.append(f'"{MISSING}" is a value of its own.')
        if self.codes:
            said.append("Categories are coded by their position in the documentation's listing.")
        return " ".join(said)

    def _values(self, file: RawFile) -> NDArray[np.float64]:
        lines = file.content.decode("latin-1").splitlines()
        rows = [line for line in lines[self.header_lines :] if self._is_row(line)]
        if not rows:
            raise DataError(f"{file.where}: there is no row in it")
        converters = self._converters()
        try:
            values = np.loadtxt(
                rows,
                delimiter=self.separator,
                converters=converters,
                comments=None,
                encoding=None,
                ndmin=2,
            )
        except ValueError as error:
            raise DataError(f"{file.where}, {self._fault(lines, converters) or error}") from None
        if values.shape[1] != len(self.columns) or not np.isfinite(values).all():
            raise DataError(f"{file.where}, {self._fault(lines, converters)}")
        return values

    def _is_row(self, line: str) -> bool:
        return bool(line.strip()) and not (self.missing == "drop" and MISSING in line)

    def _converters(self) -> dict[int | str, Convert]:
        """The functions that turn text into a number, for the columns that are not numbers."""
        converters: dict[int | str, Convert] = {self.columns.index(name): _ignore for name in self.ignored}
        for name, listing in self.codes.items():
            codes = {value: float(i) for i, value in enumerate(listing.split())}
            converters[self.columns.index(name)] = _lookup(codes)
        sides = {self.positive: 1.0, self.negative: -1.0}
        converters[self.columns.index(self.label)] = _lookup(sides)
        return converters

    def _fault(self, lines: list[str], converters: dict[int | str, Convert]) -> str | None:
        """Find the first malformed line; only run once something is known to be wrong."""
        for number, line in enumerate(lines, start=1):
            if number <= self.header_lines or not self._is_row(line):
                continue
            cells = line.split(self.separator)
            if len(cells) != len(self.columns):
                return f"line {number}: {len(cells)} columns where {len(self.columns)} are expected"
            for i, cell in enumerate(cells):
                try:
                    converters.get(i, _finite)(cell)
                except ValueError:
                    return f"line {number}, column {i + 1} ({self.columns[i]}): unexpected {cell!r}"
        return None


def _ignore(_: str) -> float:
    return 0.0


def _finite(cell: str) -> float:
    value = float(cell)
    if not np.isfinite(value):
        raise ValueError(cell)
    return value


def _lookup(codes: Mapping[str, float]) -> Convert:
    def convert(cell: str) -> float:
        try:
            return codes[cell.strip()]
        except KeyError:
            raise ValueError(cell) from None

    return convert
