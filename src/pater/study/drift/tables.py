"""Scores from the counts along the streams: for each setting and stream, and what choosing during the pass costs.

Pure functions of the rows. Scores are balanced accuracies in percent: for a stream, the mean of the rates at which its
positives and its negatives were recognised, then mean and standard error over the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from ..tables import read
from .learners import AUTO, FAMILIES, NO_MEMORY, PEERS, SETTINGS, SINGLE
from .streams import STREAMS

COUNTS = ["positives", "negatives", "true_positives", "true_negatives"]
SAVED = ("drift_scores", "drift_summary", "drift_windows")


@dataclass(frozen=True)
class DriftResults:
    """The tables, each saved under its name."""

    drift_scores: pd.DataFrame
    drift_summary: pd.DataFrame
    drift_windows: pd.DataFrame
    runs: int
    seconds: float


def drift_results(rows: pd.DataFrame, units: pd.DataFrame) -> DriftResults:
    """Compute all tables."""
    by_run = _balanced(rows.groupby(["data_set", "setting", "run"], sort=False)[COUNTS].sum()).unstack("run")
    table = scores(by_run)
    return DriftResults(
        table, summary(by_run, table), along(rows, table), rows["run"].nunique(), float(units["seconds"].sum())
    )


def scores(by_run: pd.DataFrame) -> pd.DataFrame:
    """One line per stream and setting: mean and standard error over runs, and whether it is its family's best there."""
    table = pd.DataFrame({"score": by_run.mean(axis=1), "error": by_run.sem(axis=1)}).reset_index()
    table.insert(1, "family", table["setting"].map({name: one.family for name, one in SETTINGS.items()}))
    top = table.groupby(["data_set", "family"])["score"].transform("max")
    first = ~table[table["score"] == top].duplicated(["data_set", "family"])
    table["best_of_family"] = first.reindex(table.index, fill_value=False)
    return table


def summary(by_run: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """One line per stream: the choice in the pass, the best single setting in hindsight, the best published learner.

    Differences, and their errors, are between runs on the same stream.
    """
    lines = []
    for key in STREAMS:
        mine = table[(table["data_set"] == key)]
        if mine.empty:
            continue
        best = _first(mine[mine["family"].isin(SINGLE)])
        peer = _first(mine[mine["family"].isin(PEERS)])
        runs = by_run.loc[key]
        line = {"data_set": key, "kind": STREAMS[key].kind, "share": STREAMS[key].share}
        for name, setting in (("auto", AUTO), ("best", best), ("no_memory", NO_MEMORY), ("peer", peer)):
            line |= {f"{name}_setting": setting, name: runs.loc[setting].mean()}
            if setting != AUTO:
                gap = runs.loc[AUTO] - runs.loc[setting]
                line |= {f"to_{name}": gap.mean(), f"to_{name}_error": gap.sem()}
        lines.append(line)
    return pd.DataFrame(lines)


def along(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Balanced accuracy by window, from the summed counts of all runs, for the best of each family."""
    shown = table[table["best_of_family"]]
    wanted = pd.MultiIndex.from_frame(shown[["data_set", "setting"]])
    rows = rows[pd.MultiIndex.from_frame(rows[["data_set", "setting"]]).isin(wanted)]
    counts = rows.groupby(["data_set", "setting", "seen"], sort=False)[COUNTS].sum()
    return _balanced(counts).rename("score").reset_index()


def grid(table: pd.DataFrame) -> pd.DataFrame:
    """The best score of each family's settings in hindsight, streams by families."""
    best = table[table["best_of_family"]].set_index(["data_set", "family"])["score"].unstack("family")
    return best.loc[[key for key in STREAMS if key in best.index], list(FAMILIES)]


def load_drift(folder: Path, runs: int, seconds: float) -> DriftResults:
    """The tables as they were saved."""
    return DriftResults(**{name: read(folder / f"{name}.csv") for name in SAVED}, runs=runs, seconds=seconds)


def _balanced(counts: pd.DataFrame) -> pd.Series:
    known = counts["true_positives"] / counts["positives"] + counts["true_negatives"] / counts["negatives"]
    return 50 * known


def _first(lines: pd.DataFrame) -> str:
    return str(lines.loc[lines["score"].idxmax(), "setting"])
