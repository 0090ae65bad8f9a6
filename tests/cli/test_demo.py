"""`pater demo`: every command that it shows can be typed, and nothing is overwritten."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pater.cli import demo

FILES = {"payments.csv", "next.csv", "one.csv", "fraud.pater", "effects.html"}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "PAST", 1500)
    monkeypatch.setattr(demo, "FUTURE", 300)


def names_in(folder):
    return {path.name for path in Path(folder).iterdir()}


@pytest.mark.slow
def test_the_demo_finds_what_its_table_was_made_of(run):
    done = run("demo")
    assert done.code == 0
    assert names_in("pater-demo") == FILES
    assert "device (category)" in done.out
    assert "predicted yes" in done.out
    assert float(re.search(r"balanced (0\.\d+)\nclass", done.out)[1]) > 0.8


def test_what_it_shows_can_be_typed(run, small):
    shown = [shlex.split(line)[2:] for line in run("demo").out.splitlines() if line.startswith("  $ pater ")]
    assert len(shown) == 7
    for arguments in shown:
        assert run(*arguments).code == 0
    assert len(Path("pater-demo/predictions.csv").read_text().splitlines()) == 301


def test_words_fit_a_narrow_terminal(run, small, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    prose = [line for line in run("demo").out.splitlines() if re.match("[A-Z]", line)]
    assert max(map(len, prose)) <= 40


def test_without_a_name_the_folder_is_a_new_one(run, small):
    Path("pater-demo").mkdir()
    Path("pater-demo-2").write_text("mine")
    assert run("demo").code == 0
    assert names_in(".") == {"pater-demo", "pater-demo-2", "pater-demo-3"}
    assert names_in("pater-demo") == set()
    assert Path("pater-demo-2").read_text() == "mine"


def test_a_folder_that_is_named_is_quoted_as_a_shell_needs_it(run, small):
    Path("my own").mkdir()
    done = run("demo", "my own/first look")
    assert done.code == 0
    assert "$ pater train 'my own/first look/payments.csv' --label fraud" in done.out
    assert names_in("my own/first look") == FILES


@pytest.mark.parametrize("there", ["file", "folder"])
def test_nothing_is_overwritten(run, there):
    if there == "file":
        Path("mine").write_text("mine")
    else:
        Path("mine").mkdir()
        Path("mine/payments.csv").write_text("mine")
    done = run("demo", "mine")
    assert done.code == 1
    assert done.err == "pater: mine already exists, and nothing is overwritten: name a new folder.\n"
    assert Path("mine" if there == "file" else "mine/payments.csv").read_text() == "mine"


def test_a_place_that_cannot_be_made_is_named(run):
    Path("file").write_text("")
    done = run("demo", "file/below")
    assert done.code == 1
    assert done.err == "pater: file/below: Not a directory\n"


def test_without_a_verb_an_example_that_works_is_shown(run):
    told = run().out
    assert "\n    pater demo\n" in told
    assert "pater train payments.csv --label fraud -m fraud.pater" in told
    assert "..." not in told.partition("Commands:")[2].replace("Parquet ...", "")
