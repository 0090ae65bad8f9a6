"""A covariance that stays positive definite, Σ = U·D·Uᵀ in packed form, and its update by a row.

U is upper triangular with ones on its diagonal, D diagonal and positive. Column j of the triangle holds U₀ⱼ … Uⱼ₋₁,ⱼ
and then Dⱼ, one column after the other, so that a new feature is a new column at the end. A row enters by Bierman's
update ("Measurement sequencing using the U-D covariance factorization", Automatica 12, 1976): Σ⁻¹ ← Σ⁻¹ + κ·x·xᵀ in one
traversal, which also gives k = Σx and xᵀΣx for the old Σ. It never subtracts one positive number from another to get D,
so Σ stays symmetric and positive definite whatever the rows are; the textbook form, Σ ← Σ − kkᵀ/(1/κ + xᵀΣx), does not.

Four columns go together, so that k is read and written once instead of four times.
"""

from __future__ import annotations

import numpy as np

from ..compiler.decorators import exact_part, part
from .simd import absorb_four_columns, project_four_columns

BLOCK = 4
ALL = UNKNOWN = np.int64(0)  # a literal 0 would be of a type of its own, and its users compiled twice
KNOWN = np.int64(1)


def packed_size(n: int) -> int:
    """How many numbers a triangle of n columns takes."""
    return n * (n + 1) // 2


@part
def dot_from(a, start, x, n):
    total = 0.0
    for i in range(n):
        total += a[start + i] * x[i]
    return total


@exact_part
def widen(triangle, old, new):
    """Add the columns old..new, with variance 1 and no covariance."""
    for j in range(old, new):
        triangle[j * (j + 1) // 2 + j] = 1.0


@exact_part
def confidence(triangle, n, x, f):
    """f ← Uᵀx; returns xᵀΣx."""
    whole = n - n % BLOCK
    for j in range(0, whole, BLOCK):
        project_four_columns(triangle, j, x, f)
    for j in range(whole, n):
        f[j] = x[j] + dot_from(triangle, j * (j + 1) // 2, x, j)
    total = 0.0
    for j in range(n):
        d = triangle[j * (j + 1) // 2 + j]
        total += (d * f[j]) * f[j]
    return total


@exact_part
def absorb(triangle, n, x, noise, f, known, k, first):
    """Σ⁻¹ ← Σ⁻¹ + x·xᵀ/noise over the first n columns; k ← Σx; returns noise + xᵀΣx, both with the old Σ.

    `f` is Uᵀx if that is KNOWN, and receives it if not. `first` is ALL, or the first column of a block before which Uᵀx
    and k are 0.
    """
    alpha = noise
    whole = n - n % BLOCK
    for j in range(first, whole, BLOCK):
        if not known:
            project_four_columns(triangle, j, x, f)
        alpha = absorb_four_columns(triangle, j, f, k, alpha)
    for j in range(whole, n):
        start = j * (j + 1) // 2
        if not known:
            f[j] = x[j] + dot_from(triangle, start, x, j)
        v, before, turn = triangle[start + j] * f[j], alpha, -f[j] / alpha
        alpha = before + v * f[j]
        triangle[start + j] *= before / alpha
        for i in range(j):
            u = triangle[start + i]
            triangle[start + i] = u + turn * k[i]
            k[i] += v * u
        k[j] = v
    return alpha


@exact_part
def restore_prior(triangle, n, g, f, k):
    """Σ⁻¹ ← Σ⁻¹/g + (1 − 1/g)·I over the first n columns; f and k are scratch space for n numbers each."""
    for j in range(n):
        triangle[j * (j + 1) // 2 + j] *= g
    for j in range(n):  # eⱼ enters as a row does: Uᵀeⱼ is row j of U
        for i in range(j):
            f[i] = k[i] = 0.0
        f[j] = 1.0
        for i in range(j + 1, n):
            f[i] = triangle[i * (i + 1) // 2 + j]
        absorb(triangle, n, f, g / (g - 1.0), f, KNOWN, k, j - j % BLOCK)


@part
def image(triangle, n, v, f, out):
    """out ← Σv by way of f = Uᵀv; returns vᵀΣv, which no rounding makes negative."""
    total = confidence(triangle, n, v, f)
    for j in range(n):
        start = j * (j + 1) // 2
        g = triangle[start + j] * f[j]
        for i in range(j):
            out[i] += triangle[start + i] * g
        out[j] = g
    return total
