"""The vectors of one model close at hand: what the passes over dense rows spend their time in.

Knows Numba, LLVM and `class_pairs`; knows nothing of learning. U, S⁺ and S⁻ of up to 32 features are a dozen vector
registers, and a pass that has no other use for them need not touch the memory but to read its rows. Longer ones are
kept in a buffer that stays in the first-level cache, padded to whole registers.

Where they are is the type of `shape`, a tuple: of as many integers as there are vectors, as many floats as each has
registers, none for the buffer, and as many booleans as a register has numbers. The loops over registers are unrolled
when a pass is compiled for a shape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..compile import exact_part
from .class_pairs import PAIR, fused

Shape = tuple[int | float | bool, ...]

MOST_IN_REGISTERS = 32  # columns
AHEAD_BYTES = 8192  # how far ahead of its use a row is asked for, where rows are long
WIDTH = 8  # of a register, in the buffer
ALIGNMENT = 64  # bytes
_F64, _F32, _I64, _I32, _I1 = ir.DoubleType(), ir.FloatType(), ir.IntType(64), ir.IntType(32), ir.IntType(1)
_BYTES = ir.IntType(8).as_pointer()


@functools.cache
def shape_for(n_vectors: int, n_columns: int) -> Shape:
    """So many vectors of so many numbers: in registers of four, as long as four do, then of eight; or in the buffer."""
    width = 4 if n_columns <= 16 else WIDTH
    blocks = -(-n_columns // width) if n_columns <= MOST_IN_REGISTERS else 0
    return (*[0] * n_vectors, *[0.0] * blocks, *[False] * width)


def _int(value: Any) -> Any:
    return ir.Constant(_I64, value) if isinstance(value, int) else value


def _counts(shape: Any) -> list[int]:
    """How many vectors, registers of each, and numbers in each register."""
    return [list(shape.types).count(wanted) for wanted in (types.int64, types.float64, types.boolean)]


class _Near:
    """Vectors of `size` numbers each, block by block. A block or a vector is named by a number, or by a value."""

    def __init__(self, builder: Any, shape: Any, size: Any, home: Any = None) -> None:
        self.builder, self.size = builder, size
        self.blocks: Any
        self.n_vectors, self.blocks, self.width = _counts(shape)
        self.in_registers, self.last = self.blocks > 0, self.blocks - 1
        self.vector = ir.VectorType(_F64, self.width)
        if not self.in_registers:
            self.last = builder.udiv(builder.sub(size, _int(1)), _int(WIDTH))
            self.blocks = builder.add(self.last, _int(1))
        elif home is None:  # on the stack, at fixed places: the compiler makes registers of it
            home = cgutils.alloca_once(builder, ir.ArrayType(self.vector, self.n_vectors * self.blocks))
        self.home = None if home is None else builder.bitcast(home, self.vector.as_pointer())

    def start_of(self, vector: Any) -> Any:
        """The first block of a vector."""
        if self.in_registers or vector == 0:
            return vector * (self.blocks if self.in_registers else 0)
        return self.builder.mul(self.blocks, _int(vector))

    def _address(self, start: Any, block: Any) -> Any:
        place = start + block if self.in_registers else self.builder.add(_int(start), _int(block))
        return self.builder.gep(self.home, [_int(place)])

    def load(self, start: Any, block: Any) -> Any:
        """A block of the vector that starts there."""
        value = self.builder.load(self._address(start, block))
        if not self.in_registers:
            value.align = ALIGNMENT
        return value

    def store(self, value: Any, start: Any, block: Any) -> None:
        stored = self.builder.store(value, self._address(start, block))
        if not self.in_registers:
            stored.align = ALIGNMENT

    def add(self, factor: Any, x: Any, start: Any, block: Any) -> Any:
        """The block with factor·x added."""
        value = fused(self.builder, self.spread(factor), x, self.load(start, block))
        self.store(value, start, block)
        return value

    def for_each_block(self, body: Callable[[Any, bool], None]) -> None:
        """Call `body(block, is_last)`."""
        if self.in_registers:
            for block in range(self.blocks):
                body(block, block == self.last)
        else:
            with cgutils.for_range(self.builder, self.last) as loop:
                body(loop.index, False)
            body(self.last, True)

    def zeros(self) -> ir.Constant:
        return ir.Constant(self.vector, [0.0] * self.width)

    def spread(self, value: Any, kind: Any = _F64) -> Any:
        """A number repeated over a register."""
        undefined = ir.Constant(ir.VectorType(kind, self.width), ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(one, undefined, _places([0] * self.width))

    def total_of_two(self, a: Any, b: Any) -> Any:
        """The pair of the sums over a and over b."""
        builder = self.builder
        even = [place for lane in range(0, self.width, 2) for place in (lane, self.width + lane)]
        odd = [place + 1 for place in even]
        total = builder.fadd(builder.shuffle_vector(a, b, _places(even)), builder.shuffle_vector(a, b, _places(odd)))
        while total.type.count > 2:
            half = total.type.count // 2
            halves = [_places([*range(first, first + half)]) for first in (0, half)]
            total = builder.fadd(*(builder.shuffle_vector(total, total, places) for places in halves))
        return total


def _places(places: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(_I32, len(places)), places)


class _Row:
    """A row beside vectors, zeros after its end."""

    def __init__(self, context: Any, builder: Any, kind: Any, rows: Any, i: Any, shape: Any, home: Any) -> None:
        self.builder, self.array_type = builder, kind.types[0]
        array = context.make_array(self.array_type)(context, builder, builder.extract_value(rows, 0))
        size = builder.extract_value(array.shape, 1)
        self.start = builder.gep(array.data, [builder.mul(i, size)])
        self.near = _Near(builder, shape, size, home)

    def block(self, block: Any, is_last: bool) -> Any:
        builder, near = self.builder, self.near
        element, align = (_F64, 8) if self.array_type.dtype == types.float64 else (_F32, 4)
        vector = ir.VectorType(element, near.width)
        first = block * near.width if isinstance(block, int) else builder.mul(block, _int(near.width))
        address = builder.bitcast(builder.gep(self.start, [_int(first)]), vector.as_pointer())
        if is_last:
            left = near.spread(builder.sub(near.size, _int(first)), _I64)
            inside = builder.icmp_signed("<", ir.Constant(ir.VectorType(_I64, near.width), [*range(near.width)]), left)
            name = f"llvm.masked.load.v{near.width}f{8 * align}.p0"
            kind = ir.FunctionType(vector, [vector.as_pointer(), _I32, ir.VectorType(_I1, near.width), vector])
            masked_load = cgutils.get_or_insert_function(builder.module, kind, name)
            zeros = ir.Constant(vector, [0.0] * near.width)
            value = builder.call(masked_load, [address, ir.Constant(_I32, align), inside, zeros])
        else:
            value = builder.load(address)
            value.align = align
        return value if element == _F64 else builder.fpext(value, near.vector)

    def fetch_ahead(self, block: Any) -> None:
        """Ask for what follows the row, where rows are long: the processor does not see that the next one is there."""
        if self.near.in_registers:
            return
        builder = self.builder
        here = builder.bitcast(builder.gep(self.start, [builder.mul(block, _int(self.near.width))]), _BYTES)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_read, into_second_cache, of_data = (ir.Constant(_I32, code) for code in (0, 2, 1))
        builder.call(prefetch, [builder.gep(here, [_int(AHEAD_BYTES)]), to_read, into_second_cache, of_data])


class _Sums:
    """U·x, of two more vectors, and ‖x‖², as they come about block by block."""

    def __init__(self, near: _Near) -> None:
        self.near = near
        self.homes = [cgutils.alloca_once(near.builder, near.vector) for _ in range(4)]
        for home in self.homes:
            near.builder.store(near.zeros(), home)

    def count(self, factors: list[Any], x: Any) -> None:
        builder = self.near.builder
        for home, factor in zip(self.homes, [*factors, x], strict=True):
            builder.store(fused(builder, factor, x, builder.load(home)), home)

    def answer(self, context: Any, kind: Any, swapped: Any = None) -> Any:
        """The pair of the two, swapped where a flag says so; then U·x and ‖x‖²."""
        builder = self.near.builder
        ux, a, b, xx = (builder.load(home) for home in self.homes)
        two, rest = self.near.total_of_two(a, b), self.near.total_of_two(ux, xx)
        if swapped is not None:
            two = builder.select(swapped, builder.shuffle_vector(two, two, _places([1, 0])), two)
        numbers = [builder.extract_element(rest, ir.Constant(_I32, place)) for place in range(2)]
        return context.make_tuple(builder, kind, [two, *numbers])


_ANSWER = types.Tuple([PAIR, types.float64, types.float64])


def _copy(context: Any, builder: Any, kind: Any, table: Any, near: _Near, memory: Any, *, back: bool) -> None:
    """Copy the first columns of a table (features, kinds) to memory, one vector after the other; or back."""
    array = context.make_array(kind)(context, builder, table)
    kinds = builder.extract_value(array.shape, 1)
    with cgutils.for_range(builder, near.size) as loop:
        for vector in range(near.n_vectors):
            here = builder.gep(array.data, [builder.add(builder.mul(loop.index, kinds), _int(vector))])
            start = builder.mul(_int(near.start_of(vector)), _int(near.width))
            there = builder.gep(memory, [builder.add(start, loop.index)])
            source, target = (there, here) if back else (here, there)
            builder.store(builder.load(source), target)


def _memory(context: Any, builder: Any, near: _Near, kind: Any, buffer: Any) -> Any:
    """Where the numbers of the vectors can be addressed one by one: on the stack, or in the buffer, aligned."""
    if near.in_registers:
        size = near.n_vectors * near.blocks * near.width
        stack = cgutils.alloca_once(builder, ir.ArrayType(_F64, size))
        stack.align = ALIGNMENT  # and with it all of the frame: a register that is kept there must not straddle lines
        return builder.bitcast(stack, _F64.as_pointer())
    data = builder.ptrtoint(context.make_array(kind)(context, builder, buffer).data, _I64)
    aligned = builder.and_(builder.add(data, _int(ALIGNMENT - 1)), _int(-ALIGNMENT))
    return builder.inttoptr(aligned, _F64.as_pointer())


def _registers(near: _Near, memory: Any) -> list[tuple[int, int, Any]]:
    """The start of each vector, each block, and where they are in memory."""
    builder, found = near.builder, []
    for start in range(0, near.n_vectors * near.blocks, near.blocks):
        for block in range(near.blocks):
            place = builder.gep(memory, [_int((start + block) * near.width)])
            found.append((start, block, builder.bitcast(place, near.vector.as_pointer())))
    return found


@intrinsic
def take(typing_context, table, buffer, shape):
    """The first columns of the table, near. To be handed to what is in this file only, until `put`.

    The buffer, of zeros at first, has `room_for` them.
    """

    def codegen(context, builder, signature, args):
        size = builder.extract_value(context.make_array(table)(context, builder, args[0]).shape, 0)
        near = _Near(builder, shape, size)
        memory = _memory(context, builder, near, buffer, args[1])
        if not near.in_registers:
            _copy(context, builder, table, args[0], near, memory, back=False)
            return memory
        for _, _, place in _registers(near, memory):
            builder.store(near.zeros(), place).align = 8
        _copy(context, builder, table, args[0], near, memory, back=False)
        for start, block, place in _registers(near, memory):
            value = builder.load(place)
            value.align = 8
            near.store(value, start, block)
        return builder.bitcast(near.home, _F64.as_pointer())

    return types.CPointer(types.float64)(table, buffer, shape), codegen


@intrinsic
def put(typing_context, held, table, buffer, shape):
    """Back into the table."""

    def codegen(context, builder, signature, args):
        size = builder.extract_value(context.make_array(table)(context, builder, args[1]).shape, 0)
        near = _Near(builder, shape, size, args[0])
        memory = _memory(context, builder, near, buffer, args[2])
        if near.in_registers:
            for start, block, place in _registers(near, memory):
                builder.store(near.load(start, block), place).align = 8
        _copy(context, builder, table, args[1], near, memory, back=True)
        return context.get_dummy_value()

    return types.void(held, table, buffer, shape), codegen


@intrinsic
def has_fourth(typing_context, shape):
    """Is there a vector beside U, S⁺ and S⁻?"""
    answer = _counts(shape)[0] > 3
    return types.boolean(shape), lambda context, builder, signature, args: ir.Constant(_I1, answer)


@intrinsic
def needs_buffer(typing_context, shape):
    """Are the vectors not in registers?"""
    answer = _counts(shape)[1] == 0
    return types.boolean(shape), lambda context, builder, signature, args: ir.Constant(_I1, answer)


@exact_part
def room_for(n_columns, shape):
    """How many numbers the buffer must have room for, wherever it is aligned."""
    padded = (n_columns + WIDTH - 1) // WIDTH * WIDTH
    return 4 * padded + ALIGNMENT // 8 if needs_buffer(shape) else 0


@intrinsic
def products(typing_context, held, rows, i, shape):
    """With row x and the first three vectors U, S⁺ and S⁻: the pair S⁺·x and S⁻·x, then U·x and ‖x‖²."""

    def codegen(context, builder, signature, args):
        row = _Row(context, builder, rows, args[1], args[2], shape, args[0])
        near, sums = row.near, _Sums(row.near)

        def count(block: Any, is_last: bool) -> None:
            row.fetch_ahead(block)
            x = row.block(block, is_last)
            sums.count([near.load(near.start_of(vector), block) for vector in range(3)], x)

        near.for_each_block(count)
        return sums.answer(context, signature.return_type)

    return _ANSWER(held, rows, types.int64, shape), codegen


@intrinsic
def add_and_products(typing_context, held, rows, i, following, positive, s, a, b, shape):
    """Add a·x to U, s·x to S⁺ or S⁻, and b·x to a fourth vector if there is one; then `products` with another row.

    In one loop, if it is one: what has just been stored need not be loaded again.
    """

    def codegen(context, builder, signature, args):
        held_, rows_, i_, following_, positive_, s_, a_, b_, _ = args
        row = _Row(context, builder, rows, rows_, i_, shape, held_)
        next_row = _Row(context, builder, rows, rows_, following_, shape, held_)
        near, sums, nothing = row.near, _Sums(row.near), ir.Constant(_F64, 0.0)
        starts = [near.start_of(vector) for vector in range(near.n_vectors)]
        if near.in_registers:
            enter = [
                (starts[1], builder.select(positive_, s_, nothing)),
                (starts[2], builder.select(positive_, nothing, s_)),
            ]
        else:
            own, other = (builder.select(positive_, x, y) for x, y in ((starts[1], starts[2]), (starts[2], starts[1])))
            enter = [(own, s_), (other, None)]

        def step(block: Any, is_last: bool) -> None:
            next_row.fetch_ahead(block)
            x = row.block(block, is_last)
            moved = [near.add(a_, x, starts[0], block)]
            for start, factor in enter:
                moved.append(near.load(start, block) if factor is None else near.add(factor, x, start, block))
            if near.n_vectors > 3:
                near.add(b_, x, starts[3], block)
            sums.count(moved, next_row.block(block, is_last))

        near.for_each_block(step)
        swapped = None if near.in_registers else builder.not_(positive_)
        return sums.answer(context, signature.return_type, swapped)

    numbers = [types.float64] * 3
    return _ANSWER(held, rows, types.int64, types.int64, types.boolean, *numbers, shape), codegen


@intrinsic
def squared_sum(typing_context, held, n_columns, a, b, shape):
    """‖a·S⁺ + b·S⁻‖²."""

    def codegen(context, builder, signature, args):
        near = _Near(builder, shape, args[1], args[0])
        home = cgutils.alloca_once(builder, near.vector)
        builder.store(near.zeros(), home)
        a_, b_ = (near.spread(factor) for factor in args[2:4])

        def count(block: Any, is_last: bool) -> None:
            pos, neg = (near.load(near.start_of(vector), block) for vector in (1, 2))
            z = fused(builder, a_, pos, builder.fmul(b_, neg))
            builder.store(fused(builder, z, z, builder.load(home)), home)

        near.for_each_block(count)
        total = builder.load(home)
        return builder.extract_element(near.total_of_two(total, near.zeros()), ir.Constant(_I32, 0))

    return types.float64(held, types.int64, types.float64, types.float64, shape), codegen
