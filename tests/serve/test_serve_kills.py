"""A server killed under load: nothing acknowledged is lost, nothing is learned twice, the model is the log's."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def kills():
    """The script of which this is the short form."""
    path = Path(__file__).parents[2] / "benchmarks" / "serve_kills.py"
    spec = importlib.util.spec_from_file_location("serve_kills", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["serve_kills"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"),
    [("a table", 30), ("a table, several learners", 25), ("a model to begin with", 20), ("numbered features", 25)],
)
def test_kills_of_the_server(tmp_path, name, number):
    module = kills()
    told = module.run(tmp_path, module.SETTINGS[name], number, seed=number)
    assert told["rows"] > 10 * number
    assert told["starts from a snapshot"] > 0
