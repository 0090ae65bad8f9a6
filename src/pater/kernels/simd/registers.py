"""Registers of doubles: the few LLVM operations in which the loops of this package are written.

Pointers are opaque: each load and store says what type it is of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils

WIDTH, FEW = 8, 4  # doubles in a register, one cache line; and in half of one
F64, F32, I64, I32, I1 = ir.DoubleType(), ir.FloatType(), ir.IntType(64), ir.IntType(32), ir.IntType(1)
BYTE, POINTER = ir.IntType(8), ir.PointerType()
BYTES = {F64: 8, F32: 4}
PROCESSOR = binding.get_host_cpu_name()


def integer(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def places(numbers: list[int]) -> ir.Constant:
    """The elements that a shuffle takes."""
    return ir.Constant(ir.VectorType(I32, len(numbers)), numbers)


class Words:
    """An LLVM builder with the operations that it lacks. A register holds `width` doubles."""

    def __init__(self, builder: Any, width: int = WIDTH) -> None:
        self.builder, self.width, self.register = builder, width, ir.VectorType(F64, width)
        self.zeros = ir.Constant(self.register, [0.0] * width)

    def opaque(self, pointer: Any) -> Any:
        """One of Numba's typed pointers as an opaque one."""
        holder = ir.Constant(ir.LiteralStructType([POINTER]), ir.Undefined)
        return self.builder.extract_value(self.builder.insert_value(holder, pointer, 0), 0)

    def array(self, context: Any, kind: Any, value: Any) -> tuple[Any, list[Any]]:
        """The address of an array's numbers, and its shape."""
        array = context.make_array(kind)(context, self.builder, value)
        return self.opaque(array.data), [self.builder.extract_value(array.shape, axis) for axis in range(kind.ndim)]

    def address(self, base: Any, place: Any, element: Any = F64) -> Any:
        return self.builder.gep(base, [place], source_etype=element)

    def number(self, base: Any, place: Any, element: Any = F64) -> Any:
        """One number: a float as a double, an integer as 64 bits."""
        value = self.builder.load(self.address(base, place, element), typ=element)
        if isinstance(element, ir.IntType):
            return self.builder.zext(value, I64) if element.width < I64.width else value
        return self.builder.fpext(value, F64) if element == F32 else value

    def load(self, base: Any, place: Any, element: Any = F64, mask: Any = None) -> Any:
        """The register of doubles that starts at an element; zeros where a mask is off."""
        address, kind, size = self.address(base, place, element), ir.VectorType(element, self.width), BYTES[element]
        if mask is None:
            value = self.builder.load(address, align=size, typ=kind)
        else:
            arguments = [address, ir.Constant(I32, size), mask, ir.Constant(kind, [0.0] * self.width)]
            value = self._call(f"masked.load.v{self.width}f{8 * size}.p0", kind, arguments)
        return value if element == F64 else self.builder.fpext(value, self.register)

    def store(self, value: Any, base: Any, place: Any) -> None:
        self.builder.store(value, self.address(base, place), align=8)

    def same_bytes(self, base: Any, place: Any, byte: Any) -> Any:
        """A flag for each of `width` bytes from a place on: whether it equals `byte`."""
        value = self.builder.load(self.address(base, place, BYTE), align=1, typ=ir.VectorType(BYTE, self.width))
        return self.builder.icmp_unsigned("==", value, self.spread(byte))

    def spread(self, value: Any) -> Any:
        """A number, or an integer, repeated over a register."""
        undefined = ir.Constant(ir.VectorType(value.type, self.width), ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(I32, 0))
        return self.builder.shuffle_vector(one, undefined, places([0] * self.width))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c, rounded once on every machine that can, whatever surrounds it."""
        kind = "f64" if a.type == F64 else f"v{a.type.count}f64"
        return self._call(f"fmuladd.{kind}", a.type, [a, b, c])

    def prefetch(self, address: Any, locality: int = 2) -> None:
        """Prefetch a cache line, to be read: into the first-level cache with a locality of 3, else into the second."""
        self._call("prefetch.p0", ir.VoidType(), [address, *(ir.Constant(I32, code) for code in (0, locality, 1))])

    def total_of_four(self, four: list[Any], swapped: Any) -> list[Any]:
        """The sums of the numbers in each of four registers, with the first two exchanged if `swapped`."""
        builder = self.builder

        def joined(a: Any, b: Any, first: list[int], second: list[int]) -> Any:
            return builder.fadd(*(builder.shuffle_vector(a, b, places(each)) for each in (first, second)))

        halves = four if self.width == 4 else [joined(a, a, [0, 1, 2, 3], [4, 5, 6, 7]) for a in four]
        pairs = [joined(a, b, [0, 4, 2, 6], [1, 5, 3, 7]) for a, b in zip(halves[::2], halves[1::2], strict=True)]
        all_four = joined(*pairs, [0, 1, 4, 5], [2, 3, 6, 7])
        if swapped is not None:
            other = builder.shuffle_vector(all_four, all_four, places([1, 0, 2, 3]))
            everywhere = Words(builder, 4).spread(swapped)  # a single flag would become an unpredictable jump
            all_four = builder.select(everywhere, other, all_four)
        return [builder.extract_element(all_four, ir.Constant(I32, place)) for place in range(4)]

    def variable(self, value: Any) -> Any:
        """A place on the stack that holds a value; the compiler makes a register of it."""
        return cgutils.alloca_once_value(self.builder, value)

    def for_each_register(self, size: Any, body: Callable[[Any, Any], None]) -> None:
        """Call `body(place, mask)` for the registers of `size` numbers; only the last has a mask."""
        builder, width = self.builder, integer(self.width)
        full = builder.sdiv(builder.sub(size, integer(1)), width)
        with cgutils.for_range(builder, full) as loop:
            body(builder.mul(loop.index, width), None)
            inside = builder.basic_block
        self._as_it_is(inside.terminator)
        last = builder.mul(full, width)
        lanes = ir.Constant(ir.VectorType(I64, self.width), [*range(self.width)])
        body(last, builder.icmp_signed("<", lanes, self.spread(builder.sub(size, last))))

    def _as_it_is(self, jump: Any) -> None:
        """Keep a loop from being unrolled: rows are often shorter than what that would take."""
        module = self.builder.module
        stay = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
        loop = module.add_metadata([stay, ir.Constant(I64, len(module.metadata))])
        loop.operands = (loop, stay)
        jump.set_metadata("llvm.loop", loop)

    def _call(self, name: str, answer: Any, arguments: list[Any]) -> Any:
        kind = ir.FunctionType(answer, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}"), arguments)
