"""Vectors side by side: the loops in which the lazy passes spend their time.

Knows Numba and LLVM; knows nothing of learning.

The lazy form of a mean rule needs U, S⁺, S⁻ and V at the same places. Kept as one table of shape (d, 4), the four
numbers of a feature share a cache line and a vector register, so that a non-zero costs one load and one fused
multiply-add where separate arrays cost three gathers. Numba's vectoriser does not find this form (measured: 350 ns
against 180 ns a row of 70 non-zeros), hence LLVM. Models that read the same rows are kept as (d, 24) or (d, 16), as
`batched_layout` says: there a register holds the same vector of eight models.

Rows are a tuple: `(X,)` dense in C order, or `(indptr, indices, data)`, CSR with unsigned indices. The sums are formed
in the same order in both kinds of table, so that a model's numbers do not depend on where it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..batched_layout import LINE

LANES = 4
_UNROLL = 4  # independent sums, enough to hide the time that an addition takes
_AHEAD = 96  # non-zeros: how far ahead of its use a cell of the table is asked for, into the second-level cache
_F64, _I64, _I32, _BYTES = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()


def _int(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c."""
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


class _Row:
    """Row i of `rows` beside a table whose cells are `width` numbers."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, width: int) -> None:
        rows_type, i_type, table_type = signature.args[:3]
        self.builder, self.width, self.vector = builder, width, ir.VectorType(_F64, width)
        arrays = [
            context.make_array(kind)(context, builder, builder.extract_value(args[0], place))
            for place, kind in enumerate(rows_type.types)
        ]
        table = context.make_array(table_type)(context, builder, args[2])
        self.table = builder.bitcast(table.data, self.vector.as_pointer())
        i = context.cast(builder, args[1], i_type, types.int64)
        if len(arrays) == 1:
            self.indices, self.size = None, builder.extract_value(arrays[0].shape, 1)
            self.data = builder.gep(arrays[0].data, [builder.mul(i, self.size)])
        else:
            indptr = arrays[0].data
            first = self._index(builder.load(builder.gep(indptr, [i])))
            last = self._index(builder.load(builder.gep(indptr, [builder.add(i, _int(1))])))
            self.size = builder.sub(last, first)
            self.indices, self.data = (builder.gep(array.data, [first]) for array in arrays[1:])
            n_rows = builder.sub(builder.extract_value(arrays[0].shape, 0), _int(1))
            end = self._index(builder.load(builder.gep(indptr, [n_rows])))
            self.last = builder.sub(builder.sub(end, first), _int(1))  # of all rows, counted from this one's first

    def _index(self, value: Any) -> Any:
        return self.builder.zext(value, _I64) if value.type.width < _I64.width else value

    def column(self, place: Any) -> Any:
        return (
            place if self.indices is None else self._index(self.builder.load(self.builder.gep(self.indices, [place])))
        )

    def value(self, place: Any) -> tuple[Any, Any]:
        """An element of the row, and the same repeated over a cell."""
        builder = self.builder
        x = builder.load(builder.gep(self.data, [place]))
        x = x if x.type == _F64 else builder.fpext(x, _F64)
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = builder.insert_element(undefined, x, ir.Constant(_I32, 0))
        everywhere = ir.Constant(ir.VectorType(_I32, self.width), [0] * self.width)
        return x, builder.shuffle_vector(first, undefined, everywhere)

    def load(self, cell: Any) -> Any:
        value = self.builder.load(self.builder.gep(self.table, [cell]))
        value.align = 8
        return value

    def store(self, value: Any, cell: Any) -> None:
        self.builder.store(value, self.builder.gep(self.table, [cell])).align = 8

    def fetch_ahead(self, place: Any, cells: int, cell_of: Callable[[Any, int], Any]) -> None:
        """Ask for the `cells` cells of a feature that a later non-zero will meet, should there be one."""
        if self.indices is None:
            return
        builder = self.builder
        ahead = builder.add(place, _int(_AHEAD))
        ahead = builder.select(builder.icmp_signed("<", ahead, self.last), ahead, self.last)
        column = self.column(ahead)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        for cell in range(cells):
            address = builder.bitcast(builder.gep(self.table, [cell_of(column, cell)]), _BYTES)
            builder.call(prefetch, [address, *(ir.Constant(_I32, code) for code in (0, 2, 1))])

    def square_last(self, cell: Any, spread: Any) -> Any:
        """The cell with its last number replaced by x, so that its product with x is x²."""
        last = self.width - 1
        mask = ir.Constant(ir.VectorType(_I32, self.width), [*range(last), self.width + last])
        return self.builder.shuffle_vector(cell, spread, mask)

    def products(
        self, cells: int, cell_of: Callable[[Any, int], Any], *, square: Literal["last", "apart", "no"]
    ) -> tuple[list[Any], Any]:
        """For each of the cells that a feature has: the sum over the row of cell·x; and ‖x‖², if it is to be apart."""
        builder = self.builder
        zero, zeros = ir.Constant(_F64, 0.0), ir.Constant(self.vector, [0.0] * self.width)
        sums = [[cgutils.alloca_once_value(builder, zeros) for _ in range(_UNROLL)] for _ in range(cells)]
        squares = [cgutils.alloca_once_value(builder, zero) for _ in range(_UNROLL)]

        def accumulate(place: Any, slot: int) -> None:
            x, spread = self.value(place)
            column = self.column(place)
            self.fetch_ahead(place, cells, cell_of)
            for cell in range(cells):
                total = sums[cell][slot]
                loaded = self.load(cell_of(column, cell))
                if square == "last":
                    loaded = self.square_last(loaded, spread)
                builder.store(_fma(builder, loaded, spread, builder.load(total)), total)
            if square == "apart":
                builder.store(_fma(builder, x, x, builder.load(squares[slot])), squares[slot])

        rounds = builder.udiv(self.size, _int(_UNROLL))
        with cgutils.for_range(builder, rounds) as loop:
            start = builder.mul(loop.index, _int(_UNROLL))
            for slot in range(_UNROLL):
                accumulate(builder.add(start, _int(slot)), slot)
        done = builder.mul(rounds, _int(_UNROLL))
        with cgutils.for_range(builder, builder.sub(self.size, done)) as loop:
            accumulate(builder.add(done, loop.index), 0)

        def total(partial: list[Any]) -> Any:
            values = [builder.load(part) for part in partial]
            while len(values) > 1:
                values = [builder.fadd(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
            return values[0]

        return [total(each) for each in sums], total(squares)


def _four_sums(context: Any, builder: Any, signature: Any, args: Any, square: Literal["last", "no"]) -> Any:
    row = _Row(context, builder, signature, args, LANES)
    (lanes,), _ = row.products(1, lambda column, _: column, square=square)
    sums = [builder.extract_element(lanes, ir.Constant(_I32, lane)) for lane in range(LANES)]
    return context.make_tuple(builder, signature.return_type, sums)


@intrinsic
def dot_lanes(typing_context, rows, i, table):
    """The four products table[:, lane]·x with row x."""

    def codegen(context, builder, signature, args):
        return _four_sums(context, builder, signature, args, "no")

    return types.UniTuple(types.float64, LANES)(rows, i, table), codegen


@intrinsic
def dot_and_square(typing_context, rows, i, table):
    """U·x, S⁺·x and S⁻·x with row x; and ‖x‖² in the place of V·x, which no step needs."""

    def codegen(context, builder, signature, args):
        return _four_sums(context, builder, signature, args, "last")

    return types.UniTuple(types.float64, LANES)(rows, i, table), codegen


@intrinsic
def add_lanes(typing_context, rows, i, table, a, b, c, d):
    """table[:, lane] ← table[:, lane] + coefficient·x with row x, a coefficient for each lane."""
    signature = types.void(rows, i, table, *[types.float64] * LANES)

    def codegen(context, builder, signature, args):
        row = _Row(context, builder, signature, args, LANES)
        coefficients = ir.Constant(row.vector, ir.Undefined)
        for lane, value in enumerate(args[-LANES:]):
            coefficients = builder.insert_element(coefficients, value, ir.Constant(_I32, lane))
        with cgutils.for_range(builder, row.size) as loop:
            _, spread = row.value(loop.index)
            cell = row.column(loop.index)
            row.store(_fma(builder, coefficients, spread, row.load(cell)), cell)
        return context.get_dummy_value()

    return signature, codegen


def _line_of(context: Any, builder: Any, kind: Any, table: Any) -> Callable[[Any, Any], Any]:
    """Where a line of the cell of a feature is in a herd's table, counted in lines."""
    width = builder.extract_value(context.make_array(kind)(context, builder, table).shape, 1)
    lines = builder.udiv(width, _int(LINE))
    return lambda column, line: builder.add(builder.mul(column, lines), line)


