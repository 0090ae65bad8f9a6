"""Shards of a stream, encoded alike: each starts as a copy of one encoding that has already seen some rows.

Knows `encoding`, `encoding_merge` and the encoders of columns. The rows that the encoding began with come again, each
in its shard. Their counts are subtracted at the end of a shard, so that merging any number of shards counts every row
once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .column_encoders import CategoryEncoder
from .columns import Table, concatenated, rows_in
from .counts import Counts
from .encoding import Encoding
from .encoding_merge import check_alike
from .settings import EncodingSettings


def begun_with(tables: Sequence[Table], settings: EncodingSettings) -> Encoding:
    """The encoding that every shard starts from, decided from some rows of the stream.

    The counters of texts that are too rare for a place of their own go back to 0: they are counted when they come
    again.
    """
    some = [table for table in tables if rows_in(table)]
    if not some:
        raise ValueError("there are no rows to learn an encoding from.")
    for table in some:
        if list(table) != list(some[0]):
            raise ValueError(f"the table has the columns {list(table)}, but the rows before had {list(some[0])}.")
    encoding = Encoding.begun(concatenated(some), settings)
    for column in encoding.columns:
        if isinstance(column, CategoryEncoder):
            column.seen[column.seen < settings.min_count] = 0
    return encoding


def without(encoding: Encoding, begun: Encoding) -> Encoding:
    """The encoding with only what it has counted since it started as a copy of `begun`.

    Kinds, bins, categories, names and the places of columns stay. A counter of texts that has reached `min_count` stays
    too: counters stop there, so they do not show what came since. Raises a ValueError if the encoding did not start as
    a copy of `begun`.
    """
    check_alike(encoding, begun)
    started = encoding.rows >= begun.rows and encoding.known >= begun.known
    known = begun.places >= 0
    if not started or not np.array_equal(encoding.places[known], begun.places[known]):
        raise ValueError("the encoder did not start as a copy of the one to be subtracted.")
    result = encoding.copy()
    result.rows -= begun.rows
    result.moments = _less(encoding.moments, begun.moments)
    result.crosses.rows = encoding.crosses.rows - begun.crosses.rows
    result.counts = None
    if encoding.counts is not None and begun.counts is not None:
        indicators = encoding.counts.indicators.copy()
        indicators[: begun.known] -= begun.counts.indicators
        result.counts = Counts(encoding.counts.bins - begun.counts.bins, indicators)
    for column, first in zip(result.columns, begun.columns, strict=True):
        if isinstance(column, CategoryEncoder) and isinstance(first, CategoryEncoder):
            reached = column.seen == column.settings.min_count
            column.seen = np.where(reached, column.seen, column.seen - first.seen).astype(np.uint8)
    return result


def _less(whole: NDArray[np.float64], part: NDArray[np.float64]) -> NDArray[np.float64]:
    """The counts, means and sums of squared distances of `whole` without `part`: the inverse of adding it."""
    count = whole[:, 0] - part[:, 0]
    there = count > 0
    zeros = np.zeros(len(count))
    gap = whole[:, 1] - part[:, 1]
    mean = whole[:, 1] + gap * np.divide(part[:, 0], count, out=zeros.copy(), where=there)
    between = gap * gap * whole[:, 0] * np.divide(part[:, 0], count, out=zeros.copy(), where=there)
    square = np.where(count > 1, np.maximum(whole[:, 2] - part[:, 2] - between, 0.0), 0.0)
    return np.stack([count, np.where(there, mean, 0.0), square], axis=1)
