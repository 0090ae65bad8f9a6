"""Two numbers in one register: one of each class.

A mean rule keeps nearly everything for both classes, and treats both alike. Pairs take half the instructions and half
the registers, and the class of a row becomes a factor of 0 instead of a branch that cannot be predicted.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, overload, register_model

from .registers import F64, I32, Words

_TWO = ir.VectorType(F64, 2)


class Pair(types.Type):
    """Numba's type of a pair."""


PAIR = Pair("pater.Pair")
register_model(Pair)(lambda manager, kind: models.PrimitiveModel(manager, kind, _TWO))


def _join(builder: Any, a: Any, b: Any) -> Any:
    first = builder.insert_element(ir.Constant(_TWO, ir.Undefined), a, ir.Constant(I32, 0))
    return builder.insert_element(first, b, ir.Constant(I32, 1))


def _both(builder: Any, kind: Any, value: Any) -> Any:
    """The pair itself, or a number as both numbers of a pair."""
    return value if kind is PAIR else _join(builder, value, value)


@intrinsic
def pair(typing_context, a, b):
    return PAIR(types.float64, types.float64), lambda context, builder, signature, args: _join(builder, *args)


def _element(place: int) -> Any:
    def codegen(context, builder, signature, args):
        return builder.extract_element(args[0], ir.Constant(I32, place))

    return codegen


@intrinsic
def first(typing_context, a):
    return types.float64(PAIR), _element(0)


@intrinsic
def second(typing_context, a):
    return types.float64(PAIR), _element(1)


@intrinsic
def larger(typing_context, a, b):
    def codegen(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", args[1], args[0]), args[1], args[0])

    return PAIR(PAIR, PAIR), codegen


@intrinsic
def fma(typing_context, a, b, c):
    kinds = [PAIR if kind is PAIR else types.float64 for kind in (a, b, c)]
    answer = PAIR if PAIR in kinds else types.float64

    def codegen(context, builder, signature, args):
        if answer is PAIR:
            args = [_both(builder, kind, value) for kind, value in zip(kinds, args, strict=True)]
        return Words(builder).fma(*args)

    return answer(*kinds), codegen


def _of_pairs(symbol: Any, name: str) -> None:
    """Let an operator take pairs, or a pair and a number."""

    @intrinsic
    def operation(typing_context, a, b):
        kinds = [PAIR if kind is PAIR else types.float64 for kind in (a, b)]

        def codegen(context, builder, signature, args):
            return getattr(builder, name)(*(_both(builder, kind, v) for kind, v in zip(kinds, args, strict=True)))

        return PAIR(*kinds), codegen

    overload(symbol)(lambda a, b: (lambda a, b: operation(a, b)) if PAIR in (a, b) else None)


_of_pairs(operator.add, "fadd")
_of_pairs(operator.mul, "fmul")
_of_pairs(operator.truediv, "fdiv")
