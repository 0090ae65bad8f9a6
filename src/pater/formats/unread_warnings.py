"""Warnings about columns that a model cannot read.

Knows `errors` and what an encoder reports about cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..preprocessing.encoded import Encoded
from ..preprocessing.unread_cells import Unread
from .errors import Hint, shortened

LEAST = 20  # unread cells, for it not to be a slip
LARGE_PART = 0.5  # of the cells that are not empty


class UnreadCells:
    """Counts, for one call, the cells of each column that could not be read, and warns of them at its end."""

    def __init__(self) -> None:
        self._found: dict[str, Unread] = {}
        self._rows, self._rows_of = 0, dict[str, int]()

    def add(self, unread: Mapping[str, Unread], n_rows: int) -> None:
        """Add some rows, and what an encoder could not read in them."""
        self._rows += n_rows
        for name, some in unread.items():
            self._found[name] = self._found[name] + some if name in self._found else some
            self._rows_of[name] = self._rows_of.get(name, 0) + n_rows

    def to_json(self) -> dict[str, Any]:
        """What was counted, for whoever joins it with the counts of others."""
        columns = [[name, self._rows_of[name], *each] for name, each in self._found.items()]
        return {"rows": self._rows, "columns": columns}

    def join(self, counted: Mapping[str, Any]) -> None:
        """Add what others have counted."""
        self._rows += counted["rows"]
        for name, n_rows, *fields in counted["columns"]:
            some = Unread(*fields)
            self._found[name] = self._found[name] + some if name in self._found else some
            self._rows_of[name] = self._rows_of.get(name, 0) + n_rows

    def tell(self) -> None:
        """Warn once for each column of which a large part could not be read."""
        for name, found in self._found.items():
            cells = found.cells + self._rows - self._rows_of[name]  # rows without unread cells were not counted
            if found.unread >= LEAST and found.unread > LARGE_PART * cells:
                warnings.warn(
                    f"column {shortened(name)!r}: {found.unread:,} of {cells:,} values are not {found.kind}s as the "
                    f"model learned them, such as {shortened(found.example)!r}; they count as missing.",
                    Hint,
                    stacklevel=3,
                )


def with_unread_told(encoded: Encoded) -> Encoded:
    """The same rows, after a warning about what could not be read in them."""
    unread = UnreadCells()
    unread.add(encoded.unread, len(encoded))
    unread.tell()
    return encoded
