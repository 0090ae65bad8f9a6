"""Conversion of an encoding to the JSON and arrays of a model file, and back.

Knows `encoding` and the encoders of columns; knows no file. Nothing that is read is trusted: anything unsound raises a
ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .categories import Naming
from .column_encoders import (
    COUNTERS,
    CategoryEncoder,
    ColumnEncoder,
    DateEncoder,
    NumberEncoder,
    TextEncoder,
)
from .counts import Counts
from .crosses import MOST_NAMED, Crosses, check_names
from .encoding import Encoding
from .known_names import MOST_NAMES, KnownNames
from .settings import EncodingSettings
from .spans import LONGEST_TEXT
from .values import STYLES

Arrays = dict[str, NDArray[Any]]
_FIELDS = {
    "id": set(),
    "number": {"bins", "style"},
    "date": {"bins", "style", "unit", "hours"},
    "category": {"names", "examples", "counters"},
    "text": {"examples"},
}
_UNITS = (0.0, 1.0, 1e3, 1e6, 1e9)
_MOST_ROWS = 1 << 53


def to_state(encoding: Encoding) -> tuple[dict[str, Any], Arrays]:
    """The contents to write: a description in JSON's types, and arrays of float64 and int64."""
    columns = [column.to_json() for column in encoding.columns]
    edges, groups, counters = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for told, column in zip(columns, encoding.columns, strict=True):
        if isinstance(column, NumberEncoder):
            told["bins"] = column.groups.size
            edges.append(column.edges)
            groups.append(column.groups)
        if isinstance(column, CategoryEncoder):
            used = np.flatnonzero(column.seen)
            told["counters"] = used.size
            counters.append(256 * used + column.seen[used])
    arrays = {
        "encoder.moments": encoding.moments,
        "encoder.edges": np.concatenate(edges),
        "encoder.groups": np.concatenate(groups),
        "encoder.counters": np.concatenate(counters),
        "encoder.places": encoding.places.astype(np.int64),
    }
    if encoding.counts is not None:
        arrays |= {"encoder.bin_rows": encoding.counts.bins, "encoder.indicator_rows": encoding.counts.indicators}
    told = {"settings": encoding.settings.to_json(), "columns": columns, "known": encoding.known, "rows": encoding.rows}
    if encoding.settings.interactions:
        names = {str(place): name for place, name in encoding.crosses.names.items()}
        told["crosses"] = {"splits": encoding.crosses.splits, "names": names}
        arrays["encoder.cross_rows"] = encoding.crosses.rows
    return told, arrays


def from_state(told: Any, arrays: Mapping[str, NDArray[Any]], *, newer: bool = False) -> Encoding:
    """The encoding that was written, checked.

    What a `newer` version of the format adds to a description is left out.
    """
    fields = {"settings", "columns", "known", "rows"}
    _demand(isinstance(told, dict) and _fit(set(told) - {"crosses"}, fields, newer), "has other fields")
    _demand(isinstance(told["columns"], list) and len(told["columns"]) > 0, "has no columns")
    settings = EncodingSettings.from_json(told["settings"], newer=newer)
    reader = _Reader(arrays)
    moments, places = reader.whole("moments", np.float64), reader.whole("places", np.int64)
    columns, size = [], 0
    for each in told["columns"]:
        columns.append(_column(each, settings, reader, newer))
        size += sum(columns[-1].slots()) + columns[-1].n_tokens()
        _demand(size <= places.size, "has more columns than places")  # before memory is taken for them
    _demand(len({column.name for column in columns}) == len(columns), "has two columns of one name")
    encoding = Encoding.of_columns(settings, columns, _crosses(told, settings, columns, reader, newer))
    reader.finish()
    rows, known = told["rows"], told["known"]
    _demand(type(rows) is int and 0 <= rows <= _MOST_ROWS and type(known) is int, "has no sound counts")
    _demand(moments.shape == encoding.moments.shape and bool(np.isfinite(moments).all()), "has no sound moments")
    _demand(bool((moments[:, [0, 2]] >= 0).all() and (moments[:, 0] <= rows).all()), "has moments out of range")
    _demand(places.shape == encoding.places.shape and bool((places >= -1).all()), "has no sound places")
    _demand(np.array_equal(np.sort(places[places >= 0]), np.arange(known)), "has places that are not in order")
    encoding.moments[:], encoding.places[:] = moments, places
    encoding.known, encoding.rows = known, rows
    is_counted = any(f"encoder.{name}_rows" in arrays for name in ("bin", "indicator"))  # an older file has neither
    encoding.counts = _counts(encoding, reader) if is_counted else None
    _check_categories(encoding)
    return encoding


