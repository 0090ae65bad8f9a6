"""`PATER_QUICK_SECONDS=3 pytest`: the run fails if a quick test takes more processor time, or compiles a rare form.

Compiling common forms is not counted: the first test does it for all later ones. For a test in a child process,
everything is counted. For runs in one process: with `-n`, nothing is added up.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Generator
from typing import Any

import pytest
from numba.core import event

SELDOM = ("float32", "uint64")  # in the rows that a pass learns from


def _spent() -> float:
    """Processor seconds of this process and of its ended children."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


class Compiling(event.Listener):
    """How long this thread has compiled, and which rare forms."""

    def __init__(self) -> None:
        self.seconds, self.seldom, self._depth, self._began = 0.0, [], 0, 0.0

    def on_start(self, event: Any) -> None:
        self._began = self._began if self._depth else time.thread_time()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.thread_time() - self._began
        name, kinds = event.data["dispatcher"].py_func.__name__, event.data["args"]
        if name.startswith("learn_") and len(kinds) > 1 and any(kind in str(kinds[1]) for kind in SELDOM):
            self.seldom.append(name)


class Budget:
    """A pytest plugin that reports tests that took too long."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.told = seconds, []
        self._compiling = Compiling()
        event.register("numba:compile", self._compiling)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        began, compiling, seldom = _spent(), self._compiling.seconds, len(self._compiling.seldom)
        result = yield
        if item.get_closest_marker("slow") is None:
            took = _spent() - began - (self._compiling.seconds - compiling)
            if took > self.seconds:
                self.told.append(f"{item.nodeid} took {took:.1f} s")
            self.told += [f"{item.nodeid} compiled {form}" for form in self._compiling.seldom[seldom:]]
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        event.unregister("numba:compile", self._compiling)
        if self.told and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self.told:
            terminalreporter.write_line(f"should be marked as slow: {line}", red=True)
