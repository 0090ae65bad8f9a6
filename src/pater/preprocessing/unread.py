"""What a column of numbers or dates holds that its encoder cannot read, so that it counts as missing.

Knows `columns`, `categories` and `values`. Cells that say that nothing is there are no such thing, but count as
missing, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .categories import is_nothing
from .columns import Column, Numbers, Texts, Times, as_texts
from .values import NOTHING


class Unread(NamedTuple):
    """Of some cells that hold something, how many cannot be read.

    kind
        What the column holds by the encoder: "number" or "date".
    cells, unread, example
        How many cells are not empty, how many of them say something that cannot be read, and the first of these.
    missing
        How many count as missing beside those that every reader takes for nothing.
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
    """What cannot be read of a column, of which an encoder of this kind has read these values.

    None where every cell is of the kind that is wanted, as most columns are, which costs nothing.
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
    """What cannot be read of several pieces, by column."""
    found: dict[str, Unread] = {}
    for part in parts:
        for name, unread in part.items():
            found[name] = found[name] + unread if name in found else unread
    return found
