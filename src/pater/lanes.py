"""Four vectors side by side: the two loops in which the lazy pass spends its time.

Knows Numba and LLVM; knows nothing of learning.

The lazy form of a mean rule needs U, S⁺, S⁻ and V at the same places. Kept as one array of shape (d, 4), the four
numbers of a feature share a cache line and a vector register, so that a non-zero costs one load and one fused
multiply-add where separate arrays cost three gathers. Numba's vectoriser does not find this form (measured: 350 ns
against 180 ns a row of 70 non-zeros), hence LLVM.

Rows are a tuple: `(X,)` dense in C order, or `(indptr, indices, data)`, CSR with unsigned indices.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 4
_F64, _I64, _I32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)

_UNROLL = 4  # independent sums, enough to hide the time that an addition takes
_VECTOR = ir.VectorType(_F64, LANES)


def _int(value: int) -> ir.Constant:
    return ir.Constant(_I64, value)


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c."""
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


class _Row:
    """Row i of `rows` beside the table of lanes."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        rows_type, i_type, table_type = signature.args[:3]
        self.builder = builder
        arrays = [
            context.make_array(kind)(context, builder, builder.extract_value(args[0], place))
            for place, kind in enumerate(rows_type.types)
        ]
        table = context.make_array(table_type)(context, builder, args[2])
        self.table = builder.bitcast(table.data, _VECTOR.as_pointer())
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

    def _index(self, value: Any) -> Any:
        return self.builder.zext(value, _I64) if value.type.width < _I64.width else value

    def element(self, place: Any) -> tuple[Any, Any, Any]:
        """An element of the row, the same repeated over the lanes, and the address of the lanes that it meets."""
        builder = self.builder
        j = place if self.indices is None else self._index(builder.load(builder.gep(self.indices, [place])))
        x = builder.load(builder.gep(self.data, [place]))
        x = x if x.type == _F64 else builder.fpext(x, _F64)
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, x, ir.Constant(_I32, 0))
        spread = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))
        return x, spread, builder.gep(self.table, [j])


@intrinsic
def dot_lanes(typing_context, rows, i, table):
    """The four products table[:, lane]·x with row x, and ‖x‖²."""
    signature = types.UniTuple(types.float64, LANES + 1)(rows, i, table)

    def codegen(context, builder, signature, args):
        row = _Row(context, builder, signature, args)
        zero, zeros = ir.Constant(_F64, 0.0), ir.Constant(_VECTOR, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(_UNROLL)]
        squares = [cgutils.alloca_once_value(builder, zero) for _ in range(_UNROLL)]

        def accumulate(place, slot):
            x, spread, address = row.element(place)
            lanes = builder.load(address)
            lanes.align = 8
            builder.store(_fma(builder, lanes, spread, builder.load(sums[slot])), sums[slot])
            builder.store(_fma(builder, x, x, builder.load(squares[slot])), squares[slot])

        rounds = builder.udiv(row.size, _int(_UNROLL))
        with cgutils.for_range(builder, rounds) as loop:
            start = builder.mul(loop.index, _int(_UNROLL))
            for slot in range(_UNROLL):
                accumulate(builder.add(start, _int(slot)), slot)
        done = builder.mul(rounds, _int(_UNROLL))
        with cgutils.for_range(builder, builder.sub(row.size, done)) as loop:
            accumulate(builder.add(done, loop.index), 0)

        def total(partial):
            values = [builder.load(part) for part in partial]
            while len(values) > 1:
                values = [builder.fadd(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
            return values[0]

        lanes = total(sums)
        products = [builder.extract_element(lanes, ir.Constant(_I32, lane)) for lane in range(LANES)]
        return context.make_tuple(builder, signature.return_type, [*products, total(squares)])

    return signature, codegen


@intrinsic
def add_lanes(typing_context, rows, i, table, a, b, c, d):
    """table[:, lane] ← table[:, lane] + coefficient·x with row x, a coefficient for each lane."""
    signature = types.void(rows, i, table, *[types.float64] * LANES)

    def codegen(context, builder, signature, args):
        row = _Row(context, builder, signature, args)
        coefficients = ir.Constant(_VECTOR, ir.Undefined)
        for lane, value in enumerate(args[-LANES:]):
            coefficients = builder.insert_element(coefficients, value, ir.Constant(_I32, lane))
        with cgutils.for_range(builder, row.size) as loop:
            _, spread, address = row.element(loop.index)
            lanes = builder.load(address)
            lanes.align = 8
            builder.store(_fma(builder, coefficients, spread, lanes), address).align = 8
        return context.get_dummy_value()

    return signature, codegen
