"""The shape of the code: files that fit in a head, calls that fit on a line, a root that shows the rooms."""

from __future__ import annotations

import ast
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from budget import Budget

import pater

ROOT = Path(pater.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
TABLES = ROOT / "data" / "sets"  # data, not code
MOST_LINES = 300
MOST_POSITIONAL = 8
MOST_IN_ROOT = 6


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [path for path in MODULES if TABLES not in path.parents], ids=name_of)
def test_a_module_fits_in_a_head(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", [path for path in MODULES if ROOT / "kernels" not in path.parents], ids=name_of)
def test_no_function_takes_many_arguments_by_position(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            taken = [*node.args.posonlyargs, *node.args.args]
            own = taken[1:] if taken and taken[0].arg in ("self", "cls") else taken
            assert len(own) <= MOST_POSITIONAL, f"{getattr(node, 'name', 'lambda')}, line {node.lineno}"


def test_the_root_holds_rooms_and_little_else():
    assert len(list(ROOT.glob("*.py"))) <= MOST_IN_ROOT


@pytest.mark.parametrize("marks", [(), ("slow",)])
def test_a_quick_test_that_takes_long_is_told_by_those_who_ask(marks):
    """As `PATER_QUICK_SECONDS=0.05 pytest` would; without it, no test fails on a busy machine."""
    budget, session = Budget(0.05), SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    item = SimpleNamespace(nodeid="test_a.py::test_b", get_closest_marker=lambda name: name if name in marks else None)
    running = budget.pytest_runtest_protocol(item)
    next(running)
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass
    with pytest.raises(StopIteration):
        running.send(None)
    budget.pytest_sessionfinish(session)
    assert [line.partition(" took")[0] for line in budget.told] == ([] if marks else ["test_a.py::test_b"])
    assert session.exitstatus == (pytest.ExitCode.OK if marks else pytest.ExitCode.TESTS_FAILED)
