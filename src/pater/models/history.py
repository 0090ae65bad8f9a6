"""How the progressive scores of models developed: counts at about four points for each doubling of the stream.

Knows NumPy only. The points depend only on the number of rows, so a stream leaves the same history however it is cut
into batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FIRST_POINT = 16
GROWTH = 2.0**0.25


@dataclass
class History:
    """Counts (models, 4) of tp, fp, tn and fn after some numbers of rows."""

    rows: int = 0
    next_point: int = FIRST_POINT
    points: list[tuple[int, NDArray[np.float64]]] = field(default_factory=list)

    @classmethod
    def after(cls, rows: int) -> History:
        """The history of models that have seen `rows` rows in no single order."""
        point = FIRST_POINT
        while point <= rows:
            point = _after(point)
        return cls(rows, point)

    def copy(self) -> History:
        return History(self.rows, self.next_point, list(self.points))

    def cuts(self, n_rows: int) -> list[int]:
        """Where to stop among the next `n_rows` rows to record counts; the end is always included."""
        cuts, point = [], self.next_point
        while point < self.rows + n_rows:
            cuts.append(point - self.rows)
            point = _after(point)
        return [*cuts, n_rows]

    def passed(self, n_rows: int, counts: NDArray[np.float64]) -> None:
        """Record the counts if these rows end at a point."""
        self.rows += n_rows
        if self.rows == self.next_point:
            self.points.append((self.rows, counts))
            self.next_point = _after(self.next_point)

    def reached(self, rows: int, counts: NDArray[np.float64]) -> None:
        """Record the counts at this number of rows if the next point has been reached."""
        self.rows = rows
        if rows >= self.next_point:
            self.points.append((rows, counts.copy()))
            while self.next_point <= rows:
                self.next_point = _after(self.next_point)


def _after(point: int) -> int:
    return int(np.ceil(point * GROWTH))
