"""Cells of a column of numbers or dates that its encoder cannot read, so that they count as missing.

Knows `columns`, `categories` and `values`. Cells that stand for a missing value count as missing too, but not as
unread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .categories import is_nothing
from .columns import Column, Numbers, Texts, Times, as_texts
from .values import NOTHING


class Unread(NamedTuple):
    """How many cells of a column cannot be read.

    kind
        What the encoder expects in the column: "number" or "date".
    cells, unread, example
        How many cells are not empty, how many of them cannot be read, and the first of these.
    missing
        How many count as missing, apart from those that every reader takes for nothing.
    """

    kind: str
    cells: int
    unread: int
    missing: int
    example: str

    def __add__(self, other: object) -> Unread:
        assert isinstance(other, Unread)
        counts = self.cells + other.cells, self.unread + other.unread, self.missing + other.missing
        return Unread(self.kind, *counts, self.example or other.example)


def unread_in(kind: str, column: Column, values: NDArray[np.float64]) -> Unread | None:
    """What an encoder of this kind, which has read these values, could not read in a column.

    None where every cell is of the expected kind, as in most columns; that check costs nothing.
    """
    if isinstance(column, Texts):
        there = column.codes >= 0
    elif isinstance(column, Times) == (kind == "date") and not (isinstance(column, Numbers) and kind == "date"):
        return None
    else:
        there = ~np.isnan(column[0])
    lost = there & np.isnan(values)
    missing = int(np.count_nonzero(lost))
    if not missing:
        return Unread(kind, int(np.count_nonzero(there)), 0, 0, "") if isinstance(column, Texts) else None
    texts = as_texts(column)
    counts = np.bincount(texts.codes[lost], minlength=len(texts.names))
    nothing = [k for k in np.flatnonzero(counts).tolist() if texts.names[k].strip().lower() in NOTHING]
    said = int(counts[nothing].sum())
    told = sum(int(counts[k]) for k in nothing if is_nothing(texts.names[k]))
    codes = texts.codes[lost]
    first = codes[~np.isin(codes, nothing)][:1]
    example = texts.names[int(first[0])] if first.size else ""
    return Unread(kind, int(np.count_nonzero(there)) - said, missing - said, missing - told, example)


def joined(parts: list[dict[str, Unread]]) -> dict[str, Unread]:
    """The unread cells of several pieces, by column."""
    found: dict[str, Unread] = {}
    for part in parts:
        for name, unread in part.items():
            found[name] = found[name] + unread if name in found else unread
    return found