def _crosses(
    told: dict[str, Any], settings: EncodingSettings, columns: list[ColumnEncoder], reader: _Reader, newer: bool
) -> Crosses:
    """The crosses, with the names of hashed ones."""
    _demand(("crosses" in told) == bool(settings.interactions), "has crosses that its settings do not ask for")
    if not settings.interactions:
        return Crosses(settings, columns)
    found = told["crosses"]
    _demand(isinstance(found, dict) and _fit(set(found), {"splits", "names"}, newer), "has crosses of other fields")
    splits, names = found["splits"], found["names"]
    two_valued = {column.name for column in columns if isinstance(column, NumberEncoder) and not column.edges.size}
    sound = isinstance(splits, dict) and set(splits) <= two_valued
    _demand(
        sound and all(type(at) is float and isfinite(at) for at in splits.values()), "has splits that are not sound"
    )
    check_names(settings, [column.name for column in columns])
    crosses, rows = Crosses(settings, columns, splits), reader.whole("cross_rows", np.int64)
    _demand(rows.shape == (crosses.width,), "counts rows of other crosses")
    _demand(bool(((rows >= 0) & (rows <= _MOST_ROWS)).all()), "counts rows of crosses that cannot be")
    crosses.rows = rows.copy()
    sound = isinstance(names, dict) and all(key.isdecimal() and _is_text(name) for key, name in names.items())
    sound = sound and len(names) <= MOST_NAMED and all(int(key) < crosses.width for key in names)
    _demand(sound, "has names of crosses that are not sound")
    crosses.names = {int(key): name for key, name in names.items()}
    return crosses


def _counts(encoding: Encoding, reader: _Reader) -> Counts:
    counts = Counts(reader.whole("bin_rows", np.int64).copy(), reader.whole("indicator_rows", np.int64).copy())
    assert encoding.counts is not None
    sound = counts.bins.shape == encoding.counts.bins.shape and counts.indicators.shape == (encoding.known,)
    _demand(sound, "counts rows of other columns")
    for each in (counts.bins, counts.indicators):
        _demand(bool(((each >= 0) & (each <= encoding.rows)).all()), "counts more rows than there were")
    return counts


def _check_categories(encoding: Encoding) -> None:
    """Raise a ValueError if a category without a name has a place."""
    start = 0
    for column in encoding.columns:
        if isinstance(column, CategoryEncoder):
            nameless = encoding.places[start + len(column.names) : start + encoding.settings.max_categories]
            _demand(bool((nameless < 0).all()), "has places of categories without a name")
        start += sum(column.slots()) + column.n_tokens()


