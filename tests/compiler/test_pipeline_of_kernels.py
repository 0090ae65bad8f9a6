"""Only kernels become machine code. Parts do so with them, whatever of theirs has to be in memory for that."""

from __future__ import annotations

import operator
import threading

import numpy as np
import pytest
from numba import float32, float64
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.types import Function
from numba.core.typing.context import Context
from numba.extending import overload

from pater.compiler import decorators as compiling
from pater.compiler.decorators import COMPILES, allocating, exact_kernel, exact_part, part_of_callers
from pater.compiler.decorators import kernel as fast_kernel

pytestmark = pytest.mark.skipif(not COMPILES, reason="there is no compiler")

POWERS = np.array([1.0, 10.0, 100.0])


@exact_part
@allocating
def power(k):
    if k > 2:
        raise ValueError("too large", k)
    return POWERS[k]


@part_of_callers
def twice(x):
    return x + x


@exact_kernel
@allocating
def twice_a_power(k):
    return twice(power(k))


@exact_kernel
@allocating
def of_a_kernel(k):
    return twice_a_power(k) + power(0)


def sum_of_rows(X):
    total = 0.0
    for i in range(X.shape[0]):
        row = X[i]
        for j in range(row.size):
            total += row[j]
        if total < 0.0:
            return -1.0
    return total


def half(x):
    return x / 2


@pytest.fixture
def nothing_is_kept(monkeypatch):
    """Numba shows the code that it compiles, not the code that it finds."""

    def no_folder(function):
        raise RuntimeError("nothing can be kept")

    monkeypatch.setattr(compiling, "CodeCache", no_folder)


def test_a_part_has_no_machine_code_of_its_own(nothing_is_kept):
    @exact_part
    def inner(x):
        return 3 * x

    @exact_kernel
    def outer(x):
        return inner(x)

    assert outer(2) == 6
    results = [*inner._known_to_numba.overloads.values(), *outer.overloads.values()]
    defined = [each.library._codegen._engine.is_symbol_defined(each.fndesc.llvm_func_name) for each in results]
    assert defined == [False, True]


def test_a_kernel_can_be_called_by_another_and_both_know_what_their_parts_refer_to():
    assert of_a_kernel(2) == 201.0
    for kernel in (of_a_kernel, twice_a_power):
        with pytest.raises(ValueError, match="too large") as caught:
            kernel(3)
        assert caught.value.args == ("too large", 3)


def test_only_what_makes_arrays_counts_references(nothing_is_kept):
    sums, of_a_copy = exact_kernel(sum_of_rows), exact_kernel(allocating(lambda X: X.copy().sum()))
    X = np.ones((3, 2))
    assert sums(X) == of_a_copy(X) == 6.0
    counts = [
        "NRT_incref" in code or "NRT_decref" in code
        for each in (sums, of_a_copy)
        for code in each.inspect_asm().values()
    ]
    assert counts == [False, True]


def test_what_makes_an_array_must_be_marked(nothing_is_kept):
    assert exact_kernel(allocating(lambda n: np.zeros(n).sum()))(3) == 0.0
    with pytest.raises(NumbaError, match="NRT required"):
        exact_kernel(lambda n: np.zeros(n).sum())(3)


def test_a_definition_of_an_operator_is_looked_for_once_and_one_that_depends_on_options_each_time(
    nothing_is_kept, monkeypatch
):
    looked_for = []
    look = Function.get_call_type

    def watched(self, context, args, kws):
        looked_for.append((self.typing_key, args))
        return look(self, context, args, kws)

    monkeypatch.setattr(Function, "get_call_type", watched)
    overload(half)(lambda x: lambda x: x / 2)  # of whose text each caller's options make other code
    for make in (exact_kernel, fast_kernel):
        looked_for.clear()
        assert make(lambda x, y: half(x + y))(np.float32(1), 2.0) == 1.5
        assert any(key is half for key, _ in looked_for)
    assert (operator.add, (float32, float64)) not in looked_for


def test_numba_s_own_types_of_calls_stay_as_they_are():
    typing = cpu_target.typing_context
    assert type(typing) is Context
    assert exact_kernel(lambda x: x * x)(3) == 9
    assert cpu_target.typing_context is typing
    assert type(typing) is Context
    assert "_known" not in vars(typing)


def test_numba_meets_a_kernel_when_it_is_called(monkeypatch):
    met = []
    wrap = compiling.njit
    monkeypatch.setattr(compiling, "njit", lambda **options: lambda text: met.append(text) or wrap(**options)(text))

    @exact_kernel
    def late(x):
        return x + 1

    assert not met
    threads = [threading.Thread(target=late, args=(1,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert late(1) == 2
    assert len(met) == 1


def test_a_kernel_has_the_attributes_of_a_compiled_function_but_no_others():
    assert twice_a_power(0) == 2.0
    assert twice_a_power.__name__ == "twice_a_power"
    assert twice_a_power.py_func.__code__.co_argcount == 1
    assert [str(kind) for kind in twice_a_power.signatures[0]] == ["int64"]
    with pytest.raises(AttributeError):
        _ = twice_a_power.no_such_attribute
    assert not hasattr(twice_a_power, "__length_hint__")
