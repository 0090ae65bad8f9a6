"""Dates, times and durations of Arrow tables as text tables and JSON lines hold them.

Knows pyarrow and `preprocessing/tables.py`. Times of day and durations become what the reader of Parquet makes of them,
so that a model sees the same categories and numbers in every format.
"""

from __future__ import annotations

from typing import Any

from ..formats.arrow_files import first_line, pyarrow
from ..formats.errors import InputError
from ..preprocessing.columns import as_texts
from ..preprocessing.tables import of_arrow

_BEYOND = "<value out of range"  # what Arrow writes for a moment that its calendar does not have
_ADVICE = "Leave it out with --drop {0!r}, or mend it where the file was made."
_ZONE = r"([+-]\d{4})?$"
_TO_ISO = (  # from Arrow's way: a T, no fraction of a whole second, otherwise six digits of it or nine, and +01:00
    (r"^(\S+) ", r"\1T"),
    (r"Z$", "+0000"),
    (r"\.0+" + _ZONE, r"\1"),
    (r"(\.\d{3})" + _ZONE, r"\1000\2"),
    (r"(\.\d{6})000" + _ZONE, r"\1\2"),
    (r"(\d[+-]\d\d)(\d\d)$", r"\1:\2"),
)


def as_read(values: Any, name: str) -> Any:
    """Times of day as texts, durations as seconds, and all else unchanged."""
    pa = pyarrow()
    if pa.types.is_time(values.type):
        return as_categories(values)
    if not pa.types.is_duration(values.type):
        return values
    try:
        held = values if values.type.unit == "ns" else values.cast(pa.duration("us"))  # as the reader has them
    except pa.ArrowException:
        raise InputError(f"column {name!r} holds a duration of over 290,000 years. {_ADVICE.format(name)}") from None
    return pa.array(of_arrow(held)[0], pa.float64(), from_pandas=True)


def as_categories(values: Any) -> Any:
    """The texts of a column as the reader of Parquet has them."""
    texts, pa = as_texts(of_arrow(values)), pyarrow()
    return pa.array([*texts.names, None], pa.string()).take(pa.array(texts.codes % (len(texts.names) + 1)))


def type_as_read(kind: Any) -> Any:
    """The type of `as_read`."""
    pa = pyarrow()
    return pa.float64() if pa.types.is_duration(kind) else pa.string() if pa.types.is_time(kind) else kind


def table_as_read(table: Any) -> Any:
    """`as_read` for all columns; an error if one holds a moment that cannot be written."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _is_moment(column.type):
            _written_moments(column, name)
        columns.append(as_read(column, name))
    return pyarrow().table(columns, names=table.column_names)


def in_json(values: Any, name: str) -> Any:
    """Dates and moments in ISO 8601, times of day and durations as they are read, and all else unchanged."""
    if not _is_moment(values.type):
        return as_read(values, name)
    texts = _written_moments(values, name)
    for pattern, then in _TO_ISO:
        texts = pyarrow(".compute").replace_substring_regex(texts, pattern, then)
    return texts


def _is_moment(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_timestamp(kind) or types.is_date(kind))


def _written_moments(values: Any, name: str) -> Any:
    pa, pc = pyarrow(), pyarrow(".compute")
    try:
        texts = values.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} cannot be written: {first_line(error)}. {_ADVICE.format(name)}") from None
    if pc.any(pc.starts_with(texts, _BEYOND)).as_py():
        what = f"column {name!r} holds a {'date' if pa.types.is_date(values.type) else 'time'} that no calendar has"
        raise InputError(f"{what}. {_ADVICE.format(name)}")
    return texts
