"""Whether the algorithms differ: ranks, the Friedman test and the Nemenyi test (Demšar, 2006).

Pure functions of a table of scores, with a row per data set and a column per algorithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
from scipy import stats

SIGNIFICANCE = 0.05
FEW = 10  # data sets: with fewer, a signed-rank test can hardly say anything


class Comparison(NamedTuple):
    """The outcome of both tests."""

    mean_ranks: pd.Series  # best first
    n_sets: int
    chi_squared: float
    p_value: float
    critical_distance: float
    groups: list[list[str]]  # the largest groups of algorithms that the Nemenyi test cannot tell apart


def ranks(scores: pd.DataFrame, *, best_is_largest: bool) -> pd.DataFrame:
    """1 for the best of each row; ties share the mean of their places."""
    return scores.rank(axis=1, ascending=not best_is_largest, method="average")


def compare(scores: pd.DataFrame, *, best_is_largest: bool) -> Comparison:
    """Both tests at the 5 % level."""
    ranked = ranks(scores, best_is_largest=best_is_largest)
    n, k = scores.shape
    statistic, p_value = stats.friedmanchisquare(*(ranked[name] for name in ranked)) if n > 1 else (0.0, 1.0)
    distance = critical_distance(k, n)
    mean_ranks = ranked.mean().sort_values(kind="stable")
    return Comparison(mean_ranks, n, float(statistic), float(p_value), distance, groups(mean_ranks, distance))


def critical_distance(n_algorithms: int, n_sets: int) -> float:
    """How far apart two mean ranks must be to differ by the Nemenyi test: q/√2 · √(k(k + 1)/(6n))."""
    q = stats.studentized_range.ppf(1 - SIGNIFICANCE, n_algorithms, np.inf)
    return float(q / np.sqrt(2) * np.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_sets)))


def groups(mean_ranks: pd.Series, distance: float) -> list[list[str]]:
    """The maximal runs of the sorted mean ranks that span at most `distance`."""
    names, values = list(mean_ranks.index), mean_ranks.to_numpy()
    found: list[list[str]] = []
    reached = 0
    for first in range(len(names)):
        last = int(np.searchsorted(values, values[first] + distance, side="right"))
        if last - first > 1 and last > reached:
            found.append(names[first:last])
            reached = last
    return found


def signed_ranks(scores: pd.DataFrame, name: str) -> pd.Series:
    """p-values of Wilcoxon's test of one algorithm against each other one, corrected for their number (Holm, 1979).

    NaN where the two differ on fewer than `FEW` data sets.
    """
    differences = scores.drop(columns=name).sub(scores[name], axis=0)
    tested = differences.loc[:, (differences != 0).sum() >= FEW]
    p_values = pd.Series({other: float(stats.wilcoxon(tested[other]).pvalue) for other in tested}, dtype=float)
    ordered = p_values.sort_values()
    corrected = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1.0)
    return corrected.reindex(differences.columns)


def rank_lines(compared: dict[str, Comparison]) -> pd.DataFrame:
    """A line for each comparison and algorithm."""
    return pd.DataFrame(
        [
            {
                "comparison": name,
                "algorithm": algorithm,
                "mean_rank": rank,
                "data_sets": one.n_sets,
                "chi_squared": one.chi_squared,
                "p_value": one.p_value,
                "critical_distance": one.critical_distance,
            }
            for name, one in compared.items()
            for algorithm, rank in one.mean_ranks.items()
        ]
    )
