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

from .compile import exact_part, part
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
    s0 = j * (j + 1) // 2
    s1 = s0 + j + 1
    s2 = s1 + j + 2
    s3 = s2 + j + 3
    f0, f1, f2, f3 = dot_four_columns(triangle, j, x)
    f[j] = f0 + x[j]
    f[j + 1] = f1 + triangle[s1 + j] * x[j] + x[j + 1]
    f[j + 2] = f2 + triangle[s2 + j] * x[j] + triangle[s2 + j + 1] * x[j + 1] + x[j + 2]
    f[j + 3] = (
        f3 + triangle[s3 + j] * x[j] + triangle[s3 + j + 1] * x[j + 1] + triangle[s3 + j + 2] * x[j + 2] + x[j + 3]
    )


@exact_part
def absorb(triangle, n, x, noise, f, known, k):
    """Σ⁻¹ ← Σ⁻¹ + x·xᵀ/noise over the first n columns; k ← Σx and the answer noise + xᵀΣx, both with the old Σ.

    `f` is Uᵀx if that is `known` (1 or 0: Numba would compile True and False apart), and is found on the way if not.
    """
    alpha = noise
    whole = n - n % BLOCK
    for j in range(0, whole, BLOCK):
        if not known:
            _project_4(triangle, j, x, f)
        alpha = _absorb_4(triangle, j, alpha, f, k)
    for j in range(whole, n):
        start = j * (j + 1) // 2
        if not known:
            f[j] = x[j] + _dot(triangle, start, x, j)
        v = triangle[start + j] * f[j]
        before, alpha = alpha, alpha + v * f[j]
        triangle[start + j] *= before / alpha
        turn = -f[j] / before
        for i in range(j):
            u = triangle[start + i]
            triangle[start + i] = u + turn * k[i]
            k[i] += v * u
        k[j] = v
    return alpha


@exact_part
def _absorb_4(triangle, j, alpha, f, k):
    s0 = j * (j + 1) // 2
    s1 = s0 + j + 1
    s2 = s1 + j + 2
    s3 = s2 + j + 3
    v0, v1, v2, v3 = (
        triangle[s0 + j] * f[j],
        triangle[s1 + j + 1] * f[j + 1],
        triangle[s2 + j + 2] * f[j + 2],
        triangle[s3 + j + 3] * f[j + 3],
    )
    alpha0 = alpha + v0 * f[j]
    alpha1 = alpha0 + v1 * f[j + 1]
    alpha2 = alpha1 + v2 * f[j + 2]
    alpha3 = alpha2 + v3 * f[j + 3]
    triangle[s0 + j] *= alpha / alpha0
    triangle[s1 + j + 1] *= alpha0 / alpha1
    triangle[s2 + j + 2] *= alpha1 / alpha2
    triangle[s3 + j + 3] *= alpha2 / alpha3
    l0, l1, l2, l3 = -f[j] / alpha, -f[j + 1] / alpha0, -f[j + 2] / alpha1, -f[j + 3] / alpha2
    turn_four_columns(triangle, j, k, (l0, l1, l2, l3), (v0, v1, v2, v3))
    # the corner where the four columns meet
    u = triangle[s1 + j]
    triangle[s1 + j] = u + l1 * v0
    k0 = v0 + v1 * u
    k1 = v1
    u, t = triangle[s2 + j], triangle[s2 + j + 1]
    triangle[s2 + j], triangle[s2 + j + 1] = u + l2 * k0, t + l2 * k1
    k0, k1, k2 = k0 + v2 * u, k1 + v2 * t, v2
    u, t, s = triangle[s3 + j], triangle[s3 + j + 1], triangle[s3 + j + 2]
    triangle[s3 + j], triangle[s3 + j + 1], triangle[s3 + j + 2] = u + l3 * k0, t + l3 * k1, s + l3 * k2
    k[j], k[j + 1], k[j + 2], k[j + 3] = k0 + v3 * u, k1 + v3 * t, k2 + v3 * s, v3
    return alpha3


@exact_part
def restore_prior(triangle, n, g, f, k):
    """Σ⁻¹ ← Σ⁻¹/g + (1 − 1/g)·I over the first n columns; f and k are room for n numbers each."""
    for j in range(n):
        triangle[j * (j + 1) // 2 + j] *= g
    for j in range(n):  # eⱼ enters as a row does: Uᵀeⱼ is row j of U
        for i in range(j):
            f[i] = 0.0
        f[j] = 1.0
        for i in range(j + 1, n):
            f[i] = triangle[i * (i + 1) // 2 + j]
        absorb(triangle, n, f, g / (g - 1.0), f, 1, k)


@part
def image(triangle, n, v, f, out):
    """out ← Σv by way of f = Uᵀv; the answer is vᵀΣv, which no rounding makes negative."""
    total = confidence(triangle, n, v, f)
    for j in range(n):
        start = j * (j + 1) // 2
        g = triangle[start + j] * f[j]
        for i in range(j):
            out[i] += triangle[start + i] * g
        out[j] = g
    return total
