"""Loops over the columns of a triangle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from .dense_rows import Sums
from .registers import FEW, I1, WIDTH, Words, integer


def _columns(words: Words, triangle: Any, j: Any) -> list[Any]:
    """The addresses of the columns j, j + 1, j + 2 and j + 3 of a packed triangle."""
    builder = words.builder
    start = builder.udiv(builder.mul(j, builder.add(j, integer(1))), integer(2))
    found = []
    for n in range(1, 5):
        found.append(words.address(triangle, start))
        start = builder.add(start, builder.add(j, integer(n)))
    return found


def _for_fours(builder: Any, count: Any, body: Callable[[Words, Any], None]) -> None:
    """Call `body(words, place)` for eight of `count` numbers, a multiple of four, at a time; then for four, if left."""
    eights = builder.udiv(count, integer(WIDTH))
    with cgutils.for_range(builder, eights) as loop:
        body(Words(builder), builder.mul(loop.index, integer(WIDTH)))
    with builder.if_then(builder.trunc(builder.udiv(count, integer(FEW)), I1)):
        body(Words(builder, FEW), builder.mul(eights, integer(WIDTH)))


@intrinsic
def project_four_columns(typing_context, triangle, j, x, f):
    def codegen(context, builder, signature, args):
        words = Words(builder)
        (data, _), (x_data, _), (f_data, _) = (words.array(context, signature.args[n], args[n]) for n in (0, 2, 3))
        columns, sums = _columns(words, data, args[1]), {width: Sums(Words(builder, width)) for width in (WIDTH, FEW)}

        def count(words: Words, place: Any) -> None:
            sums[words.width].count([words.load(u, place) for u in columns], words.load(x_data, place))

        _for_fours(builder, args[1], count)
        totals = [builder.fadd(a, b) for a, b in zip(sums[WIDTH].totals(), sums[FEW].totals(), strict=True)]
        places = [builder.add(args[1], integer(n)) for n in range(4)]
        own = [words.number(x_data, place) for place in places]
        for n, (column, total) in enumerate(zip(columns, totals, strict=True)):
            for place, number in zip(places[:n], own, strict=False):
                total = builder.fadd(total, builder.fmul(words.number(column, place), number))
            builder.store(builder.fadd(total, own[n]), words.address(f_data, places[n]))
        return context.get_dummy_value()

    return types.void(triangle, types.int64, x, f), codegen


@intrinsic
def absorb_four_columns(typing_context, triangle, j, f, k, alpha):
    def codegen(context, builder, signature, args):
        words = Words(builder)
        (data, _), (f_data, _), (k_data, _) = (words.array(context, signature.args[n], args[n]) for n in (0, 2, 3))
        columns, places = _columns(words, data, args[1]), [builder.add(args[1], integer(n)) for n in range(4)]
        alpha, turns, gains = args[4], [], []
        for column, place in zip(columns, places, strict=True):
            d, f_now, before = words.number(column, place), words.number(f_data, place), alpha
            gains.append(builder.fmul(d, f_now))
            turns.append(builder.fdiv(builder.fneg(f_now), before))
            alpha = builder.fadd(before, builder.fmul(gains[-1], f_now))
            builder.store(builder.fmul(d, builder.fdiv(before, alpha)), words.address(column, place))

        def turn(words: Words, place: Any) -> None:
            k_now = words.load(k_data, place)
            for column, turn_, gain in zip(columns, turns, gains, strict=True):
                u = words.load(column, place)
                words.store(words.fma(k_now, words.spread(turn_), u), column, place)
                k_now = words.fma(u, words.spread(gain), k_now)
            words.store(k_now, k_data, place)

        _for_fours(builder, args[1], turn)
        k_now: list[Any] = []  # of the corner where the four columns meet
        for n, column in enumerate(columns):
            for i in range(n):
                u = words.number(column, places[i])
                builder.store(builder.fadd(u, builder.fmul(turns[n], k_now[i])), words.address(column, places[i]))
                k_now[i] = builder.fadd(k_now[i], builder.fmul(gains[n], u))
            k_now.append(gains[n])
        for place, number in zip(places, k_now, strict=True):
            builder.store(number, words.address(k_data, place))
        return alpha

    return types.float64(triangle, types.int64, f, k, types.float64), codegen
