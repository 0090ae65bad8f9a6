"""Plain twins of the LLVM primitives: the same numbers up to rounding, in readable loops.

The primitives are tested against them; they also run where those cannot be built, and where bounds are checked
(`PATER_PLAIN=1 NUMBA_BOUNDSCHECK=1`).
"""

import numpy as np

from ...compiler.decorators import allocating, exact_part
from ..rows import entry, size


@exact_part
def products(rows, i, table):
    """U·x, S⁺·x and S⁻·x with row x; and ‖x‖²."""
    ux, px, nx, xx = 0.0, 0.0, 0.0, 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        ux += table[j, 0] * x
        px += table[j, 1] * x
        nx += table[j, 2] * x
        xx += x * x
    return ux, px, nx, xx


@exact_part
def add_and_products(rows, i, following, table, positive, s, a, b):
    """Add a·x to U, s·x to S⁺ or S⁻ and b·x to V; then the `products` with another row.

    Row x is the one whose products were formed last.
    """
    own = 1 if positive else 2
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        table[j, 0] += a * x
        table[j, own] += s * x
        table[j, 3] += b * x
    return products(rows, following, table)


@exact_part
def four_products(rows, i, table):
    """U·x, S⁺·x, S⁻·x and V·x with a sparse row x."""
    ux, px, nx, _ = products(rows, i, table)
    vx = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        vx += table[j, 3] * x
    return ux, px, nx, vx


@exact_part
def _products_of_lines(rows, i, table, out):
    """Write the products of a sparse row with all columns of a table to `out`, one after the other; return ‖x‖²."""
    numbers, width = table.shape[1], out.shape[1]
    for lane in range(numbers):
        out[lane // width, lane % width] = 0.0
    xx = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        xx += x * x
        for lane in range(numbers):
            out[lane // width, lane % width] += table[j, lane] * x
    return xx


products_of_three_lines = products_of_two_lines = _products_of_lines


@exact_part
def add_to_lines(rows, i, table, coefficients, line):
    """Add coefficient·x to each of the first eight columns, and to the eight of another line."""
    width = coefficients.shape[1]
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        for lane in range(8):
            other = 8 * line + lane
            table[j, lane] += coefficients[0, lane] * x
            table[j, other] += coefficients[other // width, other % width] * x


@exact_part
def project_four_columns(triangle, j, x, f):
    """f ← Uᵀx in the columns j … j + 3 of a packed triangle with ones for its diagonal; j is a multiple of four."""
    for column in range(j, j + 4):
        start, total = column * (column + 1) // 2, 0.0
        for i in range(column):
            total += triangle[start + i] * x[i]
        f[column] = total + x[column]


@exact_part
def absorb_four_columns(triangle, j, f, k, alpha):
    """`triangle.absorb` in the columns j … j + 3; noise + xᵀΣx is alpha without them, and is returned with them."""
    for column in range(j, j + 4):
        start = column * (column + 1) // 2
        v, before, turn = triangle[start + column] * f[column], alpha, -f[column] / alpha
        alpha = before + v * f[column]
        triangle[start + column] *= before / alpha
        for i in range(column):
            u = triangle[start + i]
            triangle[start + i] = u + turn * k[i]
            k[i] += v * u
        k[column] = v
    return alpha


@exact_part
@allocating
def pair(a, b):
    """(a, b), with elementwise +, * and /."""
    return np.array((np.float64(a), np.float64(b)))


@exact_part
def first(a):
    """The first number."""
    return a[0]


@exact_part
def second(a):
    """The second number."""
    return a[1]


@exact_part
@allocating
def larger(a, b):
    """The larger number of each class, from two pairs."""
    return np.array((max(a[0], b[0]), max(a[1], b[1])))


@exact_part
@allocating
def fma(a, b, c):
    """a·b + c, of pairs or of numbers."""
    return a * b + c


@exact_part
def marks(text, i, a, b):
    """A bit for each of the 64 bytes from i on that is a or b; the first byte's is the lowest."""
    found = np.uint64(0)
    for k in range(64):
        if text[i + k] == a or text[i + k] == b:
            found |= np.uint64(1) << np.uint64(k)
    return found


@exact_part
def lowest(word):
    """The place of the lowest 1 among a word's bits; 64 if there is none."""
    return ones(~word & (word - np.uint64(1)))


@exact_part
def ones(word):
    """How many bits of a word are 1: one instruction where the processor has it, as the compiler knows this loop."""
    count = 0
    while word != np.uint64(0):
        word &= word - np.uint64(1)
        count += 1
    return count
