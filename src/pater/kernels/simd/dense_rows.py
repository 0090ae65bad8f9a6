"""Dense rows against vectors that are each contiguous.

`rows` is `(X,)` in C order, and `table` (features, kinds) in Fortran order, padded with zeros to whole registers: its
columns are U, S⁺, S⁻, V and room for a row. There the row whose products were formed last is kept, since it is the one
to be added next: rows of X seldom begin with a cache line, and to read one from there twice takes longer (400 columns:
160 ns, and 117 with the room).

Numba vectorises a plain loop as well, but then the compiler orders its sums: two loops over the same numbers may differ
in the last digit. It also waits for the memory, as the processor does not foresee the next row (on 100 columns 50 ns a
row without a prefetch, 31 with one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numba.core import types

from .registers import BYTE, F32, F64, FEW, PROCESSOR, WIDTH, Words, integer

# Columns up to which half registers are used. Beside whole ones, Intel's processors do all else more slowly.
NARROW = 16 if PROCESSOR in ("znver4", "znver5") else 32
KEPT = 1024  # columns up to which a row is kept: five vectors then stay in a first-level cache of 48 KiB
AHEAD = ((4096, 2),)  # how many bytes ahead of its use a row is prefetched, and with which locality
AHEAD_OF_KEPT = ((8192, 2), (512, 3))


class DenseRow:
    """Row i."""

    def __init__(self, words: Words, context: Any, kind: Any, rows: Any, i: Any) -> None:
        self.words = words
        self.element = F64 if kind.types[0].dtype == types.float64 else F32
        data, (_, self.size) = words.array(context, kind.types[0], words.builder.extract_value(rows, 0))
        self.start = words.address(data, words.builder.mul(i, self.size), self.element)

    def load(self, place: Any, mask: Any) -> Any:
        return self.words.load(self.start, place, self.element, mask)

    def fetch_ahead(self, place: Any, ahead: Iterable[tuple[int, int]]) -> None:
        here = self.words.address(self.start, place, self.element)
        for n_bytes, locality in ahead:
            self.words.prefetch(self.words.address(here, integer(n_bytes), BYTE), locality)


class Sums:
    """Four sums, formed register by register."""

    def __init__(self, words: Words) -> None:
        self.words, self.homes = words, [words.variable(words.zeros) for _ in range(4)]

    def count(self, factors: list[Any], x: Any) -> None:
        """Add to each its factor times x."""
        for home, factor in zip(self.homes, factors, strict=True):
            value = self.words.builder.load(home, typ=self.words.register)
            self.words.builder.store(self.words.fma(factor, x, value), home)

    def totals(self, swapped: Any = None) -> list[Any]:
        """The four totals, with the first two exchanged where the flag is set."""
        values = [self.words.builder.load(home, typ=self.words.register) for home in self.homes]
        return self.words.total_of_four(values, swapped)


def _vectors(words: Words, context: Any, kind: Any, table: Any) -> list[Any]:
    """The addresses of the table's columns."""
    data, (size, _) = words.array(context, kind, table)
    return [words.address(data, words.builder.mul(size, integer(vector))) for vector in range(5)]


def dense_products(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """`products` of a dense row."""

    def generate(words: Words, keeps_row: bool) -> list[Any]:
        row = DenseRow(words, context, signature.args[0], args[0], args[1])
        *vectors, _, room = _vectors(words, context, signature.args[2], args[2])
        sums = Sums(words)

        def count(place: Any, mask: Any) -> None:
            row.fetch_ahead(place, AHEAD_OF_KEPT if keeps_row else AHEAD)
            x = row.load(place, mask)
            if keeps_row:
                words.store(x, room, place)
            U, S_pos, S_neg = (words.load(vector, place) for vector in vectors)
            sums.count([S_pos, S_neg, U, x], x)

        words.for_each_register(row.size, count)
        return sums.totals()

    return by_size(context, builder, signature, args, generate)


def dense_add_and_products(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """`add_and_products` of a dense row: what has just been stored need not be loaded again."""
    rows, i, following, table, positive, s, a, b = args

    def generate(words: Words, keeps_row: bool) -> list[Any]:
        row, next_row = (DenseRow(words, context, signature.args[0], rows, each) for each in (i, following))
        U, S_pos, S_neg, V, room = _vectors(words, context, signature.args[3], table)
        own, other = builder.select(positive, S_pos, S_neg), builder.select(positive, S_neg, S_pos)
        sums, s_, a_, b_ = Sums(words), words.spread(s), words.spread(a), words.spread(b)

        def gather(place: Any, mask: Any) -> None:
            words.store(words.fma(b_, row.load(place, mask), words.load(V, place)), V, place)

        def step(place: Any, mask: Any) -> None:
            next_row.fetch_ahead(place, AHEAD_OF_KEPT if keeps_row else AHEAD)
            x, moved = words.load(room, place) if keeps_row else row.load(place, mask), []
            for vector, factor in ((own, s_), (U, a_)):
                moved.append(words.fma(factor, x, words.load(vector, place)))
                words.store(moved[-1], vector, place)
            y = next_row.load(place, mask)
            if keeps_row:
                words.store(y, room, place)
            sums.count([moved[0], words.load(other, place), moved[1], y], y)

        with builder.if_then(builder.fcmp_unordered("!=", b, b.type(0.0)), likely=False):
            words.for_each_register(row.size, gather)
        words.for_each_register(row.size, step)
        return sums.totals(builder.not_(positive))

    return by_size(context, builder, signature, args, generate)


def by_size(context: Any, builder: Any, signature: Any, args: Any, generate: Callable[[Words, bool], list[Any]]) -> Any:
    """The results of a loop: for few columns in half registers, which are added up sooner; for others, if all that a
    row needs stays in the caches next to the processor, with the row kept for the next loop.
    """
    size = DenseRow(Words(builder), context, signature.args[0], *args[:2]).size
    with builder.goto_entry_block():
        homes = [builder.alloca(F64) for _ in range(4)]

    def result(width: int, keeps_row: bool) -> None:
        for value, home in zip(generate(Words(builder, width), keeps_row), homes, strict=True):
            builder.store(value, home)

    with builder.if_else(builder.icmp_signed("<=", size, integer(NARROW))) as (few, many):
        with few:
            result(FEW, keeps_row=False)
        with many, builder.if_else(builder.icmp_signed("<=", size, integer(KEPT))) as (near, far):
            with near:
                result(WIDTH, keeps_row=True)
            with far:
                result(WIDTH, keeps_row=False)
    px, nx, ux, xx = (builder.load(home, typ=F64) for home in homes)
    return context.make_tuple(builder, signature.return_type, [ux, px, nx, xx])
