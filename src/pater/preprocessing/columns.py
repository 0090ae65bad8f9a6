"""Tables, column by column: the form that every reader produces and the encoder takes.

Knows NumPy only. A table is an ordered mapping from names to columns of the same length. A column holds numbers, texts
or times. Each distinct text is stored once, with a code for every row, so that Python looks at distinct texts and never
at rows. Columns are never changed once they are made: parts share their memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Numbers(NamedTuple):
    """Numbers as float64, NaN where one is missing."""

    values: NDArray[np.float64]


class Texts(NamedTuple):
    """Texts: `names[codes[row]]`, or nothing where the code is −1.

    codes
        As int64, each −1 or a place in `names`.
    names
        The texts, each once, in any order; some may have no row.
    declared
        Whether the source calls this a category (a pandas Categorical, an Arrow dictionary), so that texts that look
        like numbers or dates are not read as such.
    hashes
        The `hash_of` each text, where every text is a category as it is written (see `categories`).
    numbers
        Where a column mixes numbers and texts: the number that each text was before it was written, or NaN if it came
        as a text. A text and a number that are written alike are two entries.
    """

    codes: NDArray[np.int64]
    names: Sequence[str]
    declared: bool = False
    hashes: NDArray[np.uint32] | None = None
    numbers: NDArray[np.float64] | None = None


class Times(NamedTuple):
    """Moments as seconds since the beginning of 1970, by the local clock they were written in; NaN where missing.

    written
        Returns the texts that they were read from, for a column of texts in which some rows are dates.
    """

    seconds: NDArray[np.float64]
    written: Callable[[], Texts] | None = None


Column = Numbers | Texts | Times
Table = Mapping[str, Column]


def rows_in(table: Table) -> int:
    """The number of rows of a table. Raises a ValueError if its columns differ in length."""
    n_rows = -1
    for name, column in table.items():
        if n_rows not in (-1, len(column[0])):
            raise ValueError(f"column {name!r} has {len(column[0])} rows, but those before it have {n_rows}.")
        n_rows = len(column[0])
    return max(0, n_rows)


def part(table: Table, start: int, stop: int) -> dict[str, Column]:
    """Rows start..stop of a table, without copying."""
    return {name: _taken(column, slice(start, stop)) for name, column in table.items()}


def selected(table: Table, keep: NDArray[np.bool_]) -> dict[str, Column]:
    """The rows of a table where `keep` is true."""
    return {name: _taken(column, keep) for name, column in table.items()}


def own(column: Column) -> Column:
    """A copy that shares no memory with the original, without the texts that no row has."""
    if isinstance(column, Numbers):
        return Numbers(column.values.copy())
    if isinstance(column, Times) and column.written is None:
        return Times(column.seconds.copy())
    return without_unused(as_texts(column))


def _taken(column: Column, rows: slice | NDArray[np.bool_]) -> Column:
    if isinstance(column, Texts):
        return column._replace(codes=column.codes[rows])
    if isinstance(column, Times) and column.written is not None:
        return Times(column.seconds[rows], partial(_written, column.written, rows))
    return type(column)(column[0][rows])


def _written(texts: Callable[[], Texts], rows: slice | NDArray[np.bool_]) -> Texts:
    whole = texts()
    return whole._replace(codes=whole.codes[rows])


def concatenated(tables: Sequence[Table]) -> dict[str, Column]:
    """Tables with the same columns, one below the other. A column that changes its kind becomes texts."""
    first = tables[0]
    return {name: _joined([table[name] for table in tables]) for name in first}


def _joined(columns: list[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    if all(isinstance(column, Numbers) for column in columns):
        return Numbers(np.concatenate([column[0] for column in columns]))
    if all(isinstance(column, Times) and column.written is None for column in columns):
        return Times(np.concatenate([column[0] for column in columns]))
    places: dict[tuple[str, float | None], int] = {}
    codes = []
    texts = [as_texts(column) for column in columns]
    for column, some in zip(columns, texts, strict=True):
        used = without_unused(some)
        place = [places.setdefault(each, len(places)) for each in zip(used.names, _came_as(column, used), strict=True)]
        codes.append(np.array([*place, -1], np.int64)[used.codes])
    names, numbers = [name for name, _ in places], np.array([number for _, number in places], np.float64)
    declared = all(some.declared for some in texts)
    return Texts(np.concatenate(codes), names, declared, numbers=None if np.isnan(numbers).all() else numbers)


def _came_as(column: Column, texts: Texts) -> Iterable[float | None]:
    """The number that each text of a column was written from, or None."""
    if isinstance(column, Numbers):
        return map(float, texts.names)
    numbers = [np.nan] * len(texts.names) if texts.numbers is None else texts.numbers.tolist()
    return (None if number != number else number for number in numbers)


def without_unused(column: Texts) -> Texts:
    """The same texts without names that no row has, in order of first appearance."""
    used, first = np.unique(column.codes, return_index=True)
    used = used[np.argsort(first)]
    used = used[used >= 0]
    places = np.full(len(column.names) + 1, -1, np.int64)
    places[used] = np.arange(used.size)
    hashes = None if column.hashes is None else column.hashes[used]
    numbers = None if column.numbers is None else column.numbers[used]
    names = [column.names[k] for k in used.tolist()]
    return Texts(places[column.codes], names, column.declared, hashes, numbers)


def as_texts(column: Column) -> Texts:
    """Any column as texts: whole numbers without a point, moments in ISO 8601."""
    if isinstance(column, Texts):
        return column
    if isinstance(column, Times) and column.written is not None:
        return column.written()
    values, places = np.unique(column[0], return_inverse=True)  # NaN is one value, the last
    there = ~np.isnan(values)
    names = [written(value) for value in values[there].tolist()]
    if isinstance(column, Times):
        names = np.datetime_as_string(np.rint(values[there] * 1e6).astype("M8[us]"), unit="s").tolist()
    distinct: dict[str, int] = {}  # moments within the same second share a text
    codes = np.array([*(distinct.setdefault(name, len(distinct)) for name in names), -1], np.int64)
    return Texts(codes[np.where(there, np.arange(values.size), len(names))[places]], list(distinct))


def written(value: float) -> str:
    """A number as a text: a whole one without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
