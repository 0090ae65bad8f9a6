"""Imports are listed as requirements, with bounds that can be checked."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

import pater

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTIONS = {
    "confluent_kafka": "confluent-kafka",
    "prometheus_client": "prometheus-client",
    "sklearn": "scikit-learn",
    "scikit_posthocs": "scikit-posthocs",
}
COMES_ALONG = {"joblib", "markupsafe"}  # with scikit-learn and Jinja2


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [each for group in (project["dependencies"], *project["optional-dependencies"].values()) for each in group]


def imported():
    names = set()
    for path in Path(pater.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"pater"} - COMES_ALONG


def test_what_is_imported_is_required():
    required = {re.match(r"[\w-]+", each)[0] for each in requirements()}
    assert {DISTRIBUTIONS.get(name, name) for name in imported()} <= required


def test_the_script_knows_the_lowest_version_of_each():
    spec = importlib.util.spec_from_file_location("lowest", ROOT / "benchmarks" / "lowest.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    names = {re.match(r"[\w-]+", each)[0] for each in requirements()} - {"pater"}
    assert {re.match(r"[\w-]+", each)[0] for each in [*script.pins(), *script.pins("river")]} == names
    assert "numpy==2.0" in script.pins()
    assert "numpy==2.2.5" in script.pins("river")
    assert script.lowest("numba>=0.61,<0.69") == "numba==0.61"
    with pytest.raises(SystemExit, match="numba<1: has no lower bound"):
        script.lowest("numba<1")
    tests = [*script.SOME, *(name for names in script.APART.values() for name in names)]
    assert [name for name in tests if not (ROOT / name).is_file()] == []


def test_the_compiler_is_one_that_was_tested():
    for name in ("numba", "llvmlite"):
        (bounds,) = (each for each in requirements() if each.startswith(name) and "<" in each)
        low, high = (tuple(map(int, text.split("."))) for text in re.findall(r"[0-9.]+", bounds))
        assert low <= tuple(map(int, importlib.metadata.version(name).split(".")[:2])) < high
