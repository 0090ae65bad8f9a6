"""What the columns of rows of JSON are, as the first of them show it.

Knows `schema`. Rows of a table are looked at as those of CSV are, a block at a time. Of rows that come
one by one, in the shape of a service, an encoder is told of no kind, because it decides itself; without one, the rows
that came together say which columns hold numbers; an exported log says at its beginning what that was. Names are those
of all rows that came, in the order in which they turn up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from .columns import CATEGORY, INDICES, NUMBER, Columns
from .errors import InputError
from .names import check_names
from .schema import Wishes, columns_of_table, label_of

LABEL = "label"


def is_indices(features: Any) -> bool:
    """Whether the features of a row are given by their indices."""
    return isinstance(features, list) or (
        isinstance(features, dict)
        and features.keys() == {"indices", "values"}
        and all(isinstance(values, list) for values in features.values())
    )


def names_of(rows: Iterable[Any]) -> list[str]:
    """The names of all cells, in the order in which they turn up."""
    known: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict) and not row.keys() <= known.keys():
            known.update(dict.fromkeys(row))
    return list(known)


def are_numbers(labels: Iterable[Any]) -> bool:
    """Whether labels are whole numbers, or text."""
    return not any(isinstance(label, str) for label in labels)


def columns_of_rows(features: Sequence[Any], labels: Iterable[Any], source: str, wishes: Wishes) -> Columns:
    """The columns of rows that come one by one."""
    numeric = are_numbers(labels)
    if not features:
        raise InputError(f"{source}: there is no row.")
    if is_indices(features[0]):
        if wishes.bits:
            raise InputError(f"{source}: features are given by their indices, which are not hashed; leave bits out.")
        return Columns(INDICES, numeric_labels=numeric)
    names = names_of(features)
    check_names(names, f"{source}: a row")
    wishes.check(names, source)
    rows = [{}] if wishes.encoded else [row for row in features if isinstance(row, dict)]
    nothing = "" if wishes.encoded else None
    table = [
        (name, _kind(name, [row.get(name, nothing) for row in rows], wishes))
        for name in names
        if name not in wishes.drop
    ]
    return columns_of_table(table, wishes, wishes.label or LABEL, numeric, source)


def columns_of_objects(rows: Sequence[Any], source: str, wishes: Wishes) -> Columns:
    """The columns of a table, of which these are the first rows. Truth values are numbers, as they are in Parquet."""
    names = names_of(rows)
    check_names(names, f"{source}: it")
    label = label_of(wishes.label, names, source)
    wishes.check(names, source, label)
    left_out = {label, wishes.weight, *wishes.drop}
    rows = [row for row in rows if isinstance(row, dict)]
    table = [(name, _kind(name, [row.get(name) for row in rows], wishes)) for name in names if name not in left_out]
    labels = [row.get(label) for row in rows]
    columns = columns_of_table(table, wishes, label, are_numbers(labels), source)
    return replace(columns, truths=all(isinstance(each, bool) for each in labels))


def _kind(name: str, values: Sequence[Any], wishes: Wishes) -> str:
    """What a column is that holds these values."""
    if name in wishes.categorical:
        return CATEGORY
    return wishes.text if any(isinstance(value, str) for value in values) else NUMBER
