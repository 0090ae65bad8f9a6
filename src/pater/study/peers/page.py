"""What the report shows about the peers: figures, and tables in the order of the page.

Knows the tables and how a figure is drawn; the words are in `../page/peers.html.j2`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from .. import figures, ink
from .learners import AUTO, AUTO_BY_ACCURACY, BATCH_GOAL, KINDS, LINES, ONE_PASS, SECOND_ORDER_PATER, TABLES
from .tables import AGAINST_PUBLISHED, EVERYONE, PeerResults

TITLES = {
    ("balanced_accuracy", EVERYONE): "Balanced accuracy, all one-pass learners",
    ("balanced_accuracy", AGAINST_PUBLISHED): f"Balanced accuracy, {SECOND_ORDER_PATER} among published learners",
    ("accuracy", EVERYONE): "Accuracy, all one-pass learners",
}

# The names by which the page knows the colours.
LIKENESS = {
    "published": "PA",
    "PATER": "wPATER-I",
    "balanced": "wPATER-II",
    "chosen": "PATER-I",
    "table": "PATER-II",
    "batch": "PE",
}


def draw_peers(found: PeerResults) -> dict[str, str]:
    """The critical-difference diagrams, by their names on the page."""
    colours = {name: ink.ALGORITHM[LIKENESS[kind]] for name, kind in KINDS.items()}
    return {
        f"peers-{measure}-{field}": figures.critical_difference(
            found.tests[measure, field], title, f"peers-{measure}-{field}", colours=colours, wide=True
        )
        for (measure, field), title in TITLES.items()
        if (measure, field) in found.tests
    }


def peers_on_the_page(found: PeerResults) -> dict[str, Any]:
    """Everything that the template needs."""
    means = {line["algorithm"]: line for line in found.peers_averages.to_dict("records")}
    names = [name for name in means if name in ONE_PASS]
    return {
        "means": means,
        "one_pass": names,
        "lines": (*TABLES, *LINES),
        "default": SECOND_ORDER_PATER,
        "auto": AUTO,
        "auto_by_accuracy": AUTO_BY_ACCURACY,
        "table": TABLES[0],
        "table_by_accuracy": TABLES[1],
        "goal": BATCH_GOAL,
        "tests": {f"{measure}-{field}": test for (measure, field), test in found.tests.items()},
        "verdict": found.verdict,
        "first_by_accuracy": max(names, key=lambda name: -means[name]["accuracy_rank"]),
        "cells": _grid(found.peers_scores, [*names, *TABLES, *LINES]),
        "likeness": {name: LIKENESS[kind].lower() for name, kind in KINDS.items()},
        "seconds": found.seconds,
    }


def _grid(cells: pd.DataFrame, names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The cells of each data set, in the order of the averages."""
    return {
        key: part.set_index("algorithm").loc[names].reset_index().to_dict("records")
        for key, part in cells.groupby("data_set", sort=False)
    }
