"""Parts are left for their callers to finish, and garbage is collected as before once something is compiled."""

from __future__ import annotations

import gc

import pytest
from numba import njit

from pater.kernels.compile import COMPILES, part
from pater.kernels.compiler import PART_COMPILER

pytestmark = pytest.mark.skipif(not COMPILES, reason="nothing is compiled")


def doubled():
    @part
    def twice(x):
        return 2.0 * x

    @njit
    def caller(x):
        return twice(x) + 1.0

    return twice, caller


def test_what_calls_a_part_has_its_code_though_the_part_is_no_code_of_its_own():
    twice, caller = doubled()
    assert caller(3.0) == 7.0
    assert PART_COMPILER, "this version of Numba has other names inside: parts are compiled twice"
    (compiled,) = twice.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compiling_if_it_was_before(collects):
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        doubled()[1](3.0)
        assert gc.isenabled() is collects
        with pytest.raises(Exception, match="object"):
            njit(lambda x: x + object())(1.0)
        assert gc.isenabled() is collects
    finally:
        (gc.enable if was else gc.disable)()
