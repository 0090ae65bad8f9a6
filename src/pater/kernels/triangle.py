"""A covariance that stays one: Σ = U·D·Uᵀ in packed form, and what a row does to it.

Knows `simd`; knows nothing of learning.

U is upper triangular with ones on its diagonal, D diagonal and positive. Column j of the triangle holds U₀ⱼ … Uⱼ₋₁,ⱼ
and then Dⱼ, one column after the other, so that a new feature is a new column at the end. A row enters by Bierman's
update ("Measurement sequencing using the U-D covariance factorization", Automatica 12, 1976): Σ⁻¹ ← Σ⁻¹ + κ·x·xᵀ in one
traversal, which also gives k = Σx and xᵀΣx of before. It never subtracts one positive number from another to get D, so
Σ stays symmetric and positive definite whatever the rows are; the textbook form, Σ ← Σ − kkᵀ/(1/κ + xᵀΣx), does not.

Four columns go together: then k is read and written once where it would be four times.
"""

from __future__ import annotations

from .compile import exact_part, inlined, part
from .simd import dot_four_columns, turn_four_columns

BLOCK = 4


def packed_size(n: int) -> int:
    """How many numbers a triangle of n columns takes."""
    return n * (n + 1) // 2


@part
def _dot(a, start, x, n):
    total = 0.0
    for i in range(n):
        total += a[start + i] * x[i]
    return total


@exact_part
def widen(triangle, old, new):
    """Let the columns old..new take part, with variance 1 and no covariance."""
    for j in range(old, new):
        triangle[j * (j + 1) // 2 + j] = 1.0


@exact_part
def confidence(triangle, n, x, f):
    """f ← Uᵀx; the answer is xᵀΣx."""
    _project(triangle, n, x, f)
    total = 0.0
    for j in range(n):
        d = triangle[j * (j + 1) // 2 + j]
        total += (d * f[j]) * f[j]
    return total


@exact_part
def _project(triangle, n, x, f):
    """f ← Uᵀx."""
    whole = n - n % BLOCK
    for j in range(0, whole, BLOCK):
        _project_4(triangle, j, x, f)
    for j in range(whole, n):
        f[j] = x[j] + _dot(triangle, j * (j + 1) // 2, x, j)


@exact_part
def _project_4(triangle, j, x, f):
    """f ← Uᵀx in four columns."""
    f0, f1, f2, f3 = dot_four_columns(triangle, j, x)
    f[j] = _down_from(triangle, j, j, f0, x)
    f[j + 1] = _down_from(triangle, j + 1, j, f1, x)
    f[j + 2] = _down_from(triangle, j + 2, j, f2, x)
    f[j + 3] = _down_from(triangle, j + 3, j, f3, x)


@inlined
def _down_from(triangle, j, first, total, x):
    """What the numbers of column j from the first on add to their product with x."""
    for i in range(first, j):
        total += triangle[j * (j + 1) // 2 + i] * x[i]
    return total + x[j]


@exact_part
def absorb(triangle, n, x, noise, f, known, k):
    """Σ⁻¹ ← Σ⁻¹ + x·xᵀ/noise over the first n columns; k ← Σx and the answer noise + xᵀΣx, both with the old Σ.

    `f` is Uᵀx if that is `known` (1 or 0: Numba would compile True and False apart), and is found on the way if not.
    """
    return _absorb_from(0, triangle, n, x, noise, f, known, k)


@inlined
def _absorb_from(first, triangle, n, x, noise, f, known, k):
    """`absorb` of an x for which Uᵀx is 0 before the first column, that of a block; k is 0 there."""
    alpha = noise
    whole = n - n % BLOCK
    for j in range(first, whole, BLOCK):
        if not known:
            _project_4(triangle, j, x, f)
        v0, turn0, alpha = _scale(triangle, j, alpha, f)
        v1, turn1, alpha = _scale(triangle, j + 1, alpha, f)
        v2, turn2, alpha = _scale(triangle, j + 2, alpha, f)
        v3, turn3, alpha = _scale(triangle, j + 3, alpha, f)
        turn_four_columns(triangle, j, k, (turn0, turn1, turn2, turn3), (v0, v1, v2, v3))
        k[j], k[j + 1], k[j + 2], k[j + 3] = _turn_corner(triangle, j, (turn1, turn2, turn3), (v0, v1, v2, v3))
    for j in range(whole, n):
        if not known:
            f[j] = x[j] + _dot(triangle, j * (j + 1) // 2, x, j)
        v, turn, alpha = _scale(triangle, j, alpha, f)
        _turn(triangle, j, turn, v, k)
    return alpha


@inlined
def _scale(triangle, j, before, f):
    """Update Dⱼ; the answer is Dⱼfⱼ of before, what column j turns by, and noise + xᵀΣx so far."""
    d = j * (j + 1) // 2 + j
    v = triangle[d] * f[j]
    alpha = before + v * f[j]
    triangle[d] *= before / alpha
    return v, -f[j] / before, alpha


@inlined
def _turn_corner(triangle, j, turns, gains):
    """The same as `turn_four_columns` where the four columns meet; the answer is k there, 0 before."""
    second, third, fourth = (j + 1) * (j + 2) // 2 + j, (j + 2) * (j + 3) // 2 + j, (j + 3) * (j + 4) // 2 + j
    (turn1, turn2, turn3), (k0, k1, k2, k3) = turns, gains
    gain1, gain2, gain3 = k1, k2, k3
    u = triangle[second]
    triangle[second] = u + turn1 * k0
    k0 += gain1 * u
    u, v = triangle[third], triangle[third + 1]
    triangle[third], triangle[third + 1] = u + turn2 * k0, v + turn2 * k1
    k0 += gain2 * u
    k1 += gain2 * v
    u, v, w = triangle[fourth], triangle[fourth + 1], triangle[fourth + 2]
    triangle[fourth], triangle[fourth + 1], triangle[fourth + 2] = u + turn3 * k0, v + turn3 * k1, w + turn3 * k2
    return k0 + gain3 * u, k1 + gain3 * v, k2 + gain3 * w, k3


@inlined
def _turn(triangle, j, turn, v, k):
    """For column u: u ← u + turn·k and k ← k + v·u of before."""
    start = j * (j + 1) // 2
    column = triangle[start : start + j]
    for i in range(column.size):
        u = column[i]
        column[i] = u + turn * k[i]
        k[i] += v * u
    k[j] = v


@exact_part
def restore_prior(triangle, n, g, f, k):
    """Σ⁻¹ ← Σ⁻¹/g + (1 − 1/g)·I over the first n columns; f and k are room for n numbers each."""
    for j in range(n):
        triangle[j * (j + 1) // 2 + j] *= g
    for j in range(n):  # eⱼ enters as a row does: Uᵀeⱼ is row j of U
        for i in range(j):
            f[i] = k[i] = 0.0
        f[j] = 1.0
        for i in range(j + 1, n):
            f[i] = triangle[i * (i + 1) // 2 + j]
        _absorb_from(j - j % BLOCK, triangle, n, f, g / (g - 1.0), f, 1, k)


@part
def image(triangle, n, v, f, out):
    """out ← Σv by way of f = Uᵀv; the answer is vᵀΣv, which no rounding makes negative."""
    total = confidence(triangle, n, v, f)
    for j in range(n):
        start = j * (j + 1) // 2
        column, g = triangle[start : start + j], triangle[start + j] * f[j]
        for i in range(column.size):
            out[i] += column[i] * g
        out[j] = g
    return total
