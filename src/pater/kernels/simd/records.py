"""A record of scalars taken into the registers for the length of a pass.

Knows Numba and LLVM; knows nothing of learning. A pass that keeps a model's scalars in memory waits for them: every row
needs what the row before has left, and the compiler must assume that a store into a table may have changed any of them.
A copy on the stack whose address goes nowhere becomes registers.
"""

from __future__ import annotations

from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def hold(typing_context, home):
    """A copy of the record. To be handed to inlined code only; other code gets the record itself, after `carry`."""

    def codegen(context, builder, signature, args):
        copy = cgutils.alloca_once(builder, context.get_value_type(home).pointee)
        copy.align = 8
        _copy(context, builder, home, args[0], copy)
        return copy

    return home(home), codegen


@intrinsic
def carry(typing_context, source, target):
    """Copy the source over the target, field by field."""

    def codegen(context, builder, signature, args):
        _copy(context, builder, source, *args)
        return context.get_dummy_value()

    return types.void(source, target), codegen


def _copy(context, builder, kind, source, target):
    for field in kind.fields.values():
        number = context.get_value_type(field.type)
        here, there = (cgutils.get_record_member(builder, base, field.offset, number) for base in (source, target))
        value = builder.load(here)
        value.align = 8
        builder.store(value, there).align = 8
