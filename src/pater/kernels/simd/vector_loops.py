"""The loops over whole vectors in which a dense pass spends its time.

Knows Numba and LLVM; knows nothing of learning.

A plain Numba loop does the same, and is vectorised well, but waits for the memory: the processor does not see that the
next row follows. Here a loop asks for what stands 8 KB ahead in the row it reads (measured on 1000 columns: 650 ns a
row without, 430 ns with; on 100 columns 50 and 31). Numba has no word for a prefetch, hence LLVM.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

AHEAD_BYTES = 8192
_SHAPES = ((8, 2), (4, 1), (1, 1))  # numbers in a register, registers in a round: wide ones first, then what is left
_F64, _I64, _I32, _BYTES = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()


class _Step:
    """Neighbouring elements of all the vectors that a loop runs over, one register for each vector."""

    def __init__(self, loop: Loop, place: Any, width: int) -> None:
        self.loop, self.builder, self.place, self.width = loop, loop.builder, place, width
        self.type = ir.VectorType(_F64, width)

    def __getitem__(self, name: str) -> Any:
        """The elements of vector `name`, or the scalar `name` repeated."""
        builder, value = self.builder, self.loop.values[name]
        if name not in self.loop.vectors:
            undefined = ir.Constant(self.type, ir.Undefined)
            first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
            return builder.shuffle_vector(
                first, undefined, ir.Constant(ir.VectorType(_I32, self.width), [0] * self.width)
            )
        element, size = (_F64, 8) if self.loop.vectors[name] == types.float64 else (ir.FloatType(), 4)
        address = builder.gep(value, [self.place])
        loaded = builder.load(builder.bitcast(address, ir.VectorType(element, self.width).as_pointer()))
        loaded.align = size
        return loaded if element == _F64 else builder.fpext(loaded, self.type)

    def __setitem__(self, name: str, value: Any) -> None:
        address = self.builder.gep(self.loop.values[name], [self.place])
        self.builder.store(value, self.builder.bitcast(address, self.type.as_pointer())).align = 8

    def fetch_ahead(self, name: str) -> None:
        builder = self.builder
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        here = builder.bitcast(builder.gep(self.loop.values[name], [self.place]), _BYTES)
        ahead = builder.gep(here, [ir.Constant(_I64, AHEAD_BYTES)])
        to_read, into_second_cache, of_data = (ir.Constant(_I32, code) for code in (0, 2, 1))
        builder.call(prefetch, [ahead, to_read, into_second_cache, of_data])

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c."""
        return self.builder.fadd(self.builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


class Loop:
    """A loop over the vector arguments of an intrinsic; its body answers with what to sum."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, names: str) -> None:
        self.context, self.builder = context, builder
        self.values: dict[str, Any] = {}
        self.vectors: dict[str, Any] = {}
        for name, kind, value in zip(names.split(), signature.args, args, strict=True):
            self.values[name] = value
            if isinstance(kind, types.Array):
                array = context.make_array(kind)(context, builder, value)
                self.values[name], self.vectors[name] = array.data, kind.dtype
                self.size = builder.extract_value(array.shape, 0)

    def sums(self, count: int, body: Any) -> Any:
        """Run `body(step)` over all elements; the sums of the `count` products that it returns, as a tuple."""
        builder = self.builder
        done, totals = ir.Constant(_I64, 0), [None] * count
        for width, registers in _SHAPES:
            zeros = ir.Constant(ir.VectorType(_F64, width), [0.0] * width)
            places = [[cgutils.alloca_once_value(builder, zeros) for _ in range(count)] for _ in range(registers)]
            chunk = ir.Constant(_I64, width * registers)
            rounds = builder.udiv(builder.sub(self.size, done), chunk)
            with cgutils.for_range(builder, rounds) as loop:
                start = builder.add(done, builder.mul(loop.index, chunk))
                for register, sums in enumerate(places):
                    step = _Step(self, builder.add(start, ir.Constant(_I64, register * width)), width)
                    for (a, b), place in zip(body(step), sums, strict=True):
                        builder.store(step.fma(a, b, builder.load(place)), place)
            done = builder.add(done, builder.mul(rounds, chunk))
            for k in range(count):
                parts = [builder.load(sums[k]) for sums in places]
                parts += [self._halved(totals[k], width)] if totals[k] is not None else []
                totals[k] = functools.reduce(builder.fadd, parts)
        scalars = [builder.extract_element(total, ir.Constant(_I32, 0)) for total in totals]
        return self.context.make_tuple(builder, types.UniTuple(types.float64, count), scalars)

    def _halved(self, value: Any, width: int) -> Any:
        """The elements of `value` added up pairwise, half to half, until `width` are left."""
        while value.type.count > width:
            half = value.type.count // 2
            low, high = (
                self.builder.shuffle_vector(
                    value, value, ir.Constant(ir.VectorType(_I32, half), [*range(first, first + half)])
                )
                for first in (0, half)
            )
            value = self.builder.fadd(low, high)
        return value


def sums(count, names, body):
    """What an intrinsic returns whose loop over the arguments `names` gives `count` sums."""

    def answer(*arguments):
        def codegen(context, builder, signature, args):
            return Loop(context, builder, signature, args, names).sums(count, body)

        return types.UniTuple(types.float64, count)(*arguments), codegen

    return answer


def _read_at_rest(step):
    step.fetch_ahead("x")
    x = step["x"]
    return (step["w"], x), (x, x)


def _moved(step, own, other):
    """The weights after the waiting step: the same whichever class is called own, exactly negated with the classes."""
    builder = step.builder
    along = builder.fadd(builder.fmul(step["step_own"], own), builder.fmul(step["step_other"], other))
    return builder.fadd(step["w"], along)


def _read(step):
    step.fetch_ahead("x")
    x = step["x"]
    w = _moved(step, step["own"], step["other"])
    step["w"] = w
    return (w, x), (x, x)


def _enter(step):
    own = step.fma(step["s"], step["x"], step["own"])
    step["own"] = own
    z = step.fma(step["a_own"], own, step.builder.fmul(step["minus_a_other"], step["other"]))
    return ((z, z),)


def _read_and_enter(step):
    step.fetch_ahead("x")
    x, own, other = step["x"], step["own"], step["other"]
    w = _moved(step, own, other)
    step["w"] = w
    own = step.fma(step["s"], x, own)
    step["own"] = own
    z = step.fma(step["a_own"], own, step.builder.fmul(step["minus_a_other"], other))
    return (w, x), (x, x), (z, z)


@intrinsic
def read_at_rest(typing_context, x, w):
    """w·x and ‖x‖²."""
    return sums(2, "x w", _read_at_rest)(x, w)


@intrinsic
def read(typing_context, x, w, own, other, step_own, step_other):
    """w ← w + step_own·own + step_other·other; then w·x and ‖x‖²."""
    return sums(2, "x w own other step_own step_other", _read)(x, w, own, other, step_own, step_other)


@intrinsic
def enter(typing_context, x, s, own, other, a_own, minus_a_other):
    """own ← own + s·x; then ‖a_own·own + minus_a_other·other‖²."""
    return sums(1, "x s own other a_own minus_a_other", _enter)(x, s, own, other, a_own, minus_a_other)


@intrinsic
def read_and_enter(typing_context, x, s, w, own, other, step_own, step_other, a_own, minus_a_other):
    """`read` and `enter` in one loop: w·x, ‖x‖² and ‖a_own·own + minus_a_other·other‖²."""
    names = "x s w own other step_own step_other a_own minus_a_other"
    return sums(3, names, _read_and_enter)(x, s, w, own, other, step_own, step_other, a_own, minus_a_other)


def _dots(step):
    x = step["x"]
    return tuple((step[name], x) for name in ("u0", "u1", "u2", "u3"))


@intrinsic
def dot_4(typing_context, u0, u1, u2, u3, x):
    """The products of four columns with x."""
    return sums(4, "u0 u1 u2 u3 x", _dots)(u0, u1, u2, u3, x)


def _turn(step):
    k = step["k"]
    for column in range(4):
        u = step[f"u{column}"]
        step[f"u{column}"] = step.fma(k, step[f"l{column}"], u)
        k = step.fma(u, step[f"v{column}"], k)
    step["k"] = k
    return ()


@intrinsic
def turn_4(typing_context, u0, u1, u2, u3, k, l0, l1, l2, l3, v0, v1, v2, v3):
    """Column by column: u ← u + λ·k and k ← k + v·u, with the u of before."""
    names = "u0 u1 u2 u3 k l0 l1 l2 l3 v0 v1 v2 v3"

    def codegen(context, builder, signature, args):
        Loop(context, builder, signature, args, names).sums(0, _turn)
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(u0, u1, u2, u3, k, l0, l1, l2, l3, v0, v1, v2, v3), codegen
