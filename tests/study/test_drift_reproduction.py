"""The drift study as a part of the study: next to the paper's, resumed, in the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from pater.study import Plan, Reproduction, reproduce
from pater.study.drift import streams, unit
from pater.study.drift.learners import FAMILIES, SETTINGS, plan_of_drift
from pater.study.drift.streams import STREAMS
from pater.study.plan import Unit
from pater.study.report import page_of_tables
from pater.study.reproduction import all_units

pytestmark = pytest.mark.slow

PLAN = Plan(("wdbc",), algorithms=("PE", "PA", "PATER-I"), runs=1)


@pytest.fixture(scope="module")
def short_streams() -> Iterator[None]:
    """Streams of the same kinds with a tenth of their length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit, "rows_of", lambda stream, seed, run, n=4000: streams.rows_of(stream, seed, run, n))
        yield


@pytest.fixture(scope="module")
def made(short_streams: None, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return reproduce(PLAN, tmp_path_factory.mktemp("drift"), drift=True, jobs=2)


def test_the_report_has_a_section_with_its_table_and_figure(made: Reproduction) -> None:
    page, folder = made.page.read_text(), made.page.parent
    assert '<h2 id="drift">' in page
    assert "--drift</code>" in page
    assert all(f"{stream.kind}, {100 * stream.share:g} %</td>" in page for stream in STREAMS.values())
    assert 'aria-label="Balanced accuracy along the streams"' in page
    assert (folder / "figures" / "drift.svg").is_file()
    scores = pd.read_csv(folder / "tables" / "drift_scores.csv")
    assert len(scores) == len(STREAMS) * len(SETTINGS)
    assert scores.groupby("data_set")["best_of_family"].sum().unique() == [len(FAMILIES)]
    for name in ("summary", "windows"):
        assert (folder / "tables" / f"drift_{name}.csv").is_file()


def test_the_tables_alone_give_the_same_page(made: Reproduction) -> None:
    assert page_of_tables(made.page.parent / "tables") == made.page.read_text()


def test_what_is_finished_is_not_run_again(made: Reproduction, short_streams: None) -> None:
    before = (made.page.parent / "drift" / "rows.csv").read_bytes()
    heard: list[list[Unit]] = []
    run_now: list[Unit] = []
    reproduce(PLAN, made.page.parent, drift=True, on_start=heard.append, on_finished=run_now.append)
    assert heard == [all_units(PLAN, drift=True)]
    assert heard[0] == PLAN.units + plan_of_drift(PLAN).units
    assert run_now == []
    assert (made.page.parent / "drift" / "rows.csv").read_bytes() == before


def test_the_papers_part_is_the_same_without(made: Reproduction, tmp_path: Path) -> None:
    plain = reproduce(PLAN, tmp_path)
    assert 'id="drift"' not in plain.page.read_text()
    assert not (tmp_path / "drift").exists()
    a, b = (pd.read_csv(one.page.parent / "rows.csv").drop(columns="train_seconds") for one in (made, plain))
    pd.testing.assert_frame_equal(a, b, check_exact=True)
