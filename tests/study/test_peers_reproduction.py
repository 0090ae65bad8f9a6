"""The comparison as a part of the study: next to the paper's, resumed, in the report; and its results on the data."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pater.data import DATA_SETS
from pater.study import Plan, Reproduction, StudyError, reproduce
from pater.study.peers.gradient import Descent
from pater.study.peers.learners import LEARNERS, LINES, ONE_PASS, TABLES
from pater.study.plan import NOT_COMPARABLE, Unit
from pater.study.report import page_of_tables

pytestmark = pytest.mark.slow

PLAN = Plan(("wdbc", "tic-tac-toe"), runs=1)
OF_THIS_OBJECTIVE = tuple(one.name for one in LEARNERS if isinstance(one.specs[0], Descent))


def _peers(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "peers" / "rows.csv").drop(columns="train_seconds")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(PLAN, tmp_path_factory.mktemp("peers"), peers=True)


def test_everyone_has_a_row_in_every_fold(made: Reproduction) -> None:
    rows = _peers(made.page.parent)
    assert len(rows) == 2 * 2 * (len(ONE_PASS) + len(TABLES) + len(LINES))
    assert not rows.duplicated(["data_set", "algorithm", "run", "fold"]).any()
    assert rows[["accuracy", "balanced_accuracy", "ter"]].notna().all(axis=None)


def test_the_report_has_a_section_with_its_tables_and_figures(made: Reproduction) -> None:
    page, folder = made.page.read_text(), made.page.parent
    assert '<h2 id="peers">' in page
    assert "--peers</code>" in page
    assert all(f"</span>{name}</td>" in page for name in (*ONE_PASS, *TABLES, *LINES))
    assert "Critical-difference diagram: Balanced accuracy, all one-pass learners" in page
    for name in ("scores", "averages", "ranks"):
        assert (folder / "tables" / f"peers_{name}.csv").is_file()
    assert len(list((folder / "figures").glob("peers-*.svg"))) == 3


def test_the_tables_alone_give_the_same_page(made: Reproduction) -> None:
    assert page_of_tables(made.page.parent / "tables") == made.page.read_text()


def test_the_papers_part_is_the_same_without(made: Reproduction, tmp_path: Path) -> None:
    plain = reproduce(PLAN, tmp_path)
    assert "peers" not in plain.page.read_text()
    assert not (tmp_path / "peers").exists()
    a, b = (pd.read_csv(one.page.parent / "rows.csv").drop(columns="train_seconds") for one in (made, plain))
    pd.testing.assert_frame_equal(a, b, check_exact=True)


def test_what_is_finished_is_not_run_again_and_more_is_added(made: Reproduction, tmp_path: Path) -> None:
    one = Plan(("wdbc",), runs=1)
    reproduce(one, tmp_path)
    heard: list[list[Unit]] = []
    run_now: list[Unit] = []
    reproduce(PLAN, tmp_path, peers=True, jobs=2, on_start=heard.append, on_finished=run_now.append)
    assert heard == [[Unit("wdbc", 0)]]
    assert sorted(run_now) == [Unit("tic-tac-toe", 0), Unit("tic-tac-toe", 0), Unit("wdbc", 0)]
    pd.testing.assert_frame_equal(_peers(tmp_path), _peers(made.page.parent), check_exact=True)
    reproduce(PLAN, tmp_path, peers=True, on_start=heard.append)
    assert heard[1] == PLAN.units * 2


def test_another_seed_is_refused_before_anything_is_run(made: Reproduction) -> None:
    settings = made.page.parent / "peers" / "study.json"
    before = settings.read_text()
    settings.write_text(before.replace('"seed": 0', '"seed": 7'))
    with pytest.raises(StudyError, match="peers holds a study with seed 7, not 0"):
        reproduce(PLAN, made.page.parent, peers=True)
    settings.write_text(before)


def test_one_set_has_a_section_without_tests(tmp_path: Path) -> None:
    page = reproduce(Plan(("wdbc",), runs=1), tmp_path, peers=True).page.read_text()
    assert '<h2 id="peers">' in page
    assert "Averages over the 1 comparable data set</h3>" in page
    assert "Friedman" not in page


def test_bags_of_words_are_run_in_their_span_and_are_in_no_average(data_folder: Path, tmp_path: Path) -> None:
    plan = Plan(("wdbc", "20news-talk"), algorithms=("PE",), runs=1)
    made = reproduce(plan, tmp_path, data_dir=data_folder, peers=True)
    scores = pd.read_csv(tmp_path / "tables" / "peers_scores.csv").query("data_set == '20news-talk'")
    assert scores.set_index("algorithm")["accuracy"][["SO-PATER-I", "AROW", "LR", "TER"]].min() > 90
    assert pd.read_csv(tmp_path / "tables" / "peers_averages.csv")["data_sets"].unique() == [1]
    assert "in coordinates\nof the span" in made.page.read_text()


@pytest.fixture(scope="module")
def comparable_sets(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The averages of one run on all comparable sets."""
    plan = Plan(tuple(key for key in DATA_SETS if key not in NOT_COMPARABLE), algorithms=("PE", "PA"), runs=1)
    made = reproduce(plan, tmp_path_factory.mktemp("peers"), data_dir=data_folder, peers=True, jobs=2)
    return pd.read_csv(made.page.parent / "tables" / "peers_averages.csv").set_index("algorithm")


