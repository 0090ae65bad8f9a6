"""Rows of a request, checked and ready to be learned or predicted, and in the form in which the log keeps them.

Knows `formats/json_rows.py`, with which `pater train` reads exported rows, so that both give the same bits. If one row
of a request is wrong, nothing is taken of it: a `Refusal` names the rows that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import orjson

from ...formats.batches import Batch
from ...formats.columns import Columns
from ...formats.errors import InputError
from ...formats.hashed_names import Seen
from ...formats.json_cells import Faults
from ...formats.json_labels import label_of as json_label_of
from ...formats.json_labels import labels_of, weights_of
from ...formats.json_rows import EVERY, RowReader
from ...formats.json_schema import columns_of_rows, names_of
from ...formats.reading import MOST_NAMED_BITS
from ...formats.schema import Wishes
from ..errors import Refusal
from .bodies import LIMITS, Limits, Parts, check_names, refuse, rows_in, split
from .kinds import ARROW, JSON

SOURCE = "the request"
A_CELL = 16  # bytes that a cell takes in the log, roughly
DEFAULT_WISHES = Wishes(encoded=True)


@dataclass
class Rows:
    """Some rows.

    batch
        The rows as a learner or an encoder takes them; with labels and importances if they are to be learned.
    columns
        The columns as which they were read.
    ids
        For each row its id, or None.
    given
        The features of each row as they came.
    labels, weights
        For each row, or None; labels are whole numbers or text, as the columns say.
    truths
        The places of labels that came as true or false, and are taken for 1 and 0.
    arrow
        The Arrow stream in which they came, if they did.
    reader
        The object that decided the columns: if it has been replaced by the time the rows are learned, they are read
        again.
    """

    batch: Batch
    columns: Columns
    ids: list[str | None]
    given: Sequence[Any] = field(repr=False)
    labels: Sequence[Any] = field(repr=False)
    weights: Sequence[Any] = field(repr=False)
    truths: list[int] = field(default_factory=list, repr=False)
    arrow: bytes | None = field(default=None, repr=False)
    reader: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def features(self) -> list[bytes]:
        """The features of each row as JSON text."""
        return [orjson.dumps(row) for row in self.given]

    @cached_property
    def content(self) -> bytes:
        """The rows as the log keeps them."""
        return self.logged()[1]

    @property
    def size(self) -> int:
        """Roughly how many bytes the rows take in the log."""
        return A_CELL * len(self) * (2 + len(self.columns.table)) if self.arrow is None else len(self.arrow)

    def logged(self, places: Sequence[int] | None = None) -> tuple[str, bytes]:
        """The kind and the content of a log entry for these rows, or for those at some places."""
        if self.arrow is not None and (places is None or len(places) == len(self)):
            return ARROW, self.arrow
        parts: Any = self.given, self.labels, self.weights, self.ids
        if places is not None:
            parts = tuple([part[place] for place in places] for part in parts)
        return JSON, _lines([_line(*row) for row in zip(*parts, strict=True)])


def _lines(rows: list[dict[str, Any]]) -> bytes:
    """Rows as lines of JSON, dumped in one call; nothing inside a row looks like the beginning of the next."""
    if not rows:
        return b""
    return orjson.dumps(rows)[1:-1].replace(b'},{"features":', b'}\n{"features":') + b"\n"


def _line(features: Any, label: Any, weight: Any, id: str | None) -> dict[str, Any]:
    line = {"features": features, "label": label}
    if weight is not None:
        line["weight"] = weight
    if id is not None:
        line["id"] = id
    return line


def line_of(features: bytes, label: Any, weight: float | None = None, id: str | None = None) -> bytes:
    """A line of the log, from features as JSON text and the label that came for them."""
    return orjson.dumps(_line(orjson.Fragment(features), label, weight, id), option=orjson.OPT_APPEND_NEWLINE)


def rows_of_json(
    body: Any,
    columns: Columns | None,
    *,
    labelled: bool,
    wishes: Wishes = DEFAULT_WISHES,
    limits: Limits = LIMITS,
    keep_missing: bool = False,
) -> Rows:
    """The rows of a parsed body; those to learn from are `labelled`.

    If `columns` is None, the rows themselves settle what the columns are. `keep_missing` is for learners that scale
    (`learner.scale`). A `Refusal` says what is wrong.
    """
    faults: Faults = {}
    parts = split(rows_in(body, limits), labelled, limits, faults)
    columns = columns or _settled(parts, wishes, limits, faults)
    reader = reader_of(columns, labelled, keep_missing, limits.features)
    batch = reader.rows(parts.features, faults, wishes.drop)
    return finished(batch, columns, parts, faults, labelled=labelled)


def finished(
    batch: Batch, columns: Columns, parts: Parts, faults: Faults, *, labelled: bool, arrow: bytes | None = None
) -> Rows:
    """Complete the rows of a batch with labels, weights and ids; a `Refusal` if one is wrong."""
    labels: Sequence[Any] = parts.labels
    truths: list[int] = []
    if labelled:
        truths = truths_among(parts.labels, columns)
        batch.labels = labels_of(parts.labels, columns.numeric_labels, faults)
        batch.weights = weights_of(parts.weights, faults)
        labels = batch.labels.tolist()
    refuse(faults)
    batch.source, batch.unit = SOURCE, "row"
    return Rows(batch, columns, parts.ids, parts.features, labels, parts.weights, truths, arrow)


def rows_of_log(kind: str, content: bytes, columns: Columns, *, keep_missing: bool = False) -> Rows:
    """The rows of a log entry, as they were when they came; an `InputError` if they cannot be learned.

    Names that are not columns are ignored: they were dropped, or belong to another model.
    """
    wishes, limits = replace(DEFAULT_WISHES, drop=EVERY), replace(LIMITS, rows=1 << 62, columns=1 << 62)
    more: dict[str, Any] = {"labelled": True, "wishes": wishes, "limits": limits, "keep_missing": keep_missing}
    try:
        if kind == ARROW:
            from .arrow_rows import rows_of_arrow

            return rows_of_arrow(content, columns, **more)
        return rows_of_json({"rows": [orjson.loads(line) for line in content.split(b"\n") if line]}, columns, **more)
    except Refusal as error:
        raise InputError(error.reason) from None


def lines_of_log(kind: str, content: bytes, columns: Columns) -> bytes:
    """A log entry as lines of JSON, from which `pater train` learns the same bits."""
    if kind == JSON:
        return content
    rows = rows_of_log(kind, content, columns)
    told = zip(rows.features, rows.labels, rows.weights, rows.ids, strict=True)
    return b"".join([line_of(*each) for each in told])


def label_of(value: Any, columns: Columns) -> int | str:
    """The label that a JSON value means; a ValueError says why it is not a label."""
    label, what = json_label_of(value, columns.numeric_labels)
    if label is None:
        raise ValueError(what)
    return label


def truths_among(labels: Sequence[Any], columns: Columns) -> list[int]:
    """The places of labels that are true or false, where labels are numbers."""
    is_there = columns.numeric_labels and bool in set(map(type, labels))
    return [place for place, label in enumerate(labels) if type(label) is bool] if is_there else []


@lru_cache(maxsize=8)
def reader_of(columns: Columns, labelled: bool, keep_missing: bool, limit: int) -> RowReader:
    """A cached reader. The names that it reports for hashed columns do not depend on what it read before."""
    seen = Seen(columns.bits) if labelled and 0 < columns.bits <= MOST_NAMED_BITS else None
    return RowReader(columns, keep_missing=keep_missing, seen=seen, limit=limit)


def _settled(parts: Parts, wishes: Wishes, limits: Limits, faults: Faults) -> Columns:
    if not parts.features:
        raise Refusal(422, "there are no rows to learn the columns from.")
    refuse(faults)
    check_names(names_of(parts.features), limits)
    try:
        return columns_of_rows(parts.features, parts.labels, SOURCE, wishes)
    except InputError as error:
        raise Refusal(422, str(error)) from None
