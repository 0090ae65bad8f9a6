"""Averages and ranks of the comparison, from handmade rows."""

from __future__ import annotations

import pandas as pd
import pytest

from pater.study.peers import tables
from pater.study.peers.learners import LINES, ONE_PASS, TABLES
from pater.study.peers.unit import COLUMNS

SETS = ("wdbc", "pima", "heart")


def _rows(sets: tuple[str, ...] = SETS, **best: float) -> pd.DataFrame:
    """Two folds of every set, on which learner k scores 0.5 + k/200, except for those in `best`."""
    lines = []
    for key in sets:
        for k, name in enumerate((*ONE_PASS, *TABLES, *LINES)):
            for fold in (0, 1):
                row = dict.fromkeys(COLUMNS["rows"], 0.0) | {"data_set": key, "algorithm": name, "run": 0, "fold": fold}
                score = best.get(name.replace("-", "_").replace(" ", "_"), 0.5 + k / 200) + (0.01 if fold else -0.01)
                lines.append(row | {"accuracy": score, "balanced_accuracy": score})
    return pd.DataFrame(lines, columns=COLUMNS["rows"])


UNITS = pd.DataFrame(
    {"data_set": [*SETS, "20news-talk"], "instances": [100, 200, 300, 9000], "seconds": [1.0, 2.0, 3.0, 4.0]}
)


def test_means_are_over_folds_then_sets_and_ranks_among_one_pass_learners_only() -> None:
    found = tables.peer_results(_rows(SO_PATER_I=0.9, LR_balanced=0.95), UNITS)
    means = found.peers_averages.set_index("algorithm")
    assert means.index[0] == "SO-PATER-I"
    assert means["balanced_accuracy"]["SO-PATER-I"] == pytest.approx(90)
    assert means["balanced_accuracy_rank"]["SO-PATER-I"] == 1
    assert means["balanced_accuracy_rank"][list(LINES)].isna().all()
    assert tuple(means.index[-len(LINES) :]) == LINES
    assert found.peers_scores["balanced_accuracy_std"].iloc[0] == pytest.approx(2**0.5)
    assert found.seconds == 10


def test_time_and_area_stand_beside_the_scores() -> None:
    rows = _rows()
    rows.loc[rows["algorithm"] == "Auto", ["train_seconds", "auc"]] = [0.001, 0.75]
    means = tables.peer_results(rows, UNITS).peers_averages.set_index("algorithm")
    assert means["microseconds"]["Auto"] == pytest.approx(3 * 1000 / 300)
    assert means["auc"]["Auto"] == pytest.approx(75)


def test_the_verdict_names_the_first_and_the_distance_to_the_goal() -> None:
    verdict = tables.peer_results(_rows(SO_PATER_I=0.9, AROW=0.8, LR_balanced=0.895), UNITS).verdict
    assert verdict is not None
    assert (verdict.first, verdict.first_published, verdict.data_sets) == ("SO-PATER-I", "AROW", 3)
    assert verdict.to_goal == pytest.approx(0.5)
    assert tables.peer_results(_rows(balanced_AROW=0.99), UNITS).verdict.first == "balanced AROW"  # type: ignore[union-attr]


def test_sets_on_which_second_order_pater_is_ahead_are_counted_a_tie_half() -> None:
    behind = tables.peer_results(_rows(SO_PATER_I=0.9, AROW=0.9, LR=0.95), UNITS).peers_averages
    behind = behind.set_index("algorithm")["behind"]
    assert (behind["AROW"], behind["LR"], behind["PA"]) == (1.5, 0, 3)


def test_sets_that_cannot_be_compared_are_in_no_average() -> None:
    rows = pd.concat([_rows(SO_PATER_I=0.9), _rows(("20news-sci",), SO_PATER_I=0.1)])
    found = tables.peer_results(rows, UNITS)
    assert found.peers_averages["balanced_accuracy"].max() == pytest.approx(90)
    assert found.peers_averages["data_sets"].unique() == [3]
    assert found.tests["accuracy", tables.EVERYONE].n_sets == 3
    assert "20news-sci" in set(found.peers_scores["data_set"])


def test_the_second_field_has_no_kin_of_second_order_pater() -> None:
    found = tables.peer_results(_rows(), UNITS)
    names = set(found.tests["balanced_accuracy", tables.AGAINST_PUBLISHED].mean_ranks.index)
    assert {name for name in names if "SO-PATER" in name or "balanced" in name} == {"SO-PATER-I"}
    assert len(found.peers_ranks) == 2 * (len(ONE_PASS) + len(names))


def test_one_set_has_ranks_but_no_test() -> None:
    found = tables.peer_results(_rows(("wdbc",)), UNITS)
    assert (found.tests, found.verdict) == ({}, None)
    assert found.peers_ranks.empty
    assert found.peers_averages["balanced_accuracy_rank"].notna().sum() == len(ONE_PASS)
