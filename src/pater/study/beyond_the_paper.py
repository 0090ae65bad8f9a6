"""What the paper does not show: an honest wPATER, scores other than accuracy, and other readings of the pseudo-code.

Pure functions of the rows of the study. Accuracies are in percent here.
"""

from __future__ import annotations

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from . import published
from .choices import best_on_test, best_on_training
from .plan import ALGORITHMS, NOT_COMPARABLE, UNWEIGHTED
from .readings import NO_INTERCEPT
from .tables import CELL, summary

HONEST = "{}, honest"
ADOPTED = "adopted here"


def honest(rows: pd.DataFrame, progress: pd.DataFrame) -> pd.DataFrame:
    """The accuracy of wPATER by the paper's choice, by the honest choice, and without weights, on each data set."""
    ours = best_on_training(rows, progress)
    mean = {
        "on_test": summary(best_on_test(rows), "accuracy", percent=True).set_index(CELL)["mean"],
        "on_training": 100 * ours.groupby(CELL, sort=False)["accuracy"].mean(),
    }
    lines = [
        {
            "data_set": data_set,
            "algorithm": algorithm,
            "unweighted": mean["on_test"][data_set, UNWEIGHTED[algorithm]],
            "on_training": accuracy,
            "on_test": mean["on_test"][data_set, algorithm],
        }
        for (data_set, algorithm), accuracy in mean["on_training"].items()
    ]
    table = pd.DataFrame(lines, columns=["data_set", "algorithm", "unweighted", "on_training", "on_test"])
    table["gained_by_looking"] = table["on_test"] - table["on_training"]
    return table


def other_scores(rows: pd.DataFrame, progress: pd.DataFrame) -> pd.DataFrame:
    """Balanced accuracy, TER and its two parts for every algorithm, wPATER by both choices, one line per cell."""
    ours = best_on_training(rows, progress)
    chosen = pd.concat([best_on_test(rows), ours.assign(algorithm=ours["algorithm"].map(HONEST.format))])
    scores = chosen.groupby(CELL, sort=False)[["accuracy", "balanced_accuracy", "fpr", "fnr", "ter"]].mean()
    scores[["accuracy", "balanced_accuracy", "fpr", "fnr"]] *= 100
    return scores.reset_index()


def readings(rows: pd.DataFrame, read: pd.DataFrame) -> pd.DataFrame:
    """How far each reading of the pseudo-code is from the paper: one line per reading and algorithm.

    Under each reading, wPATER has its best weight on the test halves, as in the paper.
    """
    comparable = rows[~rows["data_set"].isin(NOT_COMPARABLE)]
    every = pd.concat([comparable.assign(reading=ADOPTED), read])
    columns = ["reading", "algorithm", "mean", "mean_published", "mean_absolute_difference", "within", "cells"]
    lines = []
    for reading in (ADOPTED, "clipped", "clipped and passive", "as printed", NO_INTERCEPT):
        chosen = best_on_test(every[every["reading"] == reading])
        cells = (100 * chosen.groupby(CELL, sort=False)["accuracy"].mean()).rename("ours").reset_index()
        cells = cells.merge(published.accuracy(), on=CELL)
        cells["off"] = (cells["ours"] - cells["mean"]).abs()
        for algorithm in (name for name in ALGORITHMS if name in set(cells["algorithm"])):
            part = cells[cells["algorithm"] == algorithm]
            within = int((part["off"] <= part["std"]).sum())
            means = part["ours"].mean(), part["mean"].mean(), part["off"].mean()
            lines.append((reading, algorithm, *means, within, len(part)))
    return pd.DataFrame(lines, columns=columns)


def curves(rows: pd.DataFrame, progress: pd.DataFrame) -> pd.DataFrame:
    """Figure 1: accuracy so far along the stream, the mean of the two folds of the first run, wPATER as in Table 2."""
    first_run = best_on_test(rows).query("run == 0")
    lines = progress.merge(first_run[[*CELL, "alpha_neg", "alpha_pos", "run", "fold"]])
    lines = lines[lines.groupby(CELL)["seen"].transform("size") > 2]  # other sets have only the end of each fold
    lines = lines.assign(
        point=lines.groupby([*CELL, "fold"]).cumcount(), accuracy=100 * lines["correct"] / lines["seen"]
    )
    means = lines.groupby([*CELL, "point"], sort=False)[["seen", "accuracy"]].mean()
    return means.reset_index().drop(columns="point")
