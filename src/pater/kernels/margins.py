"""The margin of one row by what a model remembers, by its last weights or by their average: one function a family.

The average of the weights w₁ … w_t is w_t − Σ(steps so far, each times the rows before it)/t, so its margin needs the
margin by the vector of these steps, V, beside that by U.
"""

from ..compiler.decorators import inlined, part
from .memory import P_NEG, P_POS, POINT_U, POINT_V, S_NEG, S_POS, Q, U, V
from .rows import dot, either, entry, size
from .simd import four_products


@inlined
def _of_either(m, margin, steps, average):
    return margin + (margin - steps) / max(m.t, 1) if average else margin


@part
def _along_vectors(rows, i, own, m, pos, neg, average):
    """By vectors (kinds, features), with the lazy part along the vectors `pos` and `neg`."""
    margin, steps = m.bias, m.bias_steps
    for place in range(size(rows, i)):
        j, x = entry(rows, i, place)
        margin += (own[U, j] + (m.A_pos * own[pos, j] - m.A_neg * own[neg, j])) * x
        steps += (own[V, j] + (m.B_pos * own[pos, j] - m.B_neg * own[neg, j])) * x
    return _of_either(m, margin, steps, average)


def _of_dense_row(rows, i, own, m, average):
    return _along_vectors(rows, i, own, m, S_POS, S_NEG, average)


def _of_sparse_row(rows, i, own, m, average):
    ux, px, nx, vx = four_products(rows, i, own)
    margin = ux + (m.A_pos * px - m.A_neg * nx) + m.bias
    return _of_either(m, margin, vx + (m.B_pos * px - m.B_neg * nx) + m.bias_steps, average)


by_means = either(_of_dense_row, _of_sparse_row)


@part
def by_full_means(rows, i, own, m, average):
    return _along_vectors(rows, i, own, m, P_POS, P_NEG, average)


@part
def by_diagonal_means(rows, i, table, m, average):
    margin, steps = m.bias, m.bias_steps
    for place in range(size(rows, i)):
        j, x = entry(rows, i, place)
        Sx = x / (1.0 + table[j, Q])
        margin += table[j, U] * x + (m.A_pos * table[j, S_POS] - m.A_neg * table[j, S_NEG]) * Sx
        steps += table[j, V] * x + (m.B_pos * table[j, S_POS] - m.B_neg * table[j, S_NEG]) * Sx
    return _of_either(m, margin, steps, average)


@part
def by_points(rows, i, own, m, average):
    wx, _ = dot(rows, i, own[POINT_U])
    margin = wx + m.bias
    if not average:
        return m.scale * margin
    vx, _ = dot(rows, i, own[POINT_V])
    extra = m.scales - m.t if m.scales > 0.0 else 1.0
    return margin + (extra * margin - (vx + m.bias_steps)) / max(m.t, 1)
