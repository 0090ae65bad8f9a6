"""Help is instant, wrong usage gives one line, and nothing ends in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pater

Run = Callable[..., Any]

HEAVY = "numpy scipy sklearn numba pandas matplotlib jinja2 pooch rich.progress"


def test_help_answers_at_once(start: Callable[..., subprocess.Popen[str]]) -> None:
    took = []
    for _ in range(3):
        began = os.times()  # processor time, as others may keep the machine busy
        out, err = start("--help").communicate(timeout=60)
        ended = os.times()
        took.append(ended.children_user + ended.children_system - began.children_user - began.children_system)
        assert "reproduce" in out
        assert err == ""
    assert min(took) < 0.5


def test_help_imports_nothing_heavy() -> None:
    code = f"""
import sys
from pater.cli import main
try:
    main(["--help"])
finally:
    print([name for name in "{HEAVY}".split() if name in sys.modules], file=sys.stderr)
"""
    environment = os.environ | {"PYTHONPATH": str(Path(pater.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_without_a_verb_there_is_help(run: Run) -> None:
    for arguments in ((), ("data",)):
        done = run(*arguments)
        assert done.code == 0
        assert "Usage: pater" in done.out


def test_the_version(run: Run) -> None:
    assert run("--version").out == f"pater {pater.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reproduc",), "reproduce"),
        (("data", "lst"), "list"),
        (("reproduce", "--sed", "1"), "--seed"),
        (("reproduce", "--runs", "0"), "--runs"),
        (("reproduce", "--runs", "many"), "--runs"),
        (("reproduce", "--jobs", "0"), "--jobs"),
        (("reproduce", "--seed", "-1"), "--seed"),
        (("reproduce", "--sets", "pimaa,wdbc"), "did you mean pima"),
        (("reproduce", "--sets", ","), "--sets"),
        (("reproduce", "--algorithms", "PATER-3"), "did you mean PATER-I"),
        (("reproduce", "--data", "no-such-folder"), "no-such-folder"),
        (("data", "info", "wdcb"), "did you mean wdbc"),
        (("data", "info", "zzzz"), "monks-3"),
        (("data", "fetch", "spam"), "spambase"),
    ],
)
def test_wrong_usage_is_one_line_that_helps(run: Run, arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("pater: ")
    assert done.err.count("\n") == 1
    assert words in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--checkpoint-every", "5x"], "--checkpoint-every must be a number of rows, or a time such as 30s or 5m"),
        (["--scoring", "nope"], "--scoring must be one of accuracy, balanced_accuracy, ter"),
        (["--delimiter", ";;"], "--delimiter must be one ASCII character between fields"),
        (["--delimiter", "§"], "--delimiter must be one ASCII character between fields"),
        (["--format", "nope"], "--format must be one of libsvm, vw, csv"),
        (["--on-error", "nope"], "--on-error must be 'stop' or 'skip', got 'nope'"),
        (["--max-fpr", "2"], "--max-fpr must be above 0 and below 1, got 2.0."),
    ],
)
def test_what_an_option_cannot_be_is_wrong_usage(run: Run, arguments: list[str], told: str) -> None:
    Path("t.csv").write_text("a,y\n1,0\n2,1\n")
    done = run("train", "t.csv", "-m", "m.pater", *arguments)
    assert (done.code, done.err.startswith(f"pater: {told}"), Path("m.pater").exists()) == (2, True, False)
