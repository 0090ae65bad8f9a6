"""Rows that came as JSON objects, to batches.

Knows `json_cells`, `columns`, `plain_rows`, `raw` and `row_batch`; knows no file and no service, so that a row means
the same to both. A cell is a number, a text, true, false, or null; an absent one is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from .batches import Batch, tidy
from .columns import ENCODED, INDICES, Columns
from .errors import listed, shortened
from .hashed_names import Seen
from .json_cells import Cells, Faults, cells_of, kind_of
from .libsvm import LIMIT_OF_FEATURES, TWICE
from .plain_rows import PlainRows, note
from .raw import raw_batch
from .row_batch import RowBatch, are_plain

EVERY = ("every other",)
"""Names to ignore: all that are not columns."""


class RowReader:
    """Reads rows as a model that has learned from these columns does."""

    def __init__(
        self,
        columns: Columns,
        *,
        keep_missing: bool = False,
        seen: Seen | None = None,
        limit: int = LIMIT_OF_FEATURES,
    ) -> None:
        self.columns, self.limit = columns, limit
        self.names = [name for name, _ in columns.table]
        self._kinds, self._known = dict(columns.table), frozenset(self.names)
        self._plain = PlainRows(columns, keep_missing=keep_missing, seen=seen)
        self._take = itemgetter(*self.names) if len(self.names) > 1 else None

    def rows(self, features: Sequence[Any], faults: Faults, ignored: tuple[str, ...] = ()) -> Batch:
        """A batch of rows without labels; those with faults, which are noted in `faults`, stay in it.

        Names that are `ignored` may occur, and are not features.
        """
        if self.columns.kind == INDICES:
            return index_rows(features, self.limit, faults)
        if len(features) == 1 and self.columns.kind == ENCODED:
            row = features[0]
            if type(row) is dict and row.keys() == self._known and are_plain(row.values()):
                return RowBatch.of(row, self._kinds)
        return self.table(self._cells(features, faults, ignored), len(features), faults)

    def table(self, cells: dict[str, Cells], n_rows: int, faults: Faults) -> Batch:
        """The same from a table in columns."""
        if self.columns.kind == ENCODED:
            table = {name: cells[name].raw(kind) for name, kind in self.columns.table}
            return raw_batch(table, n_rows, sum([cells[name].missing for name in table]))
        return self._plain.batch(
            n_rows, lambda name: cells[name].numbers(name, faults), lambda name: cells[name].coded(), faults
        )

    def _cells(self, features: Sequence[Any], faults: Faults, ignored: tuple[str, ...]) -> dict[str, Cells]:
        names, columns = self.names, None
        if self._take is not None and set(map(len, _sized(features))) == {len(names)}:
            try:
                columns = list(zip(*map(self._take, features), strict=True))
            except (KeyError, TypeError):
                columns = None
        if columns is None:
            known = None if ignored is EVERY else self._known.union(ignored)
            features = [self._checked(row, r, known, faults) for r, row in enumerate(features)]
            columns = [tuple(row.get(name) for row in features) for name in names]
        kinds = self._kinds
        return {name: cells_of(values, name, faults, kinds[name]) for name, values in zip(names, columns, strict=True)}

    def _checked(self, row: Any, r: int, known: frozenset[str] | None, faults: Faults) -> dict[str, Any]:
        if not isinstance(row, dict):
            faults.setdefault(r, f"the features are {kind_of(row)}, but the model learns from columns by name")
            return {}
        if known is not None and not row.keys() <= known:
            unknown = next(name for name in row if name not in known)
            faults.setdefault(
                r, f"there is no column {shortened(unknown)!r}; the model learns from {listed(self.names)}"
            )
        return row


def _sized(features: Sequence[Any]) -> Iterable[Any]:
    return (row if type(row) is dict else () for row in features)


def index_rows(features: Sequence[Any], limit: int, faults: Faults) -> Batch:
    """Rows of indices and values, in pairs or as two lists."""
    sizes, indices, values = [], list[Any](), list[Any]()
    for r, row in enumerate(features):
        own, theirs, what = _pairs(row)
        what = what or _wrong_pair(own, theirs, limit)
        if what:
            faults.setdefault(r, what)
            own, theirs = [], []
        sizes.append(len(own))
        indices += own
        values += theirs
    indptr = np.zeros(len(sizes) + 1, np.uint32)
    np.cumsum(sizes, out=indptr[1:])
    columns, data = np.array(indices, np.uint32), np.array(values, np.float64)
    largest = int(columns.max(initial=0)) if columns.size else -1
    codes = np.zeros(len(sizes), np.uint8)
    tidy(indptr, columns, data, codes, TWICE, TWICE)
    note(faults, codes, "a feature index is given twice")
    filled = int(indptr[-1])
    return Batch((indptr, columns[:filled], data[:filled]), largest + 1, None)


def _pairs(row: Any) -> tuple[list[Any], list[Any], str | None]:
    if isinstance(row, list):
        if all(type(pair) is list and len(pair) == 2 for pair in row):
            return [pair[0] for pair in row], [pair[1] for pair in row], None
        return [], [], "features must be pairs [index, value]"
    if isinstance(row, dict) and row.keys() == {"indices", "values"}:
        own, theirs = row["indices"], row["values"]
        if not isinstance(own, list) or not isinstance(theirs, list):
            return [], [], "indices and values must be lists"
        if len(own) != len(theirs):
            return [], [], f"there are {len(own)} indices, but {len(theirs)} values"
        return own, theirs, None
    return [], [], "features must be pairs [index, value], or an object of the lists indices and values"


def _wrong_pair(indices: list[Any], values: list[Any], limit: int) -> str | None:
    if not set(map(type, indices)) <= {int}:
        return "a feature index is a whole number"
    if indices and not 0 <= min(indices) <= max(indices) < limit:
        wrong = next(index for index in indices if not 0 <= index < limit)
        return (
            f"the feature index {wrong} is not from 0 to {limit - 1}" if abs(wrong) < 1e18 else "an index is too large"
        )
    if not set(map(type, values)) <= {int, float}:
        wrong = next(value for value in values if type(value) not in (int, float))
        return f"the value of a feature is a number, not {kind_of(wrong)}"
    try:
        sound = bool(np.isfinite(np.array(values, np.float64)).all())
    except OverflowError:
        sound = False
    return None if sound else "the value of a feature is too large"
