"""Options read without pydantic are the same as Typer's, and anything unusual is left to Typer."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.core import TyperCommand
from typer.main import get_command

from pater.cli.app import app

COMMAND: Any = get_command(app).commands["train"]  # type: ignore[attr-defined]
PLAIN = [
    "rows.csv -m rows.pater",
    "a.csv --label y -m m b.csv --quiet",
    "- -f csv --model m --algo so-pater-i --covariance diagonal -C 0.5",
    "a.csv -m m --average -q",
    "a.csv -m m --class-weight balanced --scale --resume --checkpoint-every 30s --log-json",
    "a.csv -m m --r 10 --initial-model other.pater --label ''",
]
LEFT_TO_TYPER = [
    "",
    "--help",
    "a.csv",
    "-m m",
    "a.csv -m",
    "a.csv -m m --label=y",
    "a.csv -m m -qj2",
    "a.csv -m m --lab y",
    "a.csv -m m --label -q",
    "a.csv -m m -m n",
    "a.csv -m m --passes 3",
    "a.csv -m m -C -1",
    "a.csv -m m -C 1e3",
    "a.csv -m m --drop x --drop z",
    "a.csv -m m --decimal ,",
    "a.csv -m m -- -b.csv",
]


def _context() -> typer.Context:
    return typer.Context(COMMAND, info_name="train")


@pytest.mark.parametrize("line", PLAIN)
def test_what_is_plain_is_what_typer_makes_of_it(line: str) -> None:
    words = ["" if word == "''" else word for word in line.split()]
    plain, by_typer = _context(), _context()
    COMMAND.parse_args(plain, list(words))
    TyperCommand.parse_args(COMMAND, by_typer, list(words))
    assert COMMAND._plainly_given(list(words)) is not None
    assert set(plain.params) <= set(by_typer.params)
    defaults = {each.name: each.default for each in COMMAND.params}
    for name, value in by_typer.params.items():
        ours = plain.params.get(name, defaults[name])
        if isinstance(value, tuple):  # any number of texts, which Typer makes a list, or leaves as it is if empty
            ours, value = list(ours or ()), list(value)
        assert (ours, type(ours)) == (value, type(value))


@pytest.mark.parametrize("line", LEFT_TO_TYPER)
def test_what_is_not_plain_is_left_to_typer(line: str) -> None:
    assert COMMAND._plainly_given(line.split()) is None


def test_a_folder_is_left_to_typer(tmp_path: Any) -> None:
    assert COMMAND._plainly_given(["a.csv", "-m", str(tmp_path)]) is None


def test_a_plain_command_does_without_pydantic(tmp_path: Any) -> None:
    code = (
        "import sys; from pater.cli.app import _context; _context(sys.argv[1:]);"
        "sys.exit(any(name.startswith('pydantic') for name in sys.modules))"
    )
    words = ["train", "a.csv", "--label", "y", "--algo", "pater-i", "-m", "m", "-q"]
    assert subprocess.run([sys.executable, "-c", code, *words], check=False).returncode == 0
