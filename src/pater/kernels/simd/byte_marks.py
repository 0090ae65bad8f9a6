"""Finds bytes among many, as the bits of a word."""

from numba.core import types
from numba.extending import intrinsic

from .registers import BYTE, I64, Words

MANY = 64  # bytes that are looked at together


@intrinsic
def marks(typing_context, text, i, a, b):
    def codegen(context, builder, signature, args):
        words = Words(builder, MANY)
        base, _ = words.array(context, signature.args[0], args[0])
        first, second = (words.same_bytes(base, args[1], builder.trunc(byte, BYTE)) for byte in args[2:])
        return builder.bitcast(builder.or_(first, second), I64)

    return types.uint64(text, types.int64, types.int64, types.int64), codegen
