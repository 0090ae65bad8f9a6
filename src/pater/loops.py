"""Loops over whole vectors, in registers as wide as there are.

Knows Numba and LLVM; knows nothing of learning. A plain Numba loop is vectorised as well, but not where several vectors
are summed and changed at once.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

_SHAPES = ((8, 2), (4, 1), (1, 1))  # numbers in a register, registers in a round: wide ones first, then what is left
_F64, _I64, _I32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


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
