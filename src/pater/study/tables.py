"""The paper's tables from the rows of the study, next to the published ones.

Pure functions from rows to a table, with one line per data set or cell. Accuracies are in percent here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from pater.data import DATA_SETS

from . import published
from .choices import best_on_test
from .plan import ALGORITHMS, NOT_COMPARABLE, UNWEIGHTED
from .statistics import ranks

CELL = ["data_set", "algorithm"]


def data_sets(units: pd.DataFrame) -> pd.DataFrame:
    """Table 1: the data sets as loaded, next to the paper's counts and ratios."""
    lines = []
    for unit in units.drop_duplicates("data_set").itertuples():
        entry = DATA_SETS[unit.data_set]
        paper = entry.published
        lines.append(
            {
                "number": entry.number,
                "data_set": unit.data_set,
                "name": entry.name,
                "rows": unit.instances,
                "published_rows": paper.rows,
                "features": unit.features,
                "published_features": paper.features,
                "positives": unit.positives,
                "negatives": unit.negatives,
                "ratio": unit.positives / unit.negatives,
                "published_ratio": paper.ratio,
                "missing": paper.missing,
                "comparable": unit.data_set not in NOT_COMPARABLE,
            }
        )
    return pd.DataFrame(lines)


def accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 2, one line per cell: mean, standard deviation and rank, next to the published ones.

    `distance` is how many published standard deviations the mean is above the published one.
    """
    table = summary(best_on_test(rows), "accuracy", percent=True)
    table = table.merge(published.accuracy(), on=CELL, how="left", suffixes=("", "_published"))
    table["distance"] = (table["mean"] - table["mean_published"]) / table["std_published"]
    table["comparable"] = ~table["data_set"].isin(NOT_COMPARABLE)
    return table


def summary(chosen: pd.DataFrame, score: str, *, percent: bool, best_is_largest: bool = True) -> pd.DataFrame:
    """Mean and standard deviation over the folds, and the rank in the data set, for each cell."""
    unit = 100 if percent else 1
    cells = chosen.groupby(CELL, sort=False)
    table = pd.DataFrame({"mean": unit * cells[score].mean(), "std": unit * cells[score].std()})
    table["rank"] = ranks(wide(table["mean"]), best_is_largest=best_is_largest).stack()
    weights = cells[["alpha_neg", "alpha_pos"]].first()
    return table.join(weights).reset_index()


def wide(cells: pd.Series) -> pd.DataFrame:
    """The cells with a row per data set and a column per algorithm, both in the paper's order."""
    table = cells.unstack("algorithm")
    return table.loc[
        [key for key in DATA_SETS if key in table.index], [name for name in ALGORITHMS if name in table.columns]
    ]


def averages(cells: pd.DataFrame) -> pd.DataFrame:
    """Table 2 averaged for each algorithm over the comparable data sets."""
    cells = cells[cells["comparable"]].assign(
        off=lambda t: (t["mean"] - t["mean_published"]).abs(), within=lambda t: t["distance"].abs() <= 1
    )
    groups = cells.groupby("algorithm", sort=False)
    table = groups[["mean", "mean_published", "rank", "rank_published"]].mean()
    table.insert(2, "difference", table["mean"] - table["mean_published"])
    table["mean_absolute_difference"] = groups["off"].mean()
    table["within"] = groups["within"].sum()
    table["cells"] = groups["within"].size()
    return table.reset_index()


def weights(rows: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Table 3: the class that needs more weight, the class whose weight did best, and whether they agree.

    `best` is the side of the better of wPATER-I and -II. `beaten` says that another of the six algorithms is better
    than both; there the paper prints a dash.
    """
    cells = summary(best_on_test(rows), "accuracy", percent=True)
    lines = []
    for data_set, ours in cells.groupby("data_set", sort=False):
        weighted = ours[ours["algorithm"].isin(UNWEIGHTED)]
        if weighted.empty:
            continue
        best = weighted.loc[weighted["mean"].idxmax()]
        lines.append(
            {
                "data_set": data_set,
                "best": "N" if best["alpha_neg"] < 1 else "P",
                "beaten": bool(ours["mean"].max() > best["mean"]),
                "algorithm": best["algorithm"],
                "alpha_neg": best["alpha_neg"],
                "alpha_pos": best["alpha_pos"],
            }
        )
    if not lines:
        return pd.DataFrame(columns=["data_set", "needed", "best", "agrees"])
    ratios = data_sets(units)[["data_set", "ratio", "comparable"]]
    table = ratios.merge(pd.DataFrame(lines), on="data_set")
    table.insert(2, "needed", ["N" if ratio >= 1 else "P" for ratio in table["ratio"]])
    table["agrees"] = table["needed"] == table["best"]
    table = table.merge(published.best_weights(), on="data_set", suffixes=("", "_published"))
    table["agrees_published"] = table["needed_published"] == table["best_published"]
    return table


def seconds(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 4, one line per cell: processor seconds of training, next to the published ones, and the speed-up."""
    table = summary(best_on_test(rows), "train_seconds", percent=False, best_is_largest=False)
    table = table.drop(columns=["alpha_neg", "alpha_pos"]).rename(columns={"mean": "seconds"})
    table = table.merge(published.cpu_seconds(), on=CELL, how="left", suffixes=("", "_published"))
    table["times_faster"] = table["seconds_published"] / table["seconds"]
    return table


def save(found: Any, folder: Path) -> None:
    """Save each table among some results as a CSV file under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in vars(found).items():
        if isinstance(table, pd.DataFrame):
            table.to_csv(folder / f"{name}.csv", index=False)


def read(path: Path) -> pd.DataFrame:
    """A table saved as CSV; it may be empty, without columns, such as the ranks of a single data set."""
    try:
        return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
