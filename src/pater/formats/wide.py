"""Many bytes of a text at a time, in LLVM: where fields end, and short numbers.

Knows llvmlite and Numba. What is read before a field is within the text. Signs, exponents and long numbers are left to
`numbers`.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ..kernels.compile import exact_kernel
from ..kernels.simd.registers import Words

EXACT_POWERS = np.array([10.0**k for k in range(23)])
NEWLINE = 10
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_ZEROS, _POINTS = np.frombuffer(b"0" * 8 + b"." * 8, np.uint64)
_OWN = np.frombuffer(b"".join(bytes(16 - k) + b"\xff" * k for k in range(17)), np.uint64).reshape(17, 2)  # last k of 16


@intrinsic
def _ends_among(typing_context, text, i, delimiter):
    """A bit for each of the 64 bytes from i on: whether it is the delimiter or the end of a line."""
    signature = types.uint64(text, types.int64, types.int64)

    def codegen(context, builder, signature, args):
        words, vector = Words(builder), ir.VectorType(_BYTE, 64)
        data, _ = words.array(context, signature.args[0], args[0])
        some = builder.load(words.address(data, args[1], _BYTE), typ=vector, align=1)
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), builder.trunc(args[2], _BYTE), ir.Constant(_WORD, 0)
        )
        every = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64))
        newlines = ir.Constant(vector, [NEWLINE] * 64)
        found = builder.or_(builder.icmp_unsigned("==", some, every), builder.icmp_unsigned("==", some, newlines))
        return builder.bitcast(found, _WORD)

    return signature, codegen


@intrinsic
def _trailing_zeros(typing_context, a):
    signature = types.int64(types.uint64)

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return signature, codegen


@intrinsic
def _leading_zeros(typing_context, a):
    signature = types.int64(types.uint64)

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return signature, codegen


@intrinsic
def _word(typing_context, text, i):
    """The eight bytes from i on, the first of them the lowest."""
    signature = types.uint64(text, types.int64)

    def codegen(context, builder, signature, args):
        words = Words(builder)
        data, _ = words.array(context, signature.args[0], args[0])
        return builder.load(words.address(data, args[1], _BYTE), typ=_WORD, align=1)

    return signature, codegen


@exact_kernel
def _are_digits(word):
    high, three = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x3030303030303030)
    return (word & high) == three and ((word + np.uint64(0x0606060606060606)) & high) == three


@exact_kernel
def _eight_digits(word):
    word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


@exact_kernel
def short_number(text, start, end):
    """The number that these bytes are, and whether they are up to fifteen digits, with at most seven after a point."""
    size = end - start
    if size < 1 or size > 15 or end < 16:
        return 0.0, False
    first = (_word(text, end - 16) & _OWN[size, 0]) | (_ZEROS & ~_OWN[size, 0])
    last = (_word(text, end - 8) & _OWN[size, 1]) | (_ZEROS & ~_OWN[size, 1])
    other, seven = last ^ _POINTS, np.uint64(0x7F7F7F7F7F7F7F7F)
    point = ~(((other & seven) + seven) | other | seven)  # the highest bit of each byte that is a point
    places = 0
    if point != np.uint64(0):
        places = _leading_zeros(point) >> 3
        before = (last & ~_OWN[places + 1, 1]) << np.uint64(8) | first >> np.uint64(56)
        first, last = first << np.uint64(8) | np.uint64(48), (last & _OWN[places, 1]) | before
    if not (_are_digits(first) and _are_digits(last)) or (size == 1 and point != np.uint64(0)):
        return 0.0, False
    value = float(np.int64(_eight_digits(first) * np.uint64(100_000_000) + _eight_digits(last)))
    return value / EXACT_POWERS[places], True


@exact_kernel
def find_ends(text, delimiter, ends):
    """Where the fields of a text end, that has no quotes."""
    k, i = 0, 0
    while i + 64 <= text.size:
        found = _ends_among(text, i, delimiter)
        while found != np.uint64(0):
            ends[k] = i + _trailing_zeros(found)
            found &= found - np.uint64(1)
            k += 1
        i += 64
    while i < text.size:
        if text[i] == delimiter or text[i] == NEWLINE:
            ends[k] = i
            k += 1
        i += 1
    return k