def _dot_lines(n_lines: int) -> Any:
    @intrinsic
    def dot(typing_context, rows, i, table, products):
        def codegen(context, builder, signature, args):
            row = _Row(context, builder, signature, args, LINE)
            line_of = _line_of(context, builder, table, args[2])
            totals, xx = row.products(n_lines, lambda column, line: line_of(column, _int(line)), square="apart")
            out = context.make_array(signature.args[3])(context, builder, args[3]).data
            out = builder.bitcast(out, row.vector.as_pointer())
            for line, total in enumerate(totals):
                builder.store(total, builder.gep(out, [_int(line)])).align = 8
            return xx

        return types.float64(rows, i, table, products), codegen

    return dot


dot_herd = _dot_lines(3)  # ‖x‖²; and table·x of all lines into `products`, one after the other
dot_sharing_herd = _dot_lines(2)


@intrinsic
def add_herd(typing_context, rows, i, table, coefficients, line):
    """table ← table + coefficients·x, in the first line and in another."""
    signature = types.void(rows, i, table, coefficients, line)

    def codegen(context, builder, signature, args):
        row = _Row(context, builder, signature, args, LINE)
        base = context.make_array(signature.args[3])(context, builder, args[3]).data
        base = builder.bitcast(base, row.vector.as_pointer())
        lines = [_int(0), context.cast(builder, args[4], signature.args[4], types.int64)]
        each = [builder.load(builder.gep(base, [line])) for line in lines]
        for value in each:
            value.align = 8
        line_of = _line_of(context, builder, table, args[2])
        with cgutils.for_range(builder, row.size) as loop:
            _, spread = row.value(loop.index)
            column = row.column(loop.index)
            for line, coefficient in zip(lines, each, strict=True):
                cell = line_of(column, line)
                row.store(_fma(builder, coefficient, spread, row.load(cell)), cell)
        return context.get_dummy_value()

    return signature, codegen
