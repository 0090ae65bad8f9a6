"""Which of many bytes are wanted ones, as the bits of a word.

Knows `registers`; knows nothing of what the bytes say.
"""

from __future__ import annotations

from numba.core import types
from numba.extending import intrinsic

from .registers import BYTE, I1, I64, Words

MANY = 64  # bytes that are looked at together


@intrinsic
def marks(typing_context, text, i, a, b):
    """A bit for each of the 64 bytes from i on that is a or b; that of the first is the lowest."""

    def codegen(context, builder, signature, args):
        words = Words(builder, MANY)
        base, _ = words.array(context, signature.args[0], args[0])
        first, second = (words.same_bytes(base, args[1], builder.trunc(byte, BYTE)) for byte in args[2:])
        return builder.bitcast(builder.or_(first, second), I64)

    return types.uint64(text, types.int64, types.int64, types.int64), codegen


@intrinsic
def lowest(typing_context, word):
    """The place of the lowest bit of a word that is 1; 64 if none is."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], I1(0))

    return types.int64(types.uint64), codegen


@intrinsic
def ones(typing_context, word):
    """How many bits of a word are 1."""
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])
