"""Commands run in this process, as a terminal would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import pater as package
from pater.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def nothing_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No data folder, an empty cache, no proxy, and an empty working folder."""
    cache = tmp_path / "user-cache"
    monkeypatch.delenv("PATER_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.os_cache", lambda project: cache)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.fixture
def pater(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """`pater("data", "list")` runs that command: its exit code and its output."""

    def run(*arguments: object) -> Done:
        capfd.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([str(argument) for argument in arguments])
        return Done(int(leave.value.code or 0), *capfd.readouterr())

    return run


@pytest.fixture
def run(nothing_at_hand: Path, pater: Callable[..., Done]) -> Callable[..., Done]:
    """`pater`, with nothing at hand."""
    return pater


@pytest.fixture
def start(nothing_at_hand: Path) -> Callable[..., subprocess.Popen[str]]:
    """`start("reproduce")` is `pater reproduce` in a separate process."""
    environment = os.environ | {
        "PYTHONPATH": str(Path(package.__file__).parents[1]),
        "XDG_CACHE_HOME": str(nothing_at_hand / "user-cache"),
    }

    def start(*arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        code = "import sys; from pater.cli import main; main(sys.argv[1:])"
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True)

    return start
