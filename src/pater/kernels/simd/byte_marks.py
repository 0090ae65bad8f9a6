"""Finds bytes among many, as the bits of a word."""

from __future__ import annotations

from numba.core import types
from numba.extending import intrinsic

from .registers import BYTE, I1, I64, Words

MANY = 64  # bytes that are looked at together


@intrinsic
def marks(typing_context, text, i, a, b):
    """A bit for each of the 64 bytes from i on that is a or b; the first byte's is the lowest."""

    def codegen(context, builder, signature, args):
        words = Words(builder, MANY)
        base, _ = words.array(context, signature.args[0], args[0])
        first, second = (words.same_bytes(base, args[1], builder.trunc(byte, BYTE)) for byte in args[2:])
        return builder.bitcast(builder.or_(first, second), I64)

    return types.uint64(text, types.int64, types.int64, types.int64), codegen


@intrinsic
def lowest(typing_context, word):
    """The place of the lowest 1 among a word's bits; 64 if there is none."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], I1(0))

    return types.int64(types.uint64), codegen


@intrinsic
def ones(typing_context, word):
    """How many bits of a word are 1."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])
