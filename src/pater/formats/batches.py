"""What every format becomes: rows, labels, importances, and the place of each row in its source.

Knows NumPy, `labels`, and `rows` in the form that the passes read.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import allocating, exact_kernel, kernel
from ..kernels.doors import check_lengths, check_rows, checked
from ..kernels.rows import count, square
from ..kernels.run import NOTHING, Rows
from ..models.labels import is_text
from ..models.matrices import SURELY_TAKEN, number_of_rows, taken
from ..models.row_weights import WEIGHTS_WANTED, first_unsound_weight
from ..models.truth import are_no_truths, as_known, truth_in
from ..preprocessing.unread_cells import Unread
from .blocks import START, Place
from .errors import Fault, InputError
from .hashed_names import News

OVERFLOW = "numbers that are hashed to the same column add up to infinity; scale the features"
LARGEST_TO_SCALE = 1e150
TOO_LARGE_TO_SCALE = "a number of it is too large to square; give the feature in another unit"
NO_LINES = np.zeros(0, np.int64)


@dataclass
class Batch:
    """Some rows of one source, in its order.

    `labels` is None where a source has none. `weights` is empty where every row has importance 1. `faults` are the
    malformed lines among the rows, which are not in `rows`; `missing` counts the missing values, and `zeroed` says that
    they are 0 in a table of numbers, instead of NaN.
    """

    rows: Rows
    n_features: int
    labels: NDArray[Any] | None
    weights: NDArray[np.float64] = field(default_factory=lambda: NOTHING)
    tags: list[str] | None = None
    source: str = ""
    source_number: int = 0
    lines: NDArray[np.int64] = field(default_factory=lambda: NO_LINES)
    unit: str = "line"  # what `lines` counts; "row" in a file without lines
    faults: list[Fault] = field(default_factory=list)
    missing: int = 0
    end: Place = START
    news: News | None = None  # names behind hashed columns that were not known yet
    zeroed: bool = False
    small: bool = False  # whether its numbers are known to be small, as an encoder made them
    unread: dict[str, Unread] = field(default_factory=dict)  # cells that an encoder could not read, counted as missing

    def __len__(self) -> int:
        return number_of_rows(self.rows)

    @property
    def X(self) -> Any:  # noqa: N802
        """The rows as a NumPy array, or as a SciPy CSR array."""
        if len(self.rows) == 1:
            return self.rows[0]
        from scipy.sparse import csr_array

        indptr, indices, data = self.rows
        return csr_array(
            (data, indices.view(np.int32), indptr.view(np.int32)), shape=(len(self), self.n_features), copy=False
        )

    def line_of(self, row: int) -> int:
        """The line of a row in its source, or its place in the batch where lines are not known."""
        return int(self.lines[row]) if self.lines.size else int(row) + 1

    def check_form(self, *, to_scale: bool) -> None:
        """Raise an error if the rows are not sound or not as wide as `n_features` says. Sparse rows are scanned once.

        A scaling learner takes missing values for the mean, so with `to_scale` it is an error if they are already 0.
        """
        if to_scale and self.zeroed:
            raise InputError(
                f"{self.source}: values are missing and were read as 0, but a learner that scales takes them for the "
                "mean of their column; read the rows with keep_missing=True."
            )
        try:
            rows = check_rows(self.rows, self.n_features)
        except ValueError as error:
            raise InputError(f"{self.source}: {error}") from None
        self.rows = rows if len(rows) == 1 else checked(rows, self.n_features)

    def check_to_learn(self, classes: NDArray[Any], width: int) -> None:
        """Raise an error if labels or importances do not fit the rows, or a model of these classes and this width."""
        if self.labels is None:
            raise InputError(f"{self.source}: the rows have no labels to learn from.")
        try:
            check_lengths(self.rows, self.labels, self.weights)
        except ValueError as error:
            raise InputError(f"{self.source}: {error}") from None
        row = first_unsound_weight(self.weights) if self.weights.size else -1
        if row >= 0:
            raise InputError(
                f"{self.source}, line {self.line_of(row)}: the importance must be {WEIGHTS_WANTED}, "
                f"got {self.weights[row]}."
            )
        self.check_labels(classes)
        if len(self.rows) == 1 and self.n_features < width:
            raise InputError(f"{self.source}: the rows have {self.n_features} columns, but the model has {width}.")

    def check_labels(self, classes: NDArray[Any]) -> None:
        """Raise an error if labels and a model's classes differ in kind; truth values go with 0 and 1 only.

        Truth values are changed to the spelling of the classes. Where these are words, 0 and 1 are an error, too.
        """
        if not classes.size or self.labels is None or not self.labels.size:
            return
        is_other = self.labels.dtype.kind == "b" and not is_text(classes) and are_no_truths(classes)
        if is_other or is_text(classes) != is_text(self.labels):
            told = f"{self.labels[:1].tolist()[0]!r}, but the classes so far are {classes.tolist()}"
            raise InputError(f"{self.source}, {self.unit} {self.line_of(0)}: the label is {told}.")
        self.labels = as_known(self.labels, classes)
        if classes.size == 2 and is_text(classes) and {truth_in(label) for label in classes.tolist()} == {False, True}:
            numbers = (self.labels == "0") | (self.labels == "1")
            if numbers.any():
                row = int(np.argmax(numbers))
                told = f"{self.labels[row]!r}, but the classes so far are {classes.tolist()}: write all labels alike"
                raise InputError(f"{self.source}, {self.unit} {self.line_of(row)}: the label is {told}.")

    def refuse(self, bad: NDArray[np.bool_], why: str, *, skip: bool) -> list[Fault]:
        """Raise an error for the first bad row; with `skip`, take all bad rows out and return them as faults."""
        if not bad.any():
            return []
        faults = [Fault(self.source, self.line_of(r), 0, why, self.unit) for r in np.flatnonzero(bad).tolist()]
        if not skip:
            raise InputError(str(faults[0]))
        self.take(~bad)
        return faults

    def that_weighs(self) -> Batch:
        """The rows whose importance is not 0; this batch itself if that is all of them."""
        if not self.weights.size or self.weights.all() or self.weights.shape != (len(self),):
            return self
        kept = copy(self)
        kept.take(self.weights != 0)
        return kept

    def take(self, keep: NDArray[np.bool_]) -> None:
        """Keep only these rows."""
        self.rows = taken(self.rows, keep)
        if self.labels is not None:
            self.labels = self.labels[keep]
        if self.weights.size:
            self.weights = self.weights[keep]
        if self.tags is not None:
            self.tags = [tag for tag, kept in zip(self.tags, keep.tolist(), strict=True) if kept]
        if self.lines.size:
            self.lines = self.lines[keep]


@exact_kernel
@allocating
def tidy(indptr, indices, data, codes, twice, not_finite):
    """Sort the entries of each row by column, in place.

    Entries of the same column are added up; or, if `twice` is not 0, it becomes the code of the row. A sum that
    overflows gives the row the code `not_finite`.
    """
    place = 0
    start = np.int64(indptr[0])
    scratch, values = np.empty(64, np.uint64), np.empty(64)
    for r in range(indptr.size - 1):
        end = np.int64(indptr[r + 1])
        if end - start > scratch.size:
            scratch, values = np.empty(2 * (end - start), np.uint64), np.empty(2 * (end - start))
        order = scratch[: end - start]
        for k in range(end - start):
            values[k] = data[start + k]
            order[k] = (np.uint64(indices[start + k]) << np.uint64(32)) | np.uint64(k)
        order.sort()
        last = np.int64(-1)
        for k in range(end - start):
            column = np.int64(order[k] >> np.uint64(32))
            value = values[np.int64(order[k] & np.uint64(0xFFFFFFFF))]
            if column == last:
                data[place - 1] += value
                if twice != 0:
                    codes[r] = twice
                elif not np.isfinite(data[place - 1]):
                    codes[r] = not_finite
            else:
                indices[place] = column
                data[place] = value
                place += 1
                last = column
        start = end
        indptr[r + 1] = place


def too_large(rows: Rows) -> NDArray[np.bool_]:
    """Which rows are too large for any pass."""
    bad = np.zeros(number_of_rows(rows), np.bool_)
    _mark_too_large(tuple(rows), bad)
    return bad


def too_large_to_scale(rows: Rows) -> NDArray[np.bool_]:
    """Which rows hold a number too large to square; missing ones are not."""
    bad = np.zeros(number_of_rows(rows), np.bool_)
    far = np.abs(rows[-1]) > LARGEST_TO_SCALE
    if far.any():
        bad |= far.any(axis=1) if len(rows) == 1 else np.isin(np.arange(bad.size), _rows_of(rows, far))
    return bad


def _rows_of(rows: Rows, there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The rows in which these entries of sparse rows are."""
    return np.searchsorted(rows[0].astype(np.int64), np.flatnonzero(there), side="right") - 1


@kernel
def _mark_too_large(rows, bad):
    for i in range(count(rows)):
        bad[i] = not square(rows, i) <= SURELY_TAKEN
