"""Merging of two encodings that began alike and went on with different rows.

Knows `encoding` and the encoders of columns.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.differences import DifferenceError, check_same
from .categories import Naming
from .column_encoders import CategoryEncoder, ColumnEncoder, NumberEncoder, TextEncoder
from .encoding import Encoding
from .settings import EncodingSettings

_SETTINGS = [field.name for field in fields(EncodingSettings)]
_ADVICE = (
    "What is to be merged must begin with the same rows: let one learn the first rows, copy it, and let each copy "
    "learn a part of the others."
)


def merge_encodings(mine: Encoding, theirs: Encoding, resolution: str = "nested") -> tuple[Encoding, NDArray[np.int64]]:
    """One encoding of what both have seen, and the column in it of each column of `theirs`, or −1.

    The columns of `mine` stay where they are; those that only `theirs` has come after them. Kinds and bins are decided
    once, from the beginning of a stream, so both must have begun with the same rows, or be copies of one encoding. A
    category that only `theirs` knows gets no column if the bound leaves no room.
    """
    check_alike(mine, theirs)
    result = mine.copy()
    result.rows += theirs.rows
    result.moments = _added(mine.moments, theirs.moments)
    result.crosses.take_in(theirs.crosses)
    fixed = result.width(resolution) - result.known
    columns = np.full(theirs.width(resolution), -1, np.int64)
    columns[:fixed] = np.arange(fixed)
    start, moved = 0, {}
    for own, other in zip(result.columns, theirs.columns, strict=True):
        size = sum(own.slots()) + own.n_tokens()
        to = np.arange(size)
        if isinstance(own, CategoryEncoder) and isinstance(other, CategoryEncoder):
            to[: len(other.names)] = _take_in(own, other)
        if isinstance(own, TextEncoder) and isinstance(other, TextEncoder):
            own.known_names.take_in(other.known_names)
        for place in np.flatnonzero(theirs.places[start : start + size] >= 0).tolist():
            moved[int(theirs.places[start + place])] = start + int(to[place]) if to[place] >= 0 else -1
        start += size
    for number, place in sorted(moved.items()):
        if place >= 0:
            if result.places[place] < 0:
                result.places[place] = result.known
                result.known += 1
            columns[fixed + number] = fixed + result.places[place]
    result.counts = None
    if mine.counts is not None and theirs.counts is not None:
        numbers = columns[fixed:] - fixed
        result.counts = mine.counts.merged(theirs.counts, np.where(numbers >= 0, numbers, -1), result.known)
    return result, columns


def check_alike(mine: Encoding, theirs: Encoding) -> None:
    """Raise a `DifferenceError` for the first difference: a setting, a column, its kind, its bins."""
    check_same((name, getattr(theirs.settings, name), getattr(mine.settings, name)) for name in _SETTINGS)
    for k, (their_name, name) in enumerate(zip_longest(theirs.names, mine.names), start=1):
        if their_name != name:
            shown = [f"no column {k}" if each is None else f"{each!r} as column {k}" for each in (their_name, name)]
            raise DifferenceError(*shown)
    for own, other in zip(mine.columns, theirs.columns, strict=True):
        plans = [_plan(column, encoding) for column, encoding in ((other, theirs), (own, mine))]
        for what in dict.fromkeys(name for plan in plans for name in plan):
            found = [plan.get(what) for plan in plans]
            if found[0] != found[1]:
                raise DifferenceError(f"{what}={found[0]!r} in column {own.name!r}", f"{what}={found[1]!r}", _ADVICE)


def _plan(column: ColumnEncoder, encoding: Encoding) -> dict[str, Any]:
    """What was decided about a column from the first rows, by name."""
    plan: dict[str, Any] = {"kind": column.kind, "split": encoding.crosses.splits.get(column.name)}
    if isinstance(column, NumberEncoder):
        plan |= {"bins": column.groups.size, **column.to_json()}
        plan |= {f"edges[{k}]": edge for k, edge in enumerate(column.edges.tolist())}
        plan |= {"groups": column.groups.tolist()}
    return plan


def _added(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The counts, means and sums of squared distances of both together (Chan, Golub and LeVeque, 1983)."""
    count = a[:, 0] + b[:, 0]
    share = np.divide(b[:, 0], count, out=np.zeros(len(count)), where=count > 0)
    gap = b[:, 1] - a[:, 1]
    return np.stack([count, a[:, 1] + gap * share, a[:, 2] + b[:, 2] + gap * gap * a[:, 0] * share], axis=1)


def _take_in(own: CategoryEncoder, other: CategoryEncoder) -> list[int]:
    """Add the categories of the other; return the place of each of them, or −1 where there is no room."""
    places = []
    for name in other.names:
        if name not in own.names and len(own.names) < own.settings.max_categories:
            own.names[name] = len(own.names)
        places.append(own.names.get(name, -1))
    own.seen = np.minimum(own.seen.astype(np.int64) + other.seen, own.settings.min_count).astype(np.uint8)
    own.known_names.take_in(other.known_names)
    own.naming = Naming(*(mine and theirs for mine, theirs in zip(own.naming, other.naming, strict=True)))
    return places
