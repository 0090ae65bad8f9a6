"""The files: units are whole or absent, and studies are never mixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pater.study import Plan, StudyError
from pater.study.plan import Unit
from pater.study.store import Store
from pater.study.unit import COLUMNS, Outcome

PLAN = Plan(("wdbc", "tic-tac-toe"), runs=2)


def _outcome(data_set: str, run: int) -> Outcome:
    """A unit with two rows, one line of progress and no other reading."""
    model = (data_set, "PE", 1.0, 1.0, run)
    rows = [(*model, fold, 0.5, 0.5, 0.5, 0.5, 1.0, 1e-05, 7) for fold in (0, 1)]
    return Outcome(rows, [(*model, 0, 10, 5)], [], [(data_set, run, 20, 3, 10, 10, 0.1, 3)])


def _texts(folder: Path) -> dict[str, str]:
    return {name: (folder / f"{name}.csv").read_text() for name in COLUMNS}


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A folder with two finished units."""
    store = Store(tmp_path, PLAN)
    for unit in (Unit("tic-tac-toe", 0), Unit("wdbc", 0)):
        store.add(_outcome(*unit))
    store.tidy()
    return tmp_path


def test_files_have_the_columns_that_are_documented(full: Path) -> None:
    assert _texts(full)["rows"].splitlines()[0] == (
        "data_set,algorithm,alpha_neg,alpha_pos,run,fold,accuracy,balanced_accuracy,fpr,fnr,ter,train_seconds,updates"
    )


def test_units_come_in_the_papers_order_whichever_was_finished_first(full: Path) -> None:
    assert [line.split(",")[0] for line in _texts(full)["units"].splitlines()[1:]] == ["wdbc", "tic-tac-toe"]


def test_what_is_finished_is_found_again(full: Path) -> None:
    before = _texts(full)
    store = Store(full, PLAN)
    assert store.finished == {Unit("wdbc", 0), Unit("tic-tac-toe", 0)}
    assert _texts(full) == before


@pytest.mark.parametrize("name", ["rows", "progress", "units"])
@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_cut_last_line_costs_its_unit_and_no_other(full: Path, name: str, cut: int) -> None:
    path = full / f"{name}.csv"
    path.write_text(path.read_text()[:-cut])
    store = Store(full, PLAN)
    assert store.finished == {Unit("wdbc", 0)}
    assert all("tic-tac-toe" not in text for text in _texts(full).values())
    store.add(_outcome("tic-tac-toe", 0))
    store.tidy()
    assert Store(full, PLAN).finished == {Unit("wdbc", 0), Unit("tic-tac-toe", 0)}


def test_a_unit_whose_last_line_was_never_written_is_not_finished(full: Path) -> None:
    outcome = _outcome("wdbc", 1)
    outcome.units = [outcome.units[0]]
    with (full / "rows.csv").open("a") as file:
        file.write(",".join(map(str, outcome.rows[0])) + "\n")
    assert Unit("wdbc", 1) not in Store(full, PLAN).finished
    assert _texts(full)["rows"].count("\n") == 5


@pytest.mark.parametrize(
    ("change", "word"), [({"seed": 1}, "seed 0, not 1"), ({"algorithms": ("PE", "PA")}, "algorithms")]
)
def test_studies_that_differ_are_never_mixed(full: Path, change: dict[str, Any], word: str) -> None:
    before = _texts(full)
    with pytest.raises(StudyError, match=word):
        Store(full, Plan(PLAN.sets, **change))
    assert _texts(full) == before
    assert Store(full, Plan(PLAN.sets, **change), fresh=True).finished == set()


def test_rows_of_another_version_are_not_mixed_with_ours(full: Path) -> None:
    path = full / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pater": "0.0.1"}))
    with pytest.raises(StudyError, match=r"pater 0\.0\.1"):
        Store(full, PLAN)


def test_rows_of_unknown_origin_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("something else\n")
    with pytest.raises(StudyError, match="--out"):
        Store(tmp_path, PLAN)
    assert (tmp_path / "rows.csv").read_text() == "something else\n"


def test_more_sets_and_runs_are_the_same_study(full: Path) -> None:
    store = Store(full, Plan(("wdbc", "pima"), runs=5))
    assert store.frame("rows", Plan(("wdbc",), runs=1))["data_set"].unique().tolist() == ["wdbc"]
