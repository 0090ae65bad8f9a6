"""Two encodings that began alike and went on with different rows become one of all those rows.

Knows `encoding` and the encoders of columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .column_encoders import CategoryEncoder, ColumnEncoder, NumberEncoder, TextEncoder
from .encoding import Encoding


def merge_encodings(mine: Encoding, theirs: Encoding, resolution: str = "nested") -> tuple[Encoding, NDArray[np.int64]]:
    """One encoding of what both have seen, and the column that each of `theirs` has in it, or −1.

    The columns of `mine` stay where they are, those that only `theirs` has come after them. Kinds and bins are decided
    once, from the beginning of a stream, so both must have begun with the same rows, or be copies of one encoding. A
    category that only `theirs` knows, and for which the bound leaves no room, has no column.
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
    """Raise a ValueError that says what was decided differently on settings, columns, kinds and bins, if anything."""
    if mine.settings != theirs.settings:
        raise ValueError(f"the encoders have different settings: {mine.settings} and {theirs.settings}.")
    if mine.names != theirs.names:
        raise ValueError(f"the encoders have different columns: {mine.names} and {theirs.names}.")
    for own, other in zip(mine.columns, theirs.columns, strict=True):
        if _plan(own) != _plan(other) or mine.crosses.splits.get(own.name) != theirs.crosses.splits.get(own.name):
            raise ValueError(
                f"the encoders have decided differently on column {own.name!r}. What is to be merged must begin with "
                "the same rows: let one learn the first rows, copy it, and let each copy learn a part of the others."
            )


def _plan(column: ColumnEncoder) -> tuple[object, ...]:
    if isinstance(column, NumberEncoder):
        return column.kind, *column.edges.tolist(), *column.groups.tolist(), *column.to_json().values()
    return (column.kind,)


def _added(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts, means and sums of squared distances of both (Chan, Golub and LeVeque, 1983)."""
    count = a[:, 0] + b[:, 0]
    share = np.divide(b[:, 0], count, out=np.zeros(len(count)), where=count > 0)
    gap = b[:, 1] - a[:, 1]
    return np.stack([count, a[:, 1] + gap * share, a[:, 2] + b[:, 2] + gap * gap * a[:, 0] * share], axis=1)


def _take_in(own: CategoryEncoder, other: CategoryEncoder) -> list[int]:
    """Take in the categories of the other; where each of them is, or −1 where there is no room."""
    places = []
    for name in other.names:
        if name not in own.names and len(own.names) < own.settings.max_categories:
            own.names[name] = len(own.names)
        places.append(own.names.get(name, -1))
    own.seen = np.minimum(own.seen.astype(np.int64) + other.seen, own.settings.min_count).astype(np.uint8)
    own.known_names.take_in(other.known_names)
    return places
