"""Loops over whole vectors: the columns of a triangle, and the vectors of a model with a dense row of many columns.

Knows `registers` and `dense_rows`; knows nothing of learning.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from .dense_rows import Sums
from .registers import AHEAD_BYTES, BYTE, F32, F64, Words, integer

_FOUR = types.UniTuple(types.float64, 4)


def _columns(words: Words, triangle: Any, j: Any) -> list[Any]:
    """Where the columns j, j + 1, j + 2 and j + 3 of a packed triangle start."""
    builder = words.builder
    start = builder.udiv(builder.mul(j, builder.add(j, integer(1))), integer(2))
    found = []
    for n in range(1, 5):
        found.append(words.address(triangle, start))
        start = builder.add(start, builder.add(j, integer(n)))
    return found


@intrinsic
def dot_four_columns(typing_context, triangle, j, x):
    """The products of the first j numbers of the columns j … j + 3 of a packed triangle with x."""

    def codegen(context, builder, signature, args):
        words = Words(builder)
        (data, _), (x_data, _) = (words.array(context, signature.args[n], args[n]) for n in (0, 2))
        columns, sums = _columns(words, data, args[1]), Sums(words)

        def count(place: Any, mask: Any) -> None:
            sums.count([words.load(u, place, F64, mask) for u in columns], words.load(x_data, place, F64, mask))

        words.for_each_register(args[1], count)
        return context.make_tuple(builder, signature.return_type, sums.totals())

    return _FOUR(triangle, types.int64, x), codegen


@intrinsic
def turn_four_columns(typing_context, triangle, j, k, turns, gains):
    """For the columns u of `dot_four_columns`, one after the other: u ← u + turn·k and k ← k + gain·u of before."""

    def codegen(context, builder, signature, args):
        words = Words(builder)
        (data, _), (k_data, _) = (words.array(context, signature.args[n], args[n]) for n in (0, 2))
        columns = _columns(words, data, args[1])
        turns_, gains_ = ([words.spread(builder.extract_value(four, n)) for n in range(4)] for four in args[3:])

        def turn(place: Any, mask: Any) -> None:
            k_now = words.load(k_data, place, F64, mask)
            for column, turn_, gain in zip(columns, turns_, gains_, strict=True):
                u = words.load(column, place, F64, mask)
                words.store(words.fma(k_now, turn_, u), column, place, mask)
                k_now = words.fma(u, gain, k_now)
            words.store(k_now, k_data, place, mask)

        words.for_each_register(args[1], turn)
        return context.get_dummy_value()

    return types.void(triangle, types.int64, k, _FOUR, _FOUR), codegen


@intrinsic
def move_and_enter(typing_context, x, s, w, own, other, step_own, step_other, a_own, minus_a_other):
    """Move w ← w + step_own·own + step_other·other, and then enter x, own ← own + s·x.

    The answer is w·x with that w, ‖x‖² and ‖a_own·own + minus_a_other·other‖² with that own.
    """
    kinds = [x, types.float64, w, own, other, *[types.float64] * 4]

    def codegen(context, builder, signature, args):
        words = Words(builder)
        arrays = [words.array(context, signature.args[n], args[n]) for n in (0, 2, 3, 4)]
        (x_, (size,)), (w_, _), (own_, _), (other_, _) = arrays
        s_, step, step_other_, a, minus_a = (words.spread(args[n]) for n in (1, 5, 6, 7, 8))
        element = F64 if x.dtype == types.float64 else F32
        sums = Sums(words)

        def each(place: Any, mask: Any) -> None:
            words.prefetch(words.address(words.address(x_, place, element), integer(AHEAD_BYTES), BYTE))
            row = words.load(x_, place, element, mask)
            w_now, mine, theirs = (words.load(vector, place, F64, mask) for vector in (w_, own_, other_))
            # in this order it is the same whichever class is called own, and exactly negated with the classes
            along = builder.fadd(builder.fmul(step, mine), builder.fmul(step_other_, theirs))
            w_now = builder.fadd(w_now, along)
            words.store(w_now, w_, place, mask)
            mine = words.fma(s_, row, mine)
            words.store(mine, own_, place, mask)
            z = words.fma(a, mine, builder.fmul(minus_a, theirs))
            sums.add([(w_now, row), (row, row), (z, z), (row, words.zeros)])

        words.for_each_register(size, each)
        return context.make_tuple(builder, signature.return_type, sums.totals()[:3])

    return types.UniTuple(types.float64, 3)(*kinds), codegen
