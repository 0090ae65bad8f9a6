"""Hundreds of nonsense requests to a real server; `benchmarks/serve_fuzz.py` sends ten thousand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from process import running

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "serve_fuzz.py"


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("pyarrow")
    spec = importlib.util.spec_from_file_location("serve_fuzz", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_nonsense_is_refused_and_nothing_of_it_is_learned(script, tmp_path):
    with running("--state", tmp_path, "--algo", "arow", "--probabilities") as server:
        found = script.fuzz(server.port, server.process.pid, 600, seed=1)
        assert server.end() == 0
        assert not [line for line in server.errors if " error " in line]
    assert found["end"] - found["early"] < 50
    assert {"200", "400", "404", "405", "415", "422"} <= set(found["statuses"])
