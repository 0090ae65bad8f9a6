"""When the label of each row became known, according to a column of the table.

Knows `raw` batches and how their columns are read. The clock of the stream is the time of its rows, also a column, or
their number. The column with the times of labels is removed before learning, since it reveals the future.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..formats.columns import ENCODED, Columns
from ..formats.errors import InputError, listed
from ..formats.raw import RawBatch
from ..preprocessing.columns import Column, Numbers, Texts, Times
from ..preprocessing.values import NOTHING, moments_in

TIMES, NUMBERS = "times", "numbers"
EPOCH = 1e8  # a number of rows is not so large, but seconds since 1970 are


class LabelTimes:
    """Reads `label`, the column that says when a label became known, and `time`, the time of the row itself."""

    def __init__(self, columns: Columns, label: str, time: str | None) -> None:
        if columns.kind != ENCODED:
            raise InputError("a delay given by a column needs an encoded table; a number of rows works with any data.")
        names = [name for name, _ in columns.table]
        for name in (label, time):
            if name is not None and name not in names:
                raise InputError(f"there is no column {name!r} beside the label; choose from {listed(names)}.")
        if label == time:
            raise InputError(f"column {label!r} cannot be the time of a row and that of its label.")
        self._label, self._time, self._kind = label, time, ""
        self._rows, self._clock = 0, -np.inf
        self._read: deque[tuple[int, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = deque()

    def over(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches without the column of label times, which are kept for `of`."""
        for batch in batches:
            assert isinstance(batch, RawBatch)
            if len(batch):
                self._begin(batch)
                n = len(batch)
                known = self._moments(batch, self._label)
                if self._time is None:
                    now = np.arange(self._rows + 1.0, self._rows + n + 1)
                else:  # a row without a time comes when the one before it does
                    times = np.fmax.accumulate(np.append(self._clock, self._moments(batch, self._time)))
                    now, self._clock = times[1:], float(times[-1])
                self._rows += n
                self._read.append((batch.source_number, batch.lines, now, known))
            batch.table = {name: column for name, column in batch.table.items() if name != self._label}
            yield batch

    def of(self, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The times of rows and of their labels, for the rows from `over`, in order; NaN for never."""
        first = batch.line_of(0)
        while self._read[0][0] != batch.source_number or self._read[0][1][-1] < first:
            self._read.popleft()
        _, lines, now, known = self._read[0]
        places = np.searchsorted(lines, batch.lines)
        return now[places], known[places]

    def _begin(self, batch: RawBatch) -> None:
        """Decide from the first rows what the times are, and which column has those of rows."""
        if self._kind:
            return
        self._kind = _kind_of(batch.table[self._label])
        if not self._kind:
            raise InputError(
                f"{batch.source}: column {self._label!r} holds neither numbers nor dates; --delay takes a "
                "number of rows, or the column that says when a label became known."
            )
        others = [name for name, column in batch.table.items() if name != self._label]
        if self._kind == TIMES and self._time is None:
            found = [name for name in others if _kind_of(batch.table[name]) == TIMES]
            if len(found) != 1:
                seen = f"columns {listed(found)} hold dates" if found else "no other column holds dates"
                raise InputError(
                    f"{batch.source}: column {self._label!r} holds dates; name with --time the column with the time of "
                    f"a row ({seen})."
                )
            self._time = found[0]
        if self._time is not None and _kind_of(batch.table[self._time]) != self._kind:
            raise InputError(
                f"{batch.source}: one of the columns {self._label!r} and {self._time!r} holds dates, but the other "
                "does not; they must be of the same kind."
            )
        moments = self._moments(batch, self._label)
        if self._time is None and np.nanmin(moments, initial=np.inf) > EPOCH and not np.isnan(moments).all():
            raise InputError(
                f"{batch.source}: column {self._label!r} holds numbers as large as times; without --time, the column "
                "with the time of each row, they are row numbers."
            )

    def _moments(self, batch: RawBatch, name: str) -> NDArray[np.float64]:
        """A column as numbers or as seconds since 1970; what is neither, nor missing, is an error."""
        column = batch.table[name]
        if _kind_of(column) != self._kind:
            what = "a date" if self._kind == TIMES else "a number"
            row = next(k for k in range(len(batch)) if not _fits(column, k, self._kind))
            raise InputError(
                f"{batch.source}, {batch.unit} {batch.line_of(row)}: column {name!r} does not hold {what}."
            )
        if isinstance(column, Texts):
            return np.array([*moments_in(column.names), np.nan])[column.codes]
        return column[0]


def _kind_of(column: Column) -> str:
    """What a column holds where it is not missing: times, numbers, or neither."""
    if not isinstance(column, Texts):
        return NUMBERS if isinstance(column, Numbers) else TIMES
    return TIMES if all(_fits(column, row, TIMES) for row in np.unique(column.codes, return_index=True)[1]) else ""


def _fits(column: Column, row: int, kind: str) -> bool:
    if not isinstance(column, Texts):
        return isinstance(column, Numbers if kind == NUMBERS else Times)
    text = column.names[column.codes[row]] if column.codes[row] >= 0 else ""
    return text.strip().lower() in NOTHING or (kind == TIMES and not np.isnan(moments_in([text])[0]))