def test_second_order_pater_is_at_the_level_of_balanced_logistic_regression(comparable_sets: pd.DataFrame) -> None:
    score = comparable_sets["balanced_accuracy"]
    assert abs(score["SO-PATER-I"] - score["LR balanced"]) <= 0.5
    assert abs(score["SO-PATER-I"] - score["balanced AROW"]) <= 0.5
    assert comparable_sets["data_sets"].unique() == [28]


def test_published_learners_of_this_objective_are_next(comparable_sets: pd.DataFrame) -> None:
    score = comparable_sets["balanced_accuracy"][comparable_sets["kind"] == "published"]
    assert set(score.nlargest(len(OF_THIS_OBJECTIVE)).index) == set(OF_THIS_OBJECTIVE)
    assert 0.4 < comparable_sets["balanced_accuracy"]["SO-PATER-I"] - score.max() < 1.6


def test_it_is_first_among_published_learners_by_balanced_accuracy_but_not_by_accuracy(
    comparable_sets: pd.DataFrame,
) -> None:
    ranks = comparable_sets["balanced_accuracy_rank_published"].dropna()
    assert ranks.idxmin() == "SO-PATER-I"
    assert ranks["SO-PATER-I"] < ranks.drop("SO-PATER-I").min() - 1
    of_other_objectives = [name for name in ranks.index if name not in ("SO-PATER-I", *OF_THIS_OBJECTIVE)]
    assert ranks["SO-PATER-I"] < ranks[of_other_objectives].min() - 2
    assert set(comparable_sets.index[:3]) == {"SO-PATER-I", "balanced AROW", "Auto"}
    assert comparable_sets["accuracy_rank_published"].idxmin() == "AROW"


def test_auto_as_shipped_is_at_the_top_of_either_score(comparable_sets: pd.DataFrame) -> None:
    one_pass = comparable_sets[~comparable_sets["kind"].isin(["batch", "table"])]
    balanced, accuracy = one_pass["balanced_accuracy"], one_pass["accuracy"]
    assert balanced["Auto"] > balanced.drop(["Auto", "SO-PATER-I", "balanced AROW"]).max()
    assert balanced["Auto"] > balanced[["SO-PATER-I", "balanced AROW"]].max() - 0.4
    assert accuracy["Auto by accuracy"] > 82.4
    assert accuracy["Auto by accuracy"] > accuracy.drop("Auto by accuracy").max() - 0.2
    assert (comparable_sets["microseconds"] > 0).all()
    assert comparable_sets["auc"].between(70, 95).all()


def test_one_pass_over_raw_columns_is_on_a_par_with_trees(comparable_sets: pd.DataFrame) -> None:
    of_table, by_accuracy = (comparable_sets.loc[name] for name in TABLES)
    trees = comparable_sets.loc["HGB at prior"]
    assert of_table["balanced_accuracy"] > max(82.3, trees["balanced_accuracy"] - 0.2)
    assert of_table["auc"] > max(87.9, trees["auc"] - 0.2)
    assert by_accuracy["accuracy"] > 84.5
    assert pd.isna(of_table["balanced_accuracy_rank"])
