"""The tables, on rows small enough to work out by hand, and the published figures as printed."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pater.study import beyond_the_paper, published, tables
from pater.study.plan import ALGORITHMS
from pater.study.unit import COLUMNS

UNITS = pd.DataFrame(
    [("wdbc", 0, 569, 30, 357, 212, 0.1, 1), *(("pima", run, 768, 8, 268, 500, 0.1, 1) for run in (0, 1))],
    columns=COLUMNS["units"],
)


def test_the_published_averages_are_those_that_the_paper_prints() -> None:
    mean = published.accuracy().groupby("algorithm")[["mean", "rank"]].mean()
    expected = {"PA": (75.891, 3.87), "PATER-I": (71.511, 4.06), "PATER-II": (69.571, 4.52),
                "wPATER-I": (79.477, 1.77), "wPATER-II": (76.619, 2.58)}  # fmt: skip
    for algorithm, (accuracy, rank) in expected.items():
        assert mean.loc[algorithm, "mean"] == pytest.approx(accuracy, abs=1e-3)
        assert mean.loc[algorithm, "rank"] == pytest.approx(rank, abs=5e-3)
    seconds = published.cpu_seconds().groupby("algorithm")["seconds"].mean()
    assert [round(seconds[name], 4) for name in ALGORITHMS] == [0.1938, 0.1136, 0.1752, 0.2299, 0.0667, 0.1449]
    weights = published.best_weights()
    assert (weights["needed"] == weights["best"]).sum() == 25


def test_table_1_sets_what_was_loaded_beside_the_papers_counts() -> None:
    table = tables.data_sets(UNITS)
    assert list(table["data_set"]) == ["wdbc", "pima"]
    assert (table["rows"] == table["published_rows"]).all()
    assert table["ratio"].round(2).tolist() == [1.68, 0.54]
    assert table["published_ratio"].tolist() == [1.69, 0.54]


def test_table_2_has_means_deviations_ranks_and_distances(make_rows: Any) -> None:
    rows = make_rows(
        ("wdbc", "PE", 1, 1, 0.94, 0.96), ("wdbc", "PA", 1, 1, 0.95, 0.95), ("wdbc", "wPATER-I", 0.1, 1, 0.97, 0.97)
    )  # fmt: skip
    cells = tables.accuracies(rows).set_index("algorithm")
    assert cells["mean"].to_dict() == pytest.approx({"PE": 95, "PA": 95, "wPATER-I": 97})
    assert cells["std"].to_dict() == pytest.approx({"PE": 2**0.5, "PA": 0, "wPATER-I": 0}, abs=1e-9)
    assert cells["rank"].to_dict() == {"PE": 2.5, "PA": 2.5, "wPATER-I": 1}
    assert cells.loc["PE", "distance"] == pytest.approx((95 - 94.728) / 2.591)


def test_averages_leave_out_what_cannot_be_compared(make_rows: Any) -> None:
    rows = make_rows(
        ("wdbc", "PE", 1, 1, 0.94, 0.96), ("pima", "PE", 1, 1, 0.60, 0.60), ("20news-sci", "PE", 1, 1, 0.1, 0.1)
    )  # fmt: skip
    [line] = tables.averages(tables.accuracies(rows)).to_dict("records")
    assert line["mean"] == pytest.approx((95 + 60) / 2)
    assert line["mean_published"] == pytest.approx((94.728 + 68.099) / 2)
    assert line["mean_absolute_difference"] == pytest.approx((95 - 94.728 + 68.099 - 60) / 2)
    assert (line["within"], line["cells"]) == (1, 2)


def test_table_3_compares_the_needed_with_the_best_side(make_rows: Any) -> None:
    rows = make_rows(
        ("wdbc", "PA", 1, 1, 0.90, 0.90),
        ("wdbc", "wPATER-I", 0.1, 1, 0.95, 0.95),
        ("wdbc", "wPATER-II", 1, 0.1, 0.93, 0.93),
        ("pima", "PA", 1, 1, 0.80, 0.80),
        ("pima", "wPATER-I", 0.1, 1, 0.70, 0.70),
        ("pima", "wPATER-II", 1, 0.1, 0.60, 0.60),
    )
    table = tables.weights(rows, UNITS).set_index("data_set")
    assert table["needed"].to_dict() == {"wdbc": "N", "pima": "P"}
    assert table["best"].to_dict() == {"wdbc": "N", "pima": "N"}
    assert table["beaten"].to_dict() == {"wdbc": False, "pima": True}
    assert table["agrees"].to_dict() == {"wdbc": True, "pima": False}
    assert table["best_published"].to_dict() == {"wdbc": "N", "pima": "P"}


def test_table_3_is_empty_without_a_weighted_algorithm(make_rows: Any) -> None:
    assert tables.weights(make_rows(("wdbc", "PE", 1, 1, 0.9, 0.9)), UNITS).empty


def test_table_4_says_how_many_times_faster(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "PE", 1, 1, 0.9, 0.9), train_seconds=0.0001)
    rows = pd.concat([rows, make_rows(("wdbc", "PA", 1, 1, 0.9, 0.9), train_seconds=0.00005)])
    table = tables.seconds(rows).set_index("algorithm")
    assert table["times_faster"].to_dict() == pytest.approx({"PE": 15, "PA": 30})
    assert table["rank"].to_dict() == {"PE": 2, "PA": 1}


def test_the_honest_choice_stands_beside_the_papers(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "PATER-I", 1, 1, 0.8, 0.8), ("wdbc", "wPATER-I", 0.1, 1, 0.9, 0.9))
    progress = rows.assign(seen=10, correct=[9, 7, 8, 8])[[*rows.columns[:6], "seen", "correct"]]
    [line] = beyond_the_paper.honest(rows, progress).to_dict("records")
    assert line["unweighted"] == pytest.approx(80)
    assert line["on_training"] == pytest.approx((80 + 90) / 2)
    assert line["on_test"] == pytest.approx(90)
    assert line["gained_by_looking"] == pytest.approx(5)
    names = beyond_the_paper.other_scores(rows, progress)["algorithm"].tolist()
    assert names == ["PATER-I", "wPATER-I", "wPATER-I, honest"]


def test_readings_are_measured_against_the_paper(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "PATER-II", 1, 1, 0.93, 0.93), ("20news-sci", "PATER-II", 1, 1, 0.1, 0.1))
    read = make_rows(("wdbc", "PATER-II", 1, 1, 0.50, 0.60)).assign(reading="as printed")
    table = beyond_the_paper.readings(rows, read).set_index("reading")
    assert table.loc["adopted here", "mean_absolute_difference"] == pytest.approx(93.145 - 93)
    assert table.loc["as printed", "mean_absolute_difference"] == pytest.approx(93.145 - 55)
    assert table["within"].to_dict() == {"adopted here": 1, "as printed": 0}


def test_a_curve_is_the_mean_of_the_two_folds_of_the_first_run(make_rows: Any) -> None:
    rows = make_rows(("skin", "PE", 1, 1, 0.9, 0.9, 0.9, 0.9), ("wdbc", "PE", 1, 1, 0.9, 0.9, 0.9, 0.9))
    name = ("PE", 1, 1)
    progress = pd.DataFrame(
        [("skin", *name, 0, 0, 10, 5), ("skin", *name, 0, 0, 20, 12), ("skin", *name, 0, 1, 12, 9),
         ("skin", *name, 0, 1, 22, 11), ("skin", *name, 1, 0, 20, 20), ("wdbc", *name, 0, 0, 20, 20),
         ("wdbc", *name, 0, 1, 20, 20)],
        columns=COLUMNS["progress"],
    )  # fmt: skip
    curve = beyond_the_paper.curves(rows, progress)
    assert set(curve["data_set"]) == {"skin"}
    assert curve["seen"].tolist() == [11, 21]
    assert curve["accuracy"].tolist() == pytest.approx([100 * (5 / 10 + 9 / 12) / 2, 100 * (12 / 20 + 11 / 22) / 2])
