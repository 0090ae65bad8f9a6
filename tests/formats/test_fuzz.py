"""A few hundred cases of each kind of benchmarks/fuzz.py, and inputs made up by Hypothesis."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pater
from pater.stream import InputError, read, train

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pater.formats.errors.Hint")]


def _script() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module
    spec.loader.exec_module(module)
    return module


fuzz = _script()


def test_damaged_files_end_in_a_model_or_in_an_error_that_says_where(tmp_path: Path) -> None:
    ended = {(name, how) for name, how, _ in fuzz.cases(tmp_path, 400, seed=5)}
    assert ("rows.svm", "model") in ended
    assert {(name, "error") for name in (*fuzz.SEEDS, *fuzz.MODELS)} <= ended


def test_numbers_quotes_and_lengths_at_the_edge_are_read_or_refused(tmp_path: Path) -> None:
    ended = set(fuzz.run_kind("text", tmp_path, 150, seed=1))
    assert {(kind, how) for kind in fuzz.fuzz_text.FORMATS for how in ("rows", "error")} == ended


def test_no_place_outside_of_an_array_is_touched() -> None:
    """Numba's cache ignores this check, so it runs in another process with another cache."""
    command = [sys.executable, fuzz.__file__, "--text", "60", "--seed", "2", "--bounds"]
    environment = os.environ | {"PYTHONPATH": str(Path(pater.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["cases"] == 60 * len(fuzz.fuzz_text.FORMATS)


PIECES = st.sampled_from(
    [word.decode("latin-1") for word in fuzz.WORDS] + ["1", "-1", "2:3", "a", "b:2", " ", "\n", "|", ","]
)
TEXT = st.lists(PIECES, max_size=30).map("".join)


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.csv"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT)
def test_any_text_is_read_or_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(("a,b,label\n" if name == "a.csv" else "").encode() + text.encode("latin-1"))
    try:
        rows = sum(len(batch) + len(batch.faults) for batch in read(path, on_error="skip"))
        assert rows <= text.count("\n") + 1
        train(path, algo="pa-i")
    except InputError as error:
        assert name in str(error)  # noqa: PT017
