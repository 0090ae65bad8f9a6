"""Running: the same rows for any number of jobs, and after any interruption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pater.data import DataError, DataSet, load
from pater.study import Plan, reproduce, runner
from pater.study.plan import Unit
from pater.study.report import page_of_tables
from pater.study.store import Store

PLAN = Plan(("wdbc", "tic-tac-toe"), runs=6)


@pytest.fixture(autouse=True)
def small_sets_are_run_together_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ALONE_BELOW", 0)


def _run(folder: Path, jobs: int = 1, on_finished: Callable[[Unit], None] = lambda unit: None) -> Store:
    store = Store(folder, PLAN)
    runner.run(PLAN, store, load, jobs=jobs, on_finished=on_finished)
    return store


def _same(a: Store, b: Store) -> None:
    for name in ("rows", "progress", "readings"):
        tables = [store.frame(name, PLAN).drop(columns="train_seconds", errors="ignore") for store in (a, b)]
        pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return _run(tmp_path_factory.mktemp("uninterrupted"))


@pytest.mark.first_quick
@pytest.mark.parametrize("jobs", [2, 5])
def test_the_number_of_jobs_changes_no_row(tmp_path: Path, uninterrupted: Store, jobs: int) -> None:
    _same(_run(tmp_path, jobs), uninterrupted)


@pytest.mark.first_quick
@pytest.mark.parametrize("jobs", [1, 3])
def test_an_interrupted_study_goes_on_where_it_was(tmp_path: Path, uninterrupted: Store, jobs: int) -> None:
    seen: list[Unit] = []

    def interrupt(unit: Unit) -> None:
        seen.append(unit)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, jobs, interrupt)
    kept = Store(tmp_path, PLAN).finished
    assert set(seen) <= kept < set(PLAN.units)

    run_now: list[Unit] = []
    _same(_run(tmp_path, jobs, run_now.append), uninterrupted)
    assert sorted(run_now) == sorted(set(PLAN.units) - kept)


def test_nothing_is_run_twice(uninterrupted: Store) -> None:
    run_now: list[Unit] = []
    runner.run(PLAN, uninterrupted, load, on_finished=run_now.append)
    assert run_now == []


def test_a_set_that_cannot_be_read_stops_the_study_and_keeps_the_rest(tmp_path: Path) -> None:
    def load_but_one(key: str) -> DataSet:
        if key == "wdbc":
            raise DataError("wdbc.data is broken")
        return load(key)

    store = Store(tmp_path, PLAN)
    with pytest.raises(DataError, match="broken"):
        runner.run(PLAN, store, load_but_one)
    assert {unit.data_set for unit in Store(tmp_path, PLAN).finished} <= {"tic-tac-toe"}


def test_a_study_of_one_set_ends_in_its_page(tmp_path: Path) -> None:
    made = reproduce(Plan(("wdbc",), ("PE", "PATER-I"), runs=1), tmp_path)
    assert (tmp_path / "rows.csv").is_file()
    assert "Wdbc" in made.page.read_text()
    assert page_of_tables(made.page.parent / "tables") == made.page.read_text()
