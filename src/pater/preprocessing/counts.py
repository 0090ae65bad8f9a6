"""Counts of rows by bin and by indicator.

Knows the kernels. Counts are whole numbers that are only added, so they do not depend on how a stream is cut or in
which order shards are merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .encoding_kernels import count_rows

Whole = NDArray[np.int64]


@dataclass
class Counts:
    """Numbers of rows.

    bins
        By column of numbers and fine bin, (columns, most bins of any column).
    indicators
        By the number of the indicator.
    """

    bins: Whole
    indicators: Whole

    @classmethod
    def none(cls, n_columns: int, most_bins: int) -> Counts:
        """The counts before any row."""
        return cls(np.zeros((n_columns, most_bins), np.int64), np.zeros(0, np.int64))

    def note(self, bins: NDArray[np.int16], places: NDArray[np.int32], tokens: Whole, known: int) -> None:
        """Count rows by their bins (rows, columns), their indicators (rows, slots) and their tokens; −1 is nothing."""
        if known > self.indicators.size:
            self.indicators = np.concatenate([self.indicators, np.zeros(known - self.indicators.size, np.int64)])
        count_rows(bins, places, tokens, self.bins, self.indicators)

    def merged(self, other: Counts, places: Whole, known: int) -> Counts:
        """The sum of both; `places` maps each indicator of `other` to one of the result, or −1 if it has none."""
        indicators = np.zeros(known, np.int64)
        indicators[: self.indicators.size] = self.indicators
        there = places >= 0
        np.add.at(indicators, places[there], other.indicators[there])
        return Counts(self.bins + other.bins, indicators)

    def copy(self) -> Counts:
        return Counts(self.bins.copy(), self.indicators.copy())
