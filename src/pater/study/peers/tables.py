"""Results from the rows of all learners: cells, averages, ranks and both tests.

Pure functions of the rows. Scores are in percent here. Only one-pass learners are ranked and tested; batch solutions
see all rows at once and have a score, but no rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from ..plan import NOT_COMPARABLE
from ..statistics import Comparison, compare, rank_lines, ranks, signed_ranks
from ..tables import read
from .learners import BATCH_GOAL, KINDS, NOTES, ONE_PASS, PUBLISHED, SECOND_ORDER_PATER

MEASURES = ("balanced_accuracy", "accuracy")
CELL = ["data_set", "algorithm"]

EVERYONE = "everyone"
AGAINST_PUBLISHED = "published"
"""Second-order PATER in its default form among published learners, without variants that would share its ranks."""

FIELDS = {EVERYONE: ONE_PASS, AGAINST_PUBLISHED: (*PUBLISHED, SECOND_ORDER_PATER)}


@dataclass(frozen=True)
class PeerResults:
    """The tables, each saved under its name, and the tests behind the ranks, by measure and field."""

    peers_scores: pd.DataFrame
    peers_averages: pd.DataFrame
    peers_ranks: pd.DataFrame
    tests: dict[tuple[str, str], Comparison]
    verdict: Verdict | None
    seconds: float


@dataclass(frozen=True)
class Verdict:
    """What can be said about second-order PATER by balanced accuracy, and on how many data sets."""

    data_sets: int
    first: str  # in mean rank, of all one-pass learners
    first_published: str  # of the published ones
    to_goal: float  # points above class-balanced logistic regression


def peer_results(rows: pd.DataFrame, units: pd.DataFrame) -> PeerResults:
    """Compute all tables."""
    cells = scores(rows)
    tests = comparisons(cells)
    means = averages(cells, tests, units.groupby("data_set")["instances"].first())
    return PeerResults(cells, means, _ranks(tests), tests, _verdict(means, tests), float(units["seconds"].sum()))


def scores(rows: pd.DataFrame) -> pd.DataFrame:
    """One line per cell: mean and standard deviation of both measures over the folds, and the rank in the data set.

    The mean area under the ROC curve and the mean seconds of a pass are added.
    """
    cells = 100 * rows.groupby(CELL, sort=False)[[*MEASURES, "auc"]].mean()
    cells["train_seconds"] = rows.groupby(CELL, sort=False)["train_seconds"].mean()
    for measure in MEASURES:
        cells[f"{measure}_std"] = 100 * rows.groupby(CELL, sort=False)[measure].std()
        wide = cells[measure].unstack("algorithm")[list(ONE_PASS)]
        cells[f"{measure}_rank"] = ranks(wide, best_is_largest=True).stack()
    cells = cells.reset_index()
    cells["comparable"] = ~cells["data_set"].isin(NOT_COMPARABLE)
    return cells


def comparisons(cells: pd.DataFrame) -> dict[tuple[str, str], Comparison]:
    """Both tests over the comparable sets, by measure and field; with one set there is nothing to test."""
    cells = cells[cells["comparable"]]
    if cells["data_set"].nunique() < 2:
        return {}
    return {
        (measure, field): compare(_wide(cells, measure)[list(names)], best_is_largest=True)
        for measure in MEASURES
        for field, names in FIELDS.items()
    }


def averages(cells: pd.DataFrame, tests: dict[tuple[str, str], Comparison], instances: pd.Series) -> pd.DataFrame:
    """One line per learner, best mean rank first, then batch solutions; over the comparable sets, or all if none is.

    `microseconds` is the time per row over all these sets, of which a pass sees one half. `behind` is the number of
    sets on which second-order PATER has the higher balanced accuracy, a tie counting half, and `p_value` tests whether
    the two are alike.
    """
    cells = cells[cells["comparable"]] if cells["comparable"].any() else cells
    balanced = _wide(cells, "balanced_accuracy")
    ours = balanced[[SECOND_ORDER_PATER]].to_numpy()
    table = pd.DataFrame({"kind": KINDS, "settings": NOTES})
    for measure in MEASURES:
        table[measure] = _wide(cells, measure).mean()
    for measure in MEASURES:
        table[f"{measure}_rank"] = cells.groupby("algorithm")[f"{measure}_rank"].mean()
    for measure in MEASURES:
        test = tests.get((measure, AGAINST_PUBLISHED))
        table[f"{measure}_rank_published"] = test.mean_ranks if test else float("nan")
    table["auc"] = _wide(cells, "auc").mean()
    passes = _wide(cells, "train_seconds")
    table["microseconds"] = 1e6 * passes.sum() / (instances[passes.index].sum() / 2)
    table["behind"] = (balanced < ours).sum() + 0.5 * (balanced == ours).sum()
    table["p_value"] = signed_ranks(balanced[list(ONE_PASS)], SECOND_ORDER_PATER)
    table["data_sets"] = len(balanced)
    table = table.sort_values("balanced_accuracy_rank", kind="stable", na_position="last")
    return table.rename_axis("algorithm").reset_index()


def load_peers(folder: Path, seconds: float) -> PeerResults:
    """The saved tables, with the tests computed again."""
    cells, means, ranks = (read(folder / f"peers_{name}.csv") for name in ("scores", "averages", "ranks"))
    means["settings"] = means["settings"].fillna("")  # may be empty
    tests = comparisons(cells)
    return PeerResults(cells, means, ranks, tests, _verdict(means, tests), seconds)


def _wide(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The cells with a row per data set and a column per learner."""
    return cells.set_index(CELL)[measure].unstack("algorithm")


def _ranks(tests: dict[tuple[str, str], Comparison]) -> pd.DataFrame:
    names = {EVERYONE: "all one-pass learners", AGAINST_PUBLISHED: f"published learners and {SECOND_ORDER_PATER}"}
    return rank_lines({f"{measure.replace('_', ' ')}: {names[field]}": one for (measure, field), one in tests.items()})


def _verdict(means: pd.DataFrame, tests: dict[tuple[str, str], Comparison]) -> Verdict | None:
    if not tests:
        return None
    everyone = tests["balanced_accuracy", EVERYONE]
    mean = means.set_index("algorithm")["balanced_accuracy"]
    return Verdict(
        data_sets=everyone.n_sets,
        first=str(everyone.mean_ranks.index[0]),
        first_published=next(name for name in everyone.mean_ranks.index if name in PUBLISHED),
        to_goal=float(mean[SECOND_ORDER_PATER] - mean[BATCH_GOAL]),
    )
