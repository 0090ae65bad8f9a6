"""Everything that the study shows, computed from its files, and saved as CSV.

Knows the tables; draws nothing and writes no page.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from . import beyond_the_paper, tables
from .plan import Plan
from .statistics import Comparison, compare, rank_lines
from .store import Store


@dataclass(frozen=True)
class Results:
    """The tables of the study, those of the paper first; each is saved under its name."""

    table1_data_sets: pd.DataFrame
    table2_accuracies: pd.DataFrame
    table2_averages: pd.DataFrame
    table3_weights: pd.DataFrame
    table4_seconds: pd.DataFrame
    figure1_curves: pd.DataFrame
    figure2_ranks: pd.DataFrame
    beyond_honest_weights: pd.DataFrame
    beyond_other_scores: pd.DataFrame
    beyond_readings: pd.DataFrame


def results(store: Store, plan: Plan) -> Results:
    """Compute all tables."""
    rows, progress, units = (store.frame(name, plan) for name in ("rows", "progress", "units"))
    accuracies, seconds = tables.accuracies(rows), tables.seconds(rows)
    return Results(
        table1_data_sets=tables.data_sets(units),
        table2_accuracies=accuracies,
        table2_averages=tables.averages(accuracies),
        table3_weights=tables.weights(rows, units),
        table4_seconds=seconds,
        figure1_curves=beyond_the_paper.curves(rows, progress),
        figure2_ranks=rank_lines(comparisons(accuracies, seconds)),
        beyond_honest_weights=beyond_the_paper.honest(rows, progress),
        beyond_other_scores=beyond_the_paper.other_scores(rows, progress),
        beyond_readings=beyond_the_paper.readings(rows, store.frame("readings", plan)),
    )


def comparisons(accuracies: pd.DataFrame, seconds: pd.DataFrame) -> dict[str, Comparison]:
    """Figure 2: both tests on accuracy and on time, here and with the published figures of the same data sets.

    Accuracy is also tested without the sets that cannot be compared, if there are any. With fewer than two data sets or
    three algorithms there is nothing to test.
    """
    comparable = accuracies[accuracies["comparable"]]
    some = comparable if len(comparable) < len(accuracies) else comparable.head(0)
    asked = {
        "accuracy, here": (accuracies, "mean", True),
        "accuracy, published": (accuracies, "mean_published", True),
        "accuracy on the comparable sets, here": (some, "mean", True),
        "accuracy on the comparable sets, published": (some, "mean_published", True),
        "time, here": (seconds, "seconds", False),
        "time, published": (seconds, "seconds_published", False),
    }
    found = {}
    for name, (cells, column, best_is_largest) in asked.items():
        scores = tables.wide(cells.set_index(tables.CELL)[column])
        if scores.shape[0] >= 2 and scores.shape[1] >= 3:
            found[name] = compare(scores, best_is_largest=best_is_largest)
    return found


def load_results(folder: Path) -> Results:
    """The tables as they were saved."""
    names = [field.name for field in fields(Results)]
    return Results(**{name: tables.read(folder / f"{name}.csv") for name in names})
