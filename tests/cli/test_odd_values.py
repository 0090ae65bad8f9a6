"""Whatever value an option gets, the answer is a result or one line: tried for all options of all verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from pater.cli.app import app
from pater.serve.store.state import opened
from pater.stream import train

pytestmark = pytest.mark.slow

Run = Callable[..., Any]

ODD = [
    "",
    " ",
    "-",
    "--",
    "0",
    "-1",
    "2.5",
    "nan",
    "-inf",
    "inf",
    "1e400",
    "1e-400",
    "99999999999",
    "-99999999999",
    "9" * 30,
    "9" * 5000,
    "0x10",
    "1_0",
    "١٢",
    "1:nan",
    "1:1,1:2,:",
    "30 parsecs",
    "\x1b[31mred",
    "[red]x[/red]",
    "a\nb",
    "a\0b",
    "\udcff",
    "é" * 3000,
    "%s%n{0}",
    ".",
    "/",
    "no/such/place",
    "rows.svm/below",
    "**",
    "[",
    "locked",
]


def verbs(command: Any = None, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = command or get_command(app)
    for name, sub in getattr(command, "commands", {}).items():
        yield from verbs(sub, (*names, name))
    if not getattr(command, "commands", {}):
        yield names, command


SERVE, DEMO = ("serve",), ("demo",)
# What makes each verb a command that runs; whatever takes long or uses the network stops before it does.
WHOLE = {
    ("train",): ["--algo", "pater-i", "--model", "out", "rows.svm"],
    ("predict",): ["--output", "out", "m", "rows.svm"],
    ("evaluate",): ["--algo", "pater-i", "rows.svm"],
    ("inspect",): ["m"],
    ("explain",): ["--html", "out.html", "m", "rows.svm"],
    ("export",): ["--output", "out.json", "m"],
    ("merge",): ["--model", "out", "m", "m"],
    ("convert",): ["rows.svm", "out.vw"],
    DEMO: ["folder"],
    ("reproduce",): ["--sets", "pima", "--data", "."],
    SERVE: ["--port", "0", "--state", "rows.svm/below"],
    ("log", "export"): ["--output", "out.jsonl", "state"],
    ("log", "info"): ["state"],
    ("log", "trim"): ["--before-snapshot", "state"],
    ("data", "list"): [],
    ("data", "info"): ["pima"],
    ("data", "fetch"): ["--mirror", "http://127.0.0.1:9", "--timeout", "0.1", "pima"],
}
FAIL = (("reproduce",), ("data", "fetch"), ("log", "trim"), SERVE)  # for lack of data, a network, a snapshot, a place


def option_cases() -> Iterator[Any]:
    for names, verb in verbs():
        for option in verb.params:
            if names == SERVE and option.name == "state":
                continue  # it would start
            if option.param_type_name == "option" and not option.is_flag and option.name != "help":
                yield pytest.param(names, option.opts[0], id=f"{'-'.join(names)} {option.opts[0]}")


def argument_cases() -> Iterator[Any]:
    for names, verb in verbs():
        count = sum(param.param_type_name == "argument" for param in verb.params)
        for place in range(-count, 0):
            yield pytest.param(names, place, id=f"{'-'.join(names)} {place}")


@pytest.fixture
def place(nothing_at_hand: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("pater.cli.demo.PAST", 1200)
    monkeypatch.setattr("pater.cli.demo.FUTURE", 400)
    Path("rows.svm").write_text("1 1:1\n-1 2:1\n1 1:2 3:1\n-1 3:-1\n")
    train("rows.svm", algo="pater-i", model=Path("m"))
    Path("locked").touch(mode=0)
    opened("state")[0].close()
    return nothing_at_hand


def check(run: Run, *arguments: str) -> None:
    for path in ("m", "rows.svm"):
        assert Path(path).is_file()
    done = run(*arguments)
    said = (*(argument[:40] for argument in arguments), done)
    assert done.code in (0, 1, 2), said
    if done.code:
        assert done.err.startswith("pater: "), said
        assert done.err.count("\n") == 1, said
        assert len(done.err) > len("pater: x\n"), said
    for line in (*done.err.split("\n"), *done.out.split("\n")):
        assert line.isprintable(), said


def test_the_commands_to_begin_with_run(run: Run, place: Path) -> None:
    assert {names for names, _ in verbs()} == set(WHOLE)
    for names, arguments in WHOLE.items():
        assert run(*names, *arguments).code == int(names in FAIL), names


@pytest.mark.parametrize(("names", "option"), [*option_cases()])
def test_options(run: Run, place: Path, names: tuple[str, ...], option: str) -> None:
    for value in ODD[:: 6 if names == SERVE else 1]:  # it has many options, and prepares for each
        check(run, *names, *WHOLE[names], option, value)


def test_state_directories(run: Run, place: Path) -> None:
    for value in ODD:
        check(run, "serve", "--check", "--state", value)


@pytest.mark.parametrize(("names", "place_of"), [*argument_cases()])
def test_arguments(run: Run, place: Path, names: tuple[str, ...], place_of: int) -> None:
    for value in ODD[:: 4 if names == DEMO else 1]:  # it makes what it shows
        arguments = list(WHOLE[names])
        arguments[place_of] = value
        check(run, *names, *arguments)