class _Reader:
    """Hands out the arrays of a file piece by piece."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays, self._at = arrays, dict.fromkeys(("edges", "groups", "counters"), 0)

    def whole(self, name: str, kind: Any) -> NDArray[Any]:
        array = self._arrays.get(f"encoder.{name}")
        _demand(array is not None and array.dtype == kind, f"has no {name}")
        assert array is not None
        return array

    def next(self, name: str, kind: Any, size: Any) -> NDArray[Any]:
        array, at = self.whole(name, kind), self._at[name]
        _demand(array.ndim == 1 and type(size) is int and 0 <= size <= array.size - at, f"has no sound {name}")
        self._at[name] = at + size
        return array[at : at + size].copy()

    def finish(self) -> None:
        for name, at in self._at.items():
            array = self._arrays.get(f"encoder.{name}")
            _demand(array is not None and array.shape == (at,), f"has more {name} than columns")


def _column(told: Any, settings: EncodingSettings, reader: _Reader, newer: bool) -> ColumnEncoder:
    _demand(isinstance(told, dict) and told.get("kind") in _FIELDS, "has a column of a kind that is not known")
    told = dict(told)
    name, kind, clock = told.get("name"), told["kind"], told.pop("clock", False)
    naming = {field: told.pop(field) for field in Naming._fields if field in told}
    sound = _fit(set(told), {"name", "kind"} | _FIELDS[kind], newer) and isinstance(name, str)
    _demand(sound, "has a column of other fields")
    _demand(clock is False or (clock is True and kind == "date"), "has a clock in a column that holds no dates")
    _demand(all(type(value) is bool for value in naming.values()), "has an unknown way of naming texts")
    _demand(not naming or kind == "category", "names texts in a column that holds no categories")
    if kind in ("number", "date"):
        bins = told["bins"]
        _demand(type(bins) is int and bins >= 1, "has a column without bins")
        edges, groups = reader.next("edges", np.float64, bins - 1), reader.next("groups", np.int64, bins)
        _demand(bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all()), "has edges that do not ascend")
        _demand(groups[0] == 0 and bool(np.isin(np.diff(groups), (0, 1)).all()), "has bins that are out of order")
        _demand(told["style"] in STYLES, "has numbers of a style that is not known")
        if kind == "number":
            return NumberEncoder(name, edges, groups, told["style"])
        _demand(told["unit"] in _UNITS and type(told["hours"]) is bool, "has dates that are not sound")
        return DateEncoder(name, edges, groups, told["style"], float(told["unit"]), told["hours"], clock)
    if kind == "category":
        names, n = told["names"], settings.max_categories
        _demand(isinstance(names, list) and all(map(_is_text, names)) and len(names) <= n, "has no sound categories")
        _demand(len(set(names)) == len(names), "has a category twice")
        counters = reader.next("counters", np.int64, told["counters"])
        used, counts = counters // 256, counters % 256
        _demand(bool(((used >= 0) & (used < COUNTERS)).all() and (np.diff(used) > 0).all()), "has counters elsewhere")
        _demand(bool(((counts > 0) & (counts <= settings.min_count)).all()), "has counters out of range")
        seen = np.zeros(COUNTERS, np.uint8)
        seen[used] = counts
        places = {name: k for k, name in enumerate(names)}
        known = _names(told, n + 2, n + 2 + settings.buckets)
        called = Naming.of_file(names, known)._replace(**naming)
        return CategoryEncoder(name, settings, places, seen, known, called)
    if kind == "text":
        return TextEncoder(name, settings, _names(told, 0, settings.word_buckets))
    return ColumnEncoder(name)


def _fit(found: set[str], fields: set[str], newer: bool) -> bool:
    """Whether these are the fields of a description, or, in a newer version of the format, those and more."""
    return fields <= found if newer else fields == found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _names(told: dict[str, Any], low: int, high: int) -> KnownNames:
    """The names behind hashed columns; an older file has only one for each."""
    found = told["examples"]
    _demand(isinstance(found, dict) and all(key.isdecimal() for key in found), "has examples that are not sound")
    lists = {int(key): [names] if isinstance(names, str) else names for key, names in found.items()}
    for place, names in lists.items():
        sound = isinstance(names, list) and 0 < len(names) <= MOST_NAMES + 1 and all(map(_is_text, names))
        _demand(sound and low <= place < high and len(set(names)) == len(names), "has examples that are not sound")
    return KnownNames(lists.items())


def _demand(sound: bool, what: str) -> None:
    if not sound:
        raise ValueError(f"its encoder {what}")
