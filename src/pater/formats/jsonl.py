"""JSON lines: one object per line, in one of two shapes.

Knows `json_text`, `json_rows`, `json_labels` and `blocks`. A flat line is a row of a table, its label among its cells.
A line of a service keeps the features apart, `{"features": {…}, "label": 1}`, and may have a weight and an id; its
features may also be given by index. The line alone shows which shape it has. A line that holds only columns,
`{"columns": {…}}`, as at the beginning of a service's exported log, says what they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .batches import Batch
from .blocks import Block
from .columns import ENCODED, Columns
from .errors import Fault, InputError, listed, shortened
from .hashed_names import Seen
from .json_cells import Faults, kind_of
from .json_labels import labels_of, weights_of
from .json_rows import EVERY, RowReader
from .json_schema import LABEL, columns_of_objects, columns_of_rows, names_of
from .json_text import parsed
from .libsvm import LIMIT_OF_FEATURES
from .schema import Wishes
from .suggestions import no_column

FEATURES, WEIGHT, ID, COLUMNS = "features", "weight", "id", "columns"
_OF_A_LINE = frozenset({FEATURES, LABEL, WEIGHT, ID})
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines(NamedTuple):
    """The objects of a block, and the numbers of their lines."""

    numbers: list[int]
    rows: list[dict[str, Any]]


def is_apart(row: dict[str, Any]) -> bool:
    """Whether the features of a line are kept apart."""
    return type(row.get(FEATURES)) in (dict, list)


def is_of_columns(row: Any) -> bool:
    """Whether a line says what the columns are."""
    return type(row) is dict and len(row) == 1 and isinstance(row.get(COLUMNS), dict)


def objects(block: Block, source: str, faults: list[Fault]) -> Lines:
    """The objects of a block; lines without one are noted in `faults`, and empty lines are ignored."""
    text, found = block.text, Lines([], [])
    if block.first_line == 1:
        text = text.removeprefix(_BYTE_ORDER_MARK)
    for number, line in enumerate(text.split(b"\n"), start=block.first_line):
        if not line or line.isspace():
            continue
        try:
            row = parsed(line)
        except ValueError as error:
            faults.append(Fault(source, number, getattr(error, "colno", 0), _what(error)))
            continue
        if type(row) is not dict:
            faults.append(Fault(source, number, 0, f"a line holds one object, not {kind_of(row)}"))
        elif not is_of_columns(row):
            found.numbers.append(number)
            found.rows.append(row)
    return found


def _what(error: ValueError) -> str:
    what = getattr(error, "msg", str(error))
    return f"this is not JSON: {what.partition(': line ')[0]}"


Parts = tuple[Sequence[Any], list[Any], list[Any], list[Any]]


class JsonLinesParser:
    """Blocks of JSON lines to batches.

    With `others_ignored`, names that are not columns are ignored, as in CSV; without it, they are faults, except for
    those that the caller drops.
    """

    def __init__(
        self,
        columns: Columns,
        *,
        drop: tuple[str, ...] = (),
        others_ignored: bool = False,
        labelled: bool = True,
        keep_missing: bool = False,
        seen: Seen | None = None,
        limit: int = LIMIT_OF_FEATURES,
    ) -> None:
        self.columns, self.labelled = columns, labelled
        self._reader = RowReader(columns, keep_missing=keep_missing, seen=seen, limit=limit)
        beside = [name for name in (columns.label, columns.weight) if name is not None]
        self._ignored = EVERY if others_ignored else (*drop, *beside)

    def __call__(self, block: Block, source: str) -> Batch:
        malformed: list[Fault] = []
        lines, rows = objects(block, source, malformed)
        faults: Faults = {}
        features, labels, weights, ids = self._parts(rows, faults)
        batch = self._reader.rows(features, faults, self._ignored)
        batch.weights = weights_of(weights, faults)
        if self.labelled:
            batch.labels = self._labels(labels, faults)
        else:
            no_labels: Faults = {}
            found = self._labels(labels, no_labels)
            batch.labels = None if no_labels else found
        if any(id is not None for id in ids):
            batch.tags = ["" if id is None else str(id) for id in ids]
        batch.lines = np.array(lines, np.int64)
        batch.source, batch.end = source, block.end
        if faults:
            wrong = [Fault(source, lines[r], 0, what) for r, what in faults.items()]
            batch.take(~np.isin(np.arange(len(lines)), list(faults)))
            malformed = sorted([*malformed, *wrong], key=lambda fault: fault.line)
        batch.faults = malformed
        return batch

    def _labels(self, labels: Sequence[Any], faults: Faults) -> NDArray[Any]:
        """Labels, with truth values as such, so that a model whose classes are other numbers can refuse them."""
        numeric = self.columns.numeric_labels
        found = labels_of(labels, numeric, faults, truths=self.columns.truths)
        return found.astype(np.bool_) if numeric and {bool} == set(map(type, labels)) else found

    def _parts(self, rows: Sequence[dict[str, Any]], faults: Faults) -> Parts:
        """The features, label, weight and id of each row."""
        label, weight, nothing = self.columns.label or LABEL, self.columns.weight, [None] * len(rows)
        apart = list(map(is_apart, rows))
        if not any(apart):
            weights = nothing if weight is None else [row.get(weight) for row in rows]
            for r in (r for r, value in enumerate(weights) if weight is not None and value is None):
                faults.setdefault(r, f"the importance, {weight!r}, is missing")
            return rows, [row.get(label) for row in rows], weights, nothing
        if all(apart):
            for r, row in enumerate(rows):
                if not row.keys() <= _OF_A_LINE:
                    unknown = shortened(next(name for name in row if name not in _OF_A_LINE))
                    faults.setdefault(r, f"{unknown!r} stands beside the features, but is not a label, weight or id")
            features, labels, weights, ids = ([row.get(name) for row in rows] for name in (FEATURES, LABEL, WEIGHT, ID))
            return features, labels, weights, ids
        found: list[Parts] = []
        for r, row in enumerate(rows):
            of_row: Faults = {}
            found.append(self._parts([row], of_row))
            if of_row:
                faults[r] = of_row[0]
        features, labels, weights, ids = ([part[k][0] for part in found] for k in range(4))
        return features, labels, weights, ids


def columns_of_lines(block: Block, source: str, wishes: Wishes) -> Columns:
    """The columns of a file that begins with this block."""
    told = _columns_of_first_line(block, source)
    if told is not None and bool(wishes.encoded) == (told.kind == ENCODED):
        return told
    rows = objects(block, source, []).rows
    if not rows:
        what = f"{source}: there is no object in the first lines; JSON lines hold one in each"
        is_list = block.text.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] == b"["
        raise InputError(f"{what}: write a list as lines, for example with jq -c '.[]'." if is_list else f"{what}.")
    if is_apart(rows[0]):
        features = [row.get(FEATURES) for row in rows]
        return columns_of_rows(features, [row.get(LABEL) for row in rows], source, wishes)
    return columns_of_objects(rows, source, wishes)


def line_of_columns(columns: Columns) -> bytes:
    """A line that says what the columns of the following lines are."""
    return json.dumps({COLUMNS: columns.to_json()}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _columns_of_first_line(block: Block, source: str) -> Columns | None:
    """The columns as the first line of a file describes them, if it does."""
    try:
        row = parsed(block.text.partition(b"\n")[0])
    except ValueError:
        return None
    if not is_of_columns(row):
        return None
    try:
        return Columns.from_json(row[COLUMNS])
    except ValueError as error:
        raise InputError(f"{source}, line 1: {error}.") from None


def names_in_lines(block: Block, source: str) -> list[str]:
    """The names of the cells of a table that begins with this block, and "label" if the features are kept apart."""
    rows = objects(block, source, []).rows
    names = names_of(row[FEATURES] if is_apart(row) else row for row in rows)
    return [LABEL, *(name for name in names if name != LABEL)] if rows and is_apart(rows[0]) else names


def check_first_lines(block: Block, source: str, columns: Columns, *, labelled: bool) -> None:
    """Raise an error if a file holds another table than the one that a model has learned from."""
    names = names_in_lines(block, source)
    if labelled and columns.table and columns.label not in (None, *names) and LABEL not in names:
        raise no_column(str(columns.label), names, source, "the first lines have")
    wanted = [name for name, _ in columns.table]
    if wanted and names and not set(wanted) & set(names):
        raise InputError(
            f"{source}: none of the columns that the model learned from is there, {listed(wanted)}; the first lines "
            f"have {listed(names)}."
        )
