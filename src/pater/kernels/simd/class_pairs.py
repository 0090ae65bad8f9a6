"""Two numbers in one register: one for each class.

Knows Numba and LLVM; knows nothing of learning. Nearly all that a mean rule keeps, it keeps of both classes, and does
the same with both. As pairs that is half the instructions and half the registers, and which class a row is of becomes a
factor of 0 instead of a branch that cannot be predicted.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, overload, register_model

_F64, _I32 = ir.DoubleType(), ir.IntType(32)
_PAIR = ir.VectorType(_F64, 2)


class _Pair(types.Type):
    def __init__(self) -> None:
        super().__init__(name="pater.Pair")


PAIR = _Pair()


@register_model(_Pair)
class _PairModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _PAIR)


def _at(place: int) -> ir.Constant:
    return ir.Constant(_I32, place)


def _join(builder: Any, a: Any, b: Any) -> Any:
    return builder.insert_element(builder.insert_element(ir.Constant(_PAIR, ir.Undefined), a, _at(0)), b, _at(1))


def _both(builder: Any, kind: Any, value: Any) -> Any:
    """The pair itself, or a number as both numbers of a pair."""
    return value if kind is PAIR else _join(builder, value, value)


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c, rounded once on every machine that can: the result does not depend on what stands around it."""
    kind = a.type
    name = f"llvm.fmuladd.{'f64' if kind == _F64 else f'v{kind.count}f64'}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(function, [a, b, c])


def _kinds(*arguments: Any) -> list[Any]:
    return [PAIR if kind is PAIR else types.float64 for kind in arguments]


@intrinsic
def pair(typing_context, a, b):
    """(a, b)."""
    return PAIR(types.float64, types.float64), lambda context, builder, signature, args: _join(builder, *args)


@intrinsic
def first(typing_context, a):
    """The first number."""
    return types.float64(a), lambda context, builder, signature, args: builder.extract_element(args[0], _at(0))


@intrinsic
def second(typing_context, a):
    """The second number."""
    return types.float64(a), lambda context, builder, signature, args: builder.extract_element(args[0], _at(1))


@intrinsic
def fma(typing_context, a, b, c):
    """a·b + c, of pairs or of numbers."""
    kinds = _kinds(a, b, c)
    result = PAIR if PAIR in kinds else types.float64

    def codegen(context, builder, signature, args):
        if result is PAIR:
            args = [_both(builder, kind, value) for kind, value in zip(kinds, args, strict=True)]
        return fused(builder, *args)

    return result(*kinds), codegen


def _operation(name):
    @intrinsic
    def operation(typing_context, a, b):
        kinds = _kinds(a, b)

        def codegen(context, builder, signature, args):
            return getattr(builder, name)(*(_both(builder, kind, v) for kind, v in zip(kinds, args, strict=True)))

        return PAIR(*kinds), codegen

    return operation


_ADD, _MUL, _DIV = _operation("fadd"), _operation("fmul"), _operation("fdiv")


@overload(operator.add)
def _add(a, b):
    return (lambda a, b: _ADD(a, b)) if PAIR in (a, b) else None


@overload(operator.mul)
def _mul(a, b):
    return (lambda a, b: _MUL(a, b)) if PAIR in (a, b) else None


@overload(operator.truediv)
def _div(a, b):
    return (lambda a, b: _DIV(a, b)) if PAIR in (a, b) else None
