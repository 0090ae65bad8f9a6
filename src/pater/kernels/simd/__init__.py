"""What the passes need of the processor that Numba has no word for: where kernels are written in LLVM.

Knows Numba and LLVM; knows nothing of learning. Each primitive has a plain twin (`plain`), which takes its place when
`PATER_PLAIN=1` is set, to be debugged or run with every place checked, and where LLVM's own form cannot be had.
"""

from __future__ import annotations

import os

PLAIN = os.environ.get("PATER_PLAIN", "") not in ("", "0")

if not PLAIN:
    try:
        from .class_pairs import first, fma, pair, second
        from .records import carry, hold
        from .registers import (
            MOST_IN_REGISTERS,
            add_and_products,
            has_fourth,
            products,
            put,
            room_for,
            shape_for,
            squared_sum,
            take,
        )
        from .sparse_rows import LANES, add_herd, add_lanes, dot_and_square, dot_herd, dot_lanes, dot_sharing_herd
        from .vector_loops import dot_4, enter, read, read_and_enter, read_at_rest, turn_4
    except (ImportError, AttributeError):  # a version of the compiler with other names
        PLAIN = True
if PLAIN:
    from .plain import (  # type: ignore[assignment]
        LANES,
        MOST_IN_REGISTERS,
        add_and_products,
        add_herd,
        add_lanes,
        carry,
        dot_4,
        dot_and_square,
        dot_herd,
        dot_lanes,
        dot_sharing_herd,
        enter,
        first,
        fma,
        has_fourth,
        hold,
        pair,
        products,
        put,
        read,
        read_and_enter,
        read_at_rest,
        room_for,
        second,
        shape_for,
        squared_sum,
        take,
        turn_4,
    )

__all__ = [
    "LANES",
    "MOST_IN_REGISTERS",
    "PLAIN",
    "add_and_products",
    "add_herd",
    "add_lanes",
    "carry",
    "dot_4",
    "dot_and_square",
    "dot_herd",
    "dot_lanes",
    "dot_sharing_herd",
    "enter",
    "first",
    "fma",
    "has_fourth",
    "hold",
    "pair",
    "products",
    "put",
    "read",
    "read_and_enter",
    "read_at_rest",
    "room_for",
    "second",
    "shape_for",
    "squared_sum",
    "take",
    "turn_4",
]
