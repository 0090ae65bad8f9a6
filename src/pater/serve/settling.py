"""What the columns of rows are: those of the model, or settled by the first rows of a service that began without one.

Knows `rows`. Names are settled by the first request that names features, and whether labels are numbers by the first
label. What was settled goes into the log with the request that has settled it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..formats.columns import Columns
from .errors import Refusal
from .rows import Rows, rows_of_arrow, rows_of_json, settled_by
from .transaction import Transaction

COLUMNS, LABELS_KNOWN = "columns", "labels_known"


class Settling:
    """The columns, as far as they are settled."""

    def __init__(self, columns: Columns | None, labels_known: bool, labels: set[Any], plain: dict[str, Any]) -> None:
        self.columns, self._labels_known, self._labels = columns, labels_known, labels
        self._plain = plain  # how tables are taken: encoded, hashed or as numbers
        self._is_news = False

    def rows_of(self, body: Any, *, labelled: bool, arrow: bool, **limits: Any) -> Rows:
        """The rows of a request, checked; the first ones settle the columns."""
        columns = self.columns
        if columns is None:
            columns = settled_by(body, arrow=arrow, **self._plain)
        if labelled and not self._labels_known:
            columns = replace(columns, numeric_labels=None)
        read = rows_of_arrow if arrow else rows_of_json
        rows = read(body, columns, labelled=labelled, **limits)
        if self.columns is None:
            self.columns, self._is_news = columns, True
        return rows
