"""How kernels are compiled: garbage is collected seldom meanwhile, and parts stay unknown to Numba until then."""

from __future__ import annotations

import gc
from typing import Any

import numba
import pytest
from numba.core import event

from pater.compiler.decorators import COMPILES, SELDOM, exact_part, inlined
from pater.kernels import double_double

pytestmark = pytest.mark.skipif(not COMPILES, reason="nothing is compiled")


class Thresholds(event.Listener):
    """The thresholds of the garbage collector while something is compiled."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_start(self, event: Any) -> None:
        self.seen.append(gc.get_threshold()[0])

    def on_end(self, event: Any) -> None:
        self.seen.append(gc.get_threshold()[0])


@pytest.fixture
def seen() -> Any:
    listener, before = Thresholds(), gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    with event.install_listener("numba:compile", listener):
        yield listener.seen
    assert gc.get_threshold() == (700, 10, 10)
    gc.set_threshold(*before)


def test_garbage_is_collected_seldom_while_a_kernel_is_compiled(seen: list[int]) -> None:
    def plus_one(x):
        return x + 1

    def plus_two(x):
        return part(part(x))

    plus_one.__module__ = plus_two.__module__ = "pater.kernels"
    part = exact_part(plus_one)
    assert numba.njit(plus_two)(1) == 3
    assert seen == [SELDOM, SELDOM, SELDOM, 700]


def test_a_kernel_that_cannot_be_compiled_leaves_the_collector_as_it_was(seen: list[int]) -> None:
    with pytest.raises(numba.TypingError):
        numba.njit(double_double.scaled.py_func)("a", 0.0, 2.0)  # type: ignore[attr-defined]
    assert seen[0] == SELDOM
    assert seen[-1] == 700


def test_functions_of_others_are_compiled_as_they_were(seen: list[int]) -> None:
    assert numba.njit(lambda x: x + 1)(1) == 2
    assert set(seen) == {700}


@pytest.mark.parametrize("decorator", [exact_part, inlined])
def test_numba_meets_a_part_only_when_a_kernel_that_calls_it_is_compiled(decorator: Any) -> None:
    @decorator
    def plus_one(x):
        """One more."""
        return x + 1

    assert plus_one.__doc__ == "One more."
    assert "_known_to_numba" not in vars(plus_one)
    assert numba.njit(lambda x: plus_one(x))(1) == 2
    assert "_known_to_numba" in vars(plus_one)
