"""`pater reproduce`: what is at hand, what is missing, and resuming after an interruption or a kill."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pater.study.unit import COLUMNS

pytestmark = pytest.mark.slow

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]

MANY = ("reproduce", "--runs", "60", "--algorithms", "PE,PATER-I,wPATER-I", "--out", "study")


def _rows(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "rows.csv").drop(columns="train_seconds")


def test_with_nothing_at_hand_it_runs_the_embedded_sets_and_says_how_to_get_all(run: Run) -> None:
    done = run("reproduce", "--runs", "2")
    assert done.code == 0
    assert done.out == str(Path("study-out") / "report.html") + "\n"
    assert Path(done.out.strip()).is_file()
    assert "29 of the 31 data sets are not at hand; `pater reproduce --fetch`" in done.err
    assert "\x1b" not in done.err
    rows = pd.read_csv("study-out/rows.csv")
    assert tuple(rows.columns) == COLUMNS["rows"]
    assert rows["data_set"].unique().tolist() == ["wdbc", "tic-tac-toe"]
    assert len(rows) == 2 * 28 * 2 * 2


def test_sets_algorithms_and_quick_choose_what_is_run(run: Run) -> None:
    done = run("reproduce", "--quick", "--sets", "WDBC", "--algorithms", "pa, wPATER-ii", "--algorithms", "pe")
    assert done.code == 0
    rows = pd.read_csv("study-out/rows.csv")
    assert rows["algorithm"].unique().tolist() == ["PE", "PA", "wPATER-II"]
    assert sorted(rows["run"].unique()) == [0, 1]


def test_the_same_command_runs_nothing_again(run: Run) -> None:
    run("reproduce", "--runs", "1")
    before = Path("study-out/rows.csv").read_bytes()
    done = run("reproduce", "--runs", "1")
    assert done.code == 0
    assert "2 of 2 units were finished before and are not run again." in done.err
    assert Path("study-out/rows.csv").read_bytes() == before


def test_peers_are_run_on_demand_and_resumed_like_the_rest(run: Run) -> None:
    assert run("reproduce", "--runs", "1").code == 0
    assert not Path("study-out/peers").exists()
    done = run("reproduce", "--runs", "1", "--peers")
    assert done.code == 0
    assert "2 of 4 units were finished before and are not run again." in done.err
    rows = pd.read_csv("study-out/peers/rows.csv")
    assert rows["data_set"].unique().tolist() == ["wdbc", "tic-tac-toe"]
    assert {"SO-PATER-I", "AROW", "LR balanced"} <= set(rows["algorithm"])
    assert '<h2 id="peers">' in Path(done.out.strip()).read_text()
    assert "4 of 4 units were finished before" in run("reproduce", "--runs", "1", "--peers").err


def test_streams_that_drift_are_followed_on_demand(run: Run) -> None:
    done = run("reproduce", "--runs", "1", "--drift", "--algorithms", "PE,PA,PATER-I")
    assert done.code == 0
    assert "recurring-10 (" in done.err  # which of two processes ends last depends on the machine
    assert "(14 of 14 units)" in done.err
    rows = pd.read_csv("study-out/drift/rows.csv")
    assert rows["data_set"].nunique() == 12
    assert {"Auto", "SO-PATER-I r 30 forgetting 0.999"} <= set(rows["setting"])
    assert '<h2 id="drift">' in Path(done.out.strip()).read_text()
    again = run("reproduce", "--runs", "1", "--drift", "--algorithms", "PE,PA,PATER-I")
    assert "14 of 14 units were finished before" in again.err


def test_another_seed_in_the_same_folder_is_refused_unless_fresh(run: Run) -> None:
    run("reproduce", "--runs", "1")
    done = run("reproduce", "--runs", "1", "--seed", "1")
    assert done.code == 1
    assert "seed 0, not 1" in done.err
    assert done.err.count("\n") == 1
    assert run("reproduce", "--runs", "1", "--seed", "1", "--fresh").code == 0


def test_a_set_that_is_asked_for_and_not_at_hand_is_an_error(run: Run) -> None:
    done = run("reproduce", "--sets", "pima,wdbc")
    assert done.code == 1
    assert "not at hand: pima." in done.err
    assert "--fetch" in done.err
    assert not Path("study-out").exists()


def test_a_folder_that_cannot_be_written_is_one_line(run: Run) -> None:
    Path("file").write_text("")
    done = run("reproduce", "--out", "file/study")
    assert done.code in (1, 2)
    assert done.err.count("\n") == 1


def test_without_the_extra_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pater.cli.reproduce.find_spec", lambda name: None if name == "jinja2" else object())
    done = run("reproduce")
    assert done.code == 1
    assert 'the study needs jinja2: pip install "pater[study]"' in done.err


@pytest.fixture
def whole(run: Run) -> pd.DataFrame:
    """The rows of an undisturbed study."""
    assert run(*MANY[:-1], "whole").code == 0
    return _rows(Path("whole"))


def _wait_for_rows(process: subprocess.Popen[str], folder: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        path = folder / "units.csv"
        if path.exists() and path.read_text().count("\n") > 10:
            return
        time.sleep(0.005)
    pytest.fail(f"no unit was finished: {process.communicate()}")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    start: Start, run: Run, whole: pd.DataFrame
) -> None:
    process = start(*MANY)
    _wait_for_rows(process, Path("study"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    last = err.splitlines()[-1]
    assert last.startswith("pater: interrupted; ")
    assert last.endswith("of 120 units are finished and kept. The same command goes on.")
    assert 10 <= len(pd.read_csv("study/units.csv")) < 120

    done = run(*MANY)
    assert done.code == 0
    assert "of 120 units were finished before" in done.err
    pd.testing.assert_frame_equal(_rows(Path("study")), whole, check_exact=True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_killed_study_goes_on_from_its_last_whole_unit(start: Start, run: Run, whole: pd.DataFrame) -> None:
    process = start(*MANY)
    _wait_for_rows(process, Path("study"))
    process.kill()
    process.communicate(timeout=60)
    with Path("study/rows.csv").open("a") as file:
        file.write("wdbc,PE,1.0,1.0,59,0,0.9")  # a line cut by the kill
    assert run(*MANY).code == 0
    pd.testing.assert_frame_equal(_rows(Path("study")), whole, check_exact=True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_there_is_a_bar_that_leaves_nothing_behind(start: Start) -> None:
    import pty

    ours, theirs = pty.openpty()
    process = start("reproduce", "--runs", "1", stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # which Linux raises if the other end is closed
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == "study-out/report.html\n"
    assert b"units" in shown
    assert shown.rstrip().endswith(b"names a folder that has them.")
