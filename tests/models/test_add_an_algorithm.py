"""docs/add-an-algorithm.md keeps its promise: with a function, a line and a reference, a rule is everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pater

EVERYWHERE = [
    "dense and sparse",
    "several classes",
    "search",
    "the command line",
    "saving and loading",
    "merging",
    "a setting of its own",
    "along class means",
    "class sums in common",
]


@pytest.mark.slow
def test_a_rule_that_is_added_is_everywhere(tmp_path):
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(pater.__file__).parents[1]),
    }
    script = Path(__file__).with_name("added_rules.py")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line in EVERYWHERE] == EVERYWHERE
