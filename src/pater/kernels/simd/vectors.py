"""Loops over the columns of a triangle.

Knows `registers` and `dense_rows`; knows nothing of learning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from .dense_rows import Sums
from .registers import F64, FEW, I1, WIDTH, Words, integer

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


def _for_fours(builder: Any, count: Any, body: Callable[[Words, Any], None]) -> None:
    """Call `body(words, place)` for eight of so many numbers, a multiple of four, at a time; then for four, if left."""
    eights = builder.udiv(count, integer(WIDTH))
    with cgutils.for_range(builder, eights) as loop:
        body(Words(builder), builder.mul(loop.index, integer(WIDTH)))
    with builder.if_then(builder.trunc(builder.udiv(count, integer(FEW)), I1)):
        body(Words(builder, FEW), builder.mul(eights, integer(WIDTH)))


@intrinsic
def dot_four_columns(typing_context, triangle, j, x):
    """The products of the first j numbers, a multiple of four, of the columns j … j + 3 of a packed triangle with x."""

    def codegen(context, builder, signature, args):
        words = Words(builder)
        (data, _), (x_data, _) = (words.array(context, signature.args[n], args[n]) for n in (0, 2))
        columns, sums = _columns(words, data, args[1]), {width: Sums(Words(builder, width)) for width in (WIDTH, FEW)}

        def count(words: Words, place: Any) -> None:
            sums[words.width].count([words.load(u, place) for u in columns], words.load(x_data, place))

        _for_fours(builder, args[1], count)
        totals = [builder.fadd(a, b) for a, b in zip(sums[WIDTH].totals(), sums[FEW].totals(), strict=True)]
        return context.make_tuple(builder, signature.return_type, totals)

    return _FOUR(triangle, types.int64, x), codegen


@intrinsic
def turn_four_columns(typing_context, triangle, j, k, f):
    """For the columns u of `dot_four_columns`, one after the other: u ← u + f·k and k ← k + v·u of before."""

    def codegen(context, builder, signature, args):
        words = Words(builder)
        (data, _), (k_data, _), (f_data, _) = (words.array(context, signature.args[n], args[n]) for n in (0, 2, 3))
        columns, places = _columns(words, data, args[1]), [builder.add(args[1], integer(n)) for n in range(4)]
        turns, gains = ([words.number(base, place, F64) for place in places] for base in (f_data, k_data))

        def turn(words: Words, place: Any) -> None:
            k_now = words.load(k_data, place)
            for column, turn_, gain in zip(columns, turns, gains, strict=True):
                u = words.load(column, place)
                words.store(words.fma(k_now, words.spread(turn_), u), column, place)
                k_now = words.fma(u, words.spread(gain), k_now)
            words.store(k_now, k_data, place)

        _for_fours(builder, args[1], turn)
        return context.get_dummy_value()

    return types.void(triangle, types.int64, k, f), codegen
