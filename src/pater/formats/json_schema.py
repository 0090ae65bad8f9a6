"""The columns of JSON rows, as the first rows show them.

Knows `schema`. A table is examined as CSV is, a block at a time. For rows that come one by one, as a service gets them,
an encoder is told no kinds, because it decides itself; without an encoder, the rows that came together show which
columns hold numbers, and an exported log states it at its beginning. Names are those of all rows that came, in order of
appearance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..models.truth import truth_in
from .columns import CATEGORY, INDICES, NUMBER, Columns
from .errors import InputError
from .labels import are_truths
from .names import check_names
from .schema import Wishes, columns_of_table, label_of

LABEL = "label"


def is_indices(features: Any) -> bool:
    """Whether the features of a row are given by index."""
    return isinstance(features, list) or (
        isinstance(features, dict)
        and features.keys() == {"indices", "values"}
        and all(isinstance(values, list) for values in features.values())
    )


def names_of(rows: Iterable[Any]) -> list[str]:
    """The names of all cells, in order of appearance."""
    known: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict) and not row.keys() <= known.keys():
            known.update(dict.fromkeys(row))
    return list(known)


def are_numbers(labels: Iterable[Any]) -> bool:
    """Whether labels are whole numbers rather than text."""
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
    """The columns of a table that begins with these rows. Truth values are numbers, as in Parquet."""
    names = names_of(rows)
    check_names(names, f"{source}: it")
    label = label_of(wishes.label, names, source)
    wishes.check(names, source, label)
    left_out = {label, wishes.weight, *wishes.drop}
    rows = [row for row in rows if isinstance(row, dict)]
    table = [(name, _kind(name, [row.get(name) for row in rows], wishes)) for name in names if name not in left_out]
    labels = [row.get(label) for row in rows]
    there = [each for each in labels if each is not None]
    of_one_kind = all(not isinstance(each, str) or truth_in(each) is not None for each in there)  # "1" is no number
    truths = of_one_kind and are_truths(map(str, there))
    columns = columns_of_table(table, wishes, label, truths or are_numbers(labels), source)
    return replace(columns, truths=truths or all(isinstance(each, bool) for each in labels))


def _kind(name: str, values: Sequence[Any], wishes: Wishes) -> str:
    """The kind of a column that holds these values."""
    if name in wishes.categorical:
        return CATEGORY
    return wishes.text if any(isinstance(value, str) for value in values) else NUMBER
