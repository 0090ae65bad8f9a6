"""Sparse rows against tables in which the numbers of a feature are adjacent.

`rows` is `(indptr, indices, data)`, CSR with unsigned indices; `table` (features, numbers) is in C order. With four
numbers a feature, U, S⁺, S⁻ and V, a non-zero costs one load and one fused multiply-add where separate arrays cost
three gathers: 180 ns a row of 70 non-zeros instead of 350; Numba's vectoriser does not find this form. Models that read
the same rows are side by side in lines of eight numbers.

Sums are formed in the same order for one model and for many, so a model's numbers do not depend on its layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from llvmlite import ir
from numba.core import cgutils

from .registers import F32, F64, I32, WIDTH, Words, integer, places

CELL = 4  # numbers of a feature, for one model
_UNROLL = 4  # independent sums, enough to hide the latency of an addition
_AHEAD = 96  # non-zeros: how far ahead of its use a feature's numbers are prefetched

Square = Literal["last", "apart", "no"]


class SparseRow:
    """Row i and a table read in registers: `place_of(column, n)` is where the n-th register of a column starts."""

    def __init__(self, words: Words, context: Any, kind: Any, rows: Any, i: Any, table: Any) -> None:
        self.words, self.table, builder = words, table, words.builder
        arrays = [
            words.array(context, each, builder.extract_value(rows, place)) for place, each in enumerate(kind.types)
        ]
        pointer, index, number = (context.get_data_type(each.dtype) for each in kind.types)
        (indptr, (n,)), (indices, _), (data, _) = arrays
        first = words.number(indptr, i, pointer)
        self.size = builder.sub(words.number(indptr, builder.add(i, integer(1)), pointer), first)
        end = words.number(indptr, builder.sub(n, integer(1)), pointer)
        self.last = builder.sub(builder.sub(end, first), integer(1))  # of all rows, counted from this one's first
        self.indices, self.index = words.address(indices, first, index), index
        self.element = F32 if number == F32 else F64
        self.data = words.address(data, first, self.element)

    def column(self, place: Any) -> Any:
        return self.words.number(self.indices, place, self.index)

    def value(self, place: Any) -> Any:
        return self.words.number(self.data, place, self.element)

    def fetch_ahead(self, place: Any, count: int, place_of: Callable[[Any, int], Any]) -> None:
        """Prefetch the numbers of the table that a later non-zero needs."""
        builder = self.words.builder
        ahead = builder.add(place, integer(_AHEAD))
        ahead = builder.select(builder.icmp_signed("<", ahead, self.last), ahead, self.last)
        column = self.column(ahead)
        for n in range(count):
            self.words.prefetch(self.words.address(self.table, place_of(column, n)))

    def products(self, count: int, place_of: Callable[[Any, int], Any], square: Square) -> tuple[list[Any], Any]:
        """For each of the registers of a feature, the sum over the row of register·x; and ‖x‖².

        `square` says whether ‖x‖² replaces the register's last number, is formed apart, or not at all.
        """
        words, builder = self.words, self.words.builder
        sums = [[words.variable(words.zeros) for _ in range(_UNROLL)] for _ in range(count)]
        squares = [words.variable(ir.Constant(F64, 0.0)) for _ in range(_UNROLL)]
        with_x = places([*range(words.width - 1), 2 * words.width - 1])

        def accumulate(place: Any, slot: int) -> None:
            x = self.value(place)
            spread, column = words.spread(x), self.column(place)
            self.fetch_ahead(place, count, place_of)
            for n in range(count):
                loaded = words.load(self.table, place_of(column, n))
                if square == "last":
                    loaded = builder.shuffle_vector(loaded, spread, with_x)
                home = sums[n][slot]
                builder.store(words.fma(loaded, spread, builder.load(home, typ=words.register)), home)
            if square == "apart":
                builder.store(words.fma(x, x, builder.load(squares[slot], typ=F64)), squares[slot])

        rounds = builder.udiv(self.size, integer(_UNROLL))
        with cgutils.for_range(builder, rounds) as loop:
            start = builder.mul(loop.index, integer(_UNROLL))
            for slot in range(_UNROLL):
                accumulate(builder.add(start, integer(slot)), slot)
        done = builder.mul(rounds, integer(_UNROLL))
        with cgutils.for_range(builder, builder.sub(self.size, done)) as loop:
            accumulate(builder.add(done, loop.index), 0)

        def total(homes: list[Any], kind: Any) -> Any:
            values = [builder.load(home, typ=kind) for home in homes]
            while len(values) > 1:
                values = [builder.fadd(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
            return values[0]

        return [total(each, words.register) for each in sums], total(squares, F64)

    def add(self, coefficients: list[Any], place_of: Callable[[Any, int], Any]) -> None:
        """Add coefficient·x to each of the registers of a feature."""
        words = self.words
        with cgutils.for_range(words.builder, self.size) as loop:
            spread, column = words.spread(self.value(loop.index)), self.column(loop.index)
            for n, coefficient in enumerate(coefficients):
                place = place_of(column, n)
                words.store(words.fma(coefficient, spread, words.load(self.table, place)), self.table, place)


def _cells(words: Words) -> Callable[[Any, int], Any]:
    return lambda column, _: words.builder.mul(column, integer(CELL))


def sparse_products(context: Any, builder: Any, signature: Any, args: Any, square: Square = "last") -> Any:
    """`products` of a sparse row; without the square, V·x in its place."""
    words = Words(builder, CELL)
    table, _ = words.array(context, signature.args[-1], args[-1])
    row = SparseRow(words, context, signature.args[0], args[0], args[1], table)
    (cell,), _ = row.products(1, _cells(words), square)
    sums = [builder.extract_element(cell, ir.Constant(I32, lane)) for lane in range(CELL)]
    return context.make_tuple(builder, signature.return_type, sums)


def sparse_add_and_products(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """`add_and_products` of a sparse row."""
    words = Words(builder, CELL)
    rows, i, following, table, positive, s, a, b = args
    data, _ = words.array(context, signature.args[3], table)
    zero, coefficients = ir.Constant(F64, 0.0), ir.Constant(words.register, ir.Undefined)
    each = (a, builder.select(positive, s, zero), builder.select(positive, zero, s), b)
    for lane, value in enumerate(each):
        coefficients = builder.insert_element(coefficients, value, ir.Constant(I32, lane))
    SparseRow(words, context, signature.args[0], rows, i, data).add([coefficients], _cells(words))
    kinds = (signature.args[0], signature.args[2], signature.args[3])
    return sparse_products(context, builder, signature.return_type(*kinds), (rows, following, table))


def _lines(words: Words, numbers: Any, line_at: Callable[[int], Any]) -> Callable[[Any, int], Any]:
    builder = words.builder
    return lambda column, n: builder.add(builder.mul(column, numbers), builder.mul(line_at(n), integer(WIDTH)))


def line_products(context: Any, builder: Any, signature: Any, args: Any, count: int) -> Any:
    """Write the products with all lines of a feature to an array; return ‖x‖²."""
    words = Words(builder)
    table, (_, numbers) = words.array(context, signature.args[2], args[2])
    row = SparseRow(words, context, signature.args[0], args[0], args[1], table)
    totals, xx = row.products(count, _lines(words, numbers, integer), "apart")
    out, _ = words.array(context, signature.args[3], args[3])
    for n, total in enumerate(totals):
        words.store(total, out, integer(n * WIDTH))
    return xx


def add_lines(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Add coefficients·x to the first line of a feature, and to another."""
    words = Words(builder)
    rows, i, table, coefficients, line = args
    data, (_, numbers) = words.array(context, signature.args[2], table)
    base, _ = words.array(context, signature.args[3], coefficients)
    lines = [integer(0), line]
    each = [words.load(base, builder.mul(n, integer(WIDTH))) for n in lines]
    row = SparseRow(words, context, signature.args[0], rows, i, data)
    row.add(each, _lines(words, numbers, lambda n: lines[n]))
    return context.get_dummy_value()
