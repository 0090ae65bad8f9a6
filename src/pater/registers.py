"""The vectors of one model in registers: dense rows of few columns.

Knows Numba, LLVM and `pairs`; knows nothing of learning. U, S⁺ and S⁻ of up to 32 features are a dozen vector
registers, and a pass that has no other use for them need not touch the memory but to read its rows: a row costs a third
less than from a table in the first-level cache.

How many vectors there are, of how many registers, and how wide these are, is the type of `shape`: tuples of so many
tuples of so many numbers. The loops over them are unrolled when a pass is compiled for it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .pairs import PAIR, fused

Shape = tuple[tuple[tuple[int, ...], ...], ...]

MOST_COLUMNS = 32
_F64, _F32, _I64, _I32, _I1 = ir.DoubleType(), ir.FloatType(), ir.IntType(64), ir.IntType(32), ir.IntType(1)


def shape_for(n_vectors: int, n_columns: int) -> Shape:
    """So many vectors of so many numbers: registers of four, as long as four of them do, then of eight."""
    width = 4 if n_columns <= 16 else 8
    return (((0,) * width,) * -(-n_columns // width),) * n_vectors


def _int(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


class _Registers:
    def __init__(self, builder: Any, shape: Any, address: Any = None) -> None:
        self.builder = builder
        self.n_vectors, self.blocks, self.width = shape.count, shape.dtype.count, shape.dtype.dtype.count
        self.vector = ir.VectorType(_F64, self.width)
        if address is None:  # on the stack, at fixed places: the compiler makes registers of it
            address = cgutils.alloca_once(builder, ir.ArrayType(self.vector, self.n_vectors * self.blocks))
        self.home = builder.bitcast(address, self.vector.as_pointer())

    def address(self) -> Any:
        return self.builder.bitcast(self.home, _F64.as_pointer())

    def load(self, vector: int, block: int) -> Any:
        return self.builder.load(self.builder.gep(self.home, [_int(vector * self.blocks + block)]))

    def store(self, value: Any, vector: int, block: int) -> None:
        self.builder.store(value, self.builder.gep(self.home, [_int(vector * self.blocks + block)]))

    def zeros(self) -> ir.Constant:
        return ir.Constant(self.vector, [0.0] * self.width)

    def spread(self, value: Any, kind: Any = _F64) -> Any:
        """A number repeated over a register."""
        undefined = ir.Constant(ir.VectorType(kind, self.width), ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(one, undefined, self._places([0] * self.width))

    def row(self, context: Any, rows_type: Any, rows: Any, i: Any) -> list[Any]:
        """Row i, zeros after its end."""
        builder, kind = self.builder, rows_type.types[0]
        array = context.make_array(kind)(context, builder, builder.extract_value(rows, 0))
        size = builder.extract_value(array.shape, 1)
        start = builder.gep(array.data, [builder.mul(i, size)])
        element, align = (_F64, 8) if kind.dtype == types.float64 else (_F32, 4)
        vector = ir.VectorType(element, self.width)
        addresses = [
            builder.bitcast(builder.gep(start, [_int(block * self.width)]), vector.as_pointer())
            for block in range(self.blocks)
        ]
        values = [builder.load(address) for address in addresses[:-1]]
        for value in values:
            value.align = align
        left = self.spread(builder.sub(size, _int((self.blocks - 1) * self.width)), _I64)
        inside = builder.icmp_signed("<", ir.Constant(ir.VectorType(_I64, self.width), [*range(self.width)]), left)
        bits = ir.VectorType(_I1, self.width)
        name = f"llvm.masked.load.v{self.width}f{8 * align}.p0"
        signature = ir.FunctionType(vector, [vector.as_pointer(), _I32, bits, vector])
        masked_load = cgutils.get_or_insert_function(builder.module, signature, name)
        zeros = ir.Constant(vector, [0.0] * self.width)
        values.append(builder.call(masked_load, [addresses[-1], ir.Constant(_I32, align), inside, zeros]))
        return values if element == _F64 else [builder.fpext(value, self.vector) for value in values]

    def total_of_two(self, a: Any, b: Any) -> Any:
        """The pair of the sums over a and over b."""
        even = [place for lane in range(0, self.width, 2) for place in (lane, self.width + lane)]
        total = self._sum(self._pick(a, b, even), self._pick(a, b, [place + 1 for place in even]))
        while total.type.count > 2:
            half = total.type.count // 2
            total = self._sum(
                self._pick(total, total, [*range(half)]), self._pick(total, total, [*range(half, 2 * half)])
            )
        return total

    def _sum(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b)

    def _pick(self, a: Any, b: Any, places: list[int]) -> Any:
        return self.builder.shuffle_vector(a, b, self._places(places))

    def _places(self, places: list[int]) -> ir.Constant:
        return ir.Constant(ir.VectorType(_I32, len(places)), places)

    def buffer(self) -> Any:
        """Memory for all of them, that can be addressed number by number."""
        size = self.n_vectors * self.blocks * self.width
        return self.builder.bitcast(cgutils.alloca_once(self.builder, ir.ArrayType(_F64, size)), _F64.as_pointer())

    def part(self, buffer: Any, vector: int, block: int) -> Any:
        place = self.builder.gep(buffer, [_int((vector * self.blocks + block) * self.width)])
        return self.builder.bitcast(place, self.vector.as_pointer())

    def each(self) -> list[tuple[int, int]]:
        return [(vector, block) for vector in range(self.n_vectors) for block in range(self.blocks)]


def _numbers(context: Any, builder: Any, kind: Any, table: Any, registers: _Registers, buffer: Any) -> Any:
    """Loop over all numbers of a table (features, kinds): their place in the table and in the buffer."""
    array = context.make_array(kind)(context, builder, table)
    size, kinds = (builder.extract_value(array.shape, axis) for axis in range(2))
    with cgutils.for_range(builder, size) as loop:
        for vector in range(registers.n_vectors):
            here = builder.gep(array.data, [builder.add(builder.mul(loop.index, kinds), _int(vector))])
            offset = _int(vector * registers.blocks * registers.width)
            yield here, builder.gep(buffer, [builder.add(loop.index, offset)])


@intrinsic
def take(typing_context, table, shape):
    """The first columns of the table, in registers. To be handed to what is in this file only."""
    signature = types.CPointer(types.float64)(table, shape)

    def codegen(context, builder, signature, args):
        registers = _Registers(builder, shape)
        buffer = registers.buffer()
        for vector, block in registers.each():
            builder.store(registers.zeros(), registers.part(buffer, vector, block)).align = 8
        for here, there in _numbers(context, builder, table, args[0], registers, buffer):
            builder.store(builder.load(here), there)
        for vector, block in registers.each():
            value = builder.load(registers.part(buffer, vector, block))
            value.align = 8
            registers.store(value, vector, block)
        return registers.address()

    return signature, codegen


@intrinsic
def put(typing_context, held, table, shape):
    """Back into the table."""

    def codegen(context, builder, signature, args):
        registers = _Registers(builder, shape, args[0])
        buffer = registers.buffer()
        for vector, block in registers.each():
            builder.store(registers.load(vector, block), registers.part(buffer, vector, block)).align = 8
        for here, there in _numbers(context, builder, table, args[1], registers, buffer):
            builder.store(builder.load(there), here)
        return context.get_dummy_value()

    return types.void(held, table, shape), codegen


@intrinsic
def products(typing_context, held, rows, i, shape):
    """With row x and the first three vectors U, S⁺ and S⁻: the pair S⁺·x and S⁻·x, then U·x and ‖x‖²."""
    signature = types.Tuple([PAIR, types.float64, types.float64])(held, rows, types.int64, shape)

    def codegen(context, builder, signature, args):
        registers = _Registers(builder, shape, args[0])
        sums = [registers.zeros()] * 4
        for block, x in enumerate(registers.row(context, rows, *args[1:3])):
            factors = [*(registers.load(vector, block) for vector in range(3)), x]
            sums = [fused(builder, factor, x, total) for factor, total in zip(factors, sums, strict=True)]
        ux, px, nx, xx = sums
        rest = registers.total_of_two(ux, xx)
        numbers = [builder.extract_element(rest, ir.Constant(_I32, place)) for place in range(2)]
        return context.make_tuple(builder, signature.return_type, [registers.total_of_two(px, nx), *numbers])

    return signature, codegen


@intrinsic
def add(typing_context, held, rows, i, a, b, c, d, shape):
    """Add so many times row x to each vector: a·x to the first, b·x to the second, and so on, as far as there are."""
    signature = types.void(held, rows, types.int64, *[types.float64] * 4, shape)

    def codegen(context, builder, signature, args):
        registers = _Registers(builder, shape, args[0])
        x = registers.row(context, rows, *args[1:3])
        for vector, factor in enumerate(args[3 : 3 + registers.n_vectors]):
            spread = registers.spread(factor)
            for block in range(registers.blocks):
                registers.store(fused(builder, spread, x[block], registers.load(vector, block)), vector, block)
        return context.get_dummy_value()

    return signature, codegen
