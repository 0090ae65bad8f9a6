"""What the page for users of Vowpal Wabbit tells them to type works on the files that it makes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import pater

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "coming-from-vw.md").read_text()
FIRST_BLOCK = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)[0]
COMMANDS = re.findall(r"`(pater [^`|]+)`", PAGE.split("## What to type")[1].split("\n\n")[1])


@pytest.mark.slow
def test_every_command_of_the_table(run):
    exec(FIRST_BLOCK, {})
    assert len(COMMANDS) > 20
    for command in COMMANDS:
        done = run(*shlex.split(command)[1:])
        assert done.code == 0, f"{command}: {done.err}"


@pytest.mark.slow
def test_going_on_is_one_run(run):
    exec(FIRST_BLOCK, {})
    assert run("train", "clicks.vw", "-m", "m.pater").code == 0
    assert run("train", "more.vw", "-i", "m.pater", "-m", "m2.pater").code == 0
    assert run("train", "clicks.vw", "more.vw", "-m", "both.pater").code == 0
    two, one = (pater.stream.load(path) for path in ("m2.pater", "both.pater"))
    for batch in pater.stream.read("more.vw", columns=one.columns):
        np.testing.assert_array_equal(two.margins(batch), one.margins(batch))


def test_namespaces_are_not_crossed(run):
    exec(FIRST_BLOCK, {})
    done = run("train", "clicks.vw", "--interactions", "u:a", "-m", "m.pater")
    assert done.code != 0
    assert "interactions are for tables" in done.err
