"""The plain twins of what is written in LLVM: the same numbers to rounding, in loops that anyone can read.

Knows `rows` and Numba. They are what the primitives are tested against, what runs where those cannot be built, and what
the compiler's check of every place can see (`PATER_PLAIN=1 NUMBA_BOUNDSCHECK=1`). Each is called as its twin is; where
that hands on something of its own (a register, a pair), a twin hands on what it was given, or an array.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..rows import entry, size

LANES = 4
MOST_IN_REGISTERS = 0

_plain = njit(error_model="numpy")


@_plain
def hold(home):
    """The record itself."""
    return home


@_plain
def carry(source, target):
    """Nothing: source and target are one record."""


@_plain
def dot_lanes(rows, i, table):
    """The four products table[:, lane]·x with row x."""
    u = p = n = v = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        u += table[j, 0] * x
        p += table[j, 1] * x
        n += table[j, 2] * x
        v += table[j, 3] * x
    return u, p, n, v


@_plain
def dot_and_square(rows, i, table):
    """U·x, S⁺·x, S⁻·x and ‖x‖²."""
    u = p = n = xx = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        u += table[j, 0] * x
        p += table[j, 1] * x
        n += table[j, 2] * x
        xx += x * x
    return u, p, n, xx


@_plain
def add_lanes(rows, i, table, a, b, c, d):
    """table[:, lane] ← table[:, lane] + coefficient·x with row x, a coefficient for each lane."""
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        table[j, 0] += a * x
        table[j, 1] += b * x
        table[j, 2] += c * x
        table[j, 3] += d * x


@_plain
def dot_herd(rows, i, table, products):
    """‖x‖²; and table·x of all lines into `products`, one after the other."""
    lines, width = table.shape[1] // 8, products.shape[1]
    for line in range(lines):
        for lane in range(8):
            products[(8 * line + lane) // width, (8 * line + lane) % width] = 0.0
    xx = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        xx += x * x
        for lane in range(8 * lines):
            products[lane // width, lane % width] += table[j, lane] * x
    return xx


dot_sharing_herd = dot_herd


@_plain
def add_herd(rows, i, table, coefficients, line):
    """table ← table + coefficients·x, in the first line and in another."""
    width = coefficients.shape[1]
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        for lane in range(8):
            other = 8 * line + lane
            table[j, lane] += coefficients[0, lane] * x
            table[j, other] += coefficients[other // width, other % width] * x


def shape_for(n_vectors, n_columns):
    """So many vectors: a tuple of as many numbers."""
    return (0,) * n_vectors


@_plain
def has_fourth(shape):
    """Is there a vector beside U, S⁺ and S⁻?"""
    return len(shape) > 3


@_plain
def room_for(n_columns, shape):
    """No buffer is needed."""
    return 0


@_plain
def take(table, buffer, shape):
    """The table itself."""
    return table


@_plain
def put(held, table, buffer, shape):
    """Nothing: what was taken is the table."""


@_plain
def products(held, rows, i, shape):
    """With row x and the first three vectors U, S⁺ and S⁻: the pair S⁺·x and S⁻·x, then U·x and ‖x‖²."""
    ux = px = nx = xx = 0.0
    for j in range(held.shape[0]):
        x = np.float64(rows[0][i, j])
        ux += held[j, 0] * x
        px += held[j, 1] * x
        nx += held[j, 2] * x
        xx += x * x
    return np.array((px, nx)), ux, xx


@_plain
def add_and_products(held, rows, i, following, positive, s, a, b, shape):
    """Add a·x to U, s·x to S⁺ or S⁻, and b·x to a fourth vector if there is one; then `products` with another row."""
    own = 1 if positive else 2
    for j in range(held.shape[0]):
        x = np.float64(rows[0][i, j])
        held[j, 0] += a * x
        held[j, own] += s * x
        if len(shape) > 3:
            held[j, 3] += b * x
    return products(held, rows, following, shape)


@_plain
def squared_sum(held, n_columns, a, b, shape):
    """‖a·S⁺ + b·S⁻‖²."""
    total = 0.0
    for j in range(n_columns):
        z = a * held[j, 1] + b * held[j, 2]
        total += z * z
    return total


@_plain
def pair(a, b):
    """(a, b)."""
    return np.array((np.float64(a), np.float64(b)))


@_plain
def first(a):
    """The first number."""
    return a[0]


@_plain
def second(a):
    """The second number."""
    return a[1]


@_plain
def fma(a, b, c):
    """a·b + c, of pairs or of numbers."""
    return a * b + c


@_plain
def read_at_rest(x, w):
    """w·x and ‖x‖²."""
    wx = xx = 0.0
    for j in range(x.size):
        wx += w[j] * np.float64(x[j])
        xx += np.float64(x[j]) * np.float64(x[j])
    return wx, xx


@_plain
def read(x, w, own, other, step_own, step_other):
    """w ← w + step_own·own + step_other·other; then w·x and ‖x‖²."""
    for j in range(x.size):
        w[j] += step_own * own[j] + step_other * other[j]
    return read_at_rest(x, w)


@_plain
def enter(x, s, own, other, a_own, minus_a_other):
    """own ← own + s·x; then ‖a_own·own + minus_a_other·other‖²."""
    zz = 0.0
    for j in range(x.size):
        own[j] += s * np.float64(x[j])
        z = a_own * own[j] + minus_a_other * other[j]
        zz += z * z
    return (zz,)


@_plain
def read_and_enter(x, s, w, own, other, step_own, step_other, a_own, minus_a_other):
    """`read` and `enter`: w·x, ‖x‖² and ‖a_own·own + minus_a_other·other‖²."""
    wx, xx = read(x, w, own, other, step_own, step_other)
    (zz,) = enter(x, s, own, other, a_own, minus_a_other)
    return wx, xx, zz


@_plain
def dot_4(u0, u1, u2, u3, x):
    """The products of four columns with x."""
    a = b = c = d = 0.0
    for j in range(x.size):
        a += u0[j] * x[j]
        b += u1[j] * x[j]
        c += u2[j] * x[j]
        d += u3[j] * x[j]
    return a, b, c, d


@_plain
def turn_4(u0, u1, u2, u3, k, l0, l1, l2, l3, v0, v1, v2, v3):
    """Column by column: u ← u + λ·k and k ← k + v·u, with the u of before."""
    for j in range(k.size):
        for u, turn, v in ((u0, l0, v0), (u1, l1, v1), (u2, l2, v2), (u3, l3, v3)):
            before = u[j]
            u[j] += turn * k[j]
            k[j] += v * before
    return 0
