"""How many rows had each thing that an output column can stand for.

Knows the kernels. Counts are whole numbers and are added, so that no cut of a stream and no order of merging changes
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .encoding_kernels import count_rows

Whole = NDArray[np.int64]


@dataclass
class Counts:
    """Rows by what they had.

    bins
        By column of numbers and fine bin, (columns, most bins of any).
    indicators
        By the number of the indicator.
    """

    bins: Whole
    indicators: Whole

    @classmethod
    def none(cls, n_columns: int, most_bins: int) -> Counts:
        """Those of no row."""
        return cls(np.zeros((n_columns, most_bins), np.int64), np.zeros(0, np.int64))

    def note(self, bins: NDArray[np.int16], places: NDArray[np.int32], tokens: Whole, known: int) -> None:
        """Add rows: their bins (rows, columns), their indicators (rows, slots) and tokens, where −1 is nothing."""
        if known > self.indicators.size:
            self.indicators = np.concatenate([self.indicators, np.zeros(known - self.indicators.size, np.int64)])
        count_rows(bins, places, tokens, self.bins, self.indicators)

    def merged(self, other: Counts, places: Whole, known: int) -> Counts:
        """Those of both; `places` says which indicator each of the other's is, or −1 if it is none."""
        indicators = np.zeros(known, np.int64)
        indicators[: self.indicators.size] = self.indicators
        there = places >= 0
        np.add.at(indicators, places[there], other.indicators[there])
        return Counts(self.bins + other.bins, indicators)

    def copy(self) -> Counts:
        return Counts(self.bins.copy(), self.indicators.copy())
