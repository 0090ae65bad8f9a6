"""The lazy form under a diagonal metric, w = U + Σ(A⁺S⁺ − A⁻S⁻) with Σ = 1/(1 + Q): what a row changes, and a fold.

Knows `rows` and `memory`.
"""

from __future__ import annotations

from .compile import exact_part, inlined
from .memory import S_NEG, S_POS, Q, U, V
from .rows import entry, size


@exact_part
def products_with(rows, i, table):
    """U·x, S⁺ᵀΣx, S⁻ᵀΣx, ‖x‖² and xᵀΣx."""
    ux = 0.0
    px = 0.0
    nx = 0.0
    xx = 0.0
    c = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        Sx = x / (1.0 + table[j, Q])
        c += x * Sx
        ux += table[j, U] * x
        px += table[j, S_POS] * Sx
        nx += table[j, S_NEG] * Sx
        xx += x * x
    return ux, px, nx, xx, c


@inlined
def change(table, j, m, leads, sp_new, sn_new, q_new):
    """Set S⁺, S⁻ and Q of a column. A leader's w follows; else w and Σ t·δₜ stay as they are."""
    sp, sn = table[j, S_POS], table[j, S_NEG]
    before, after = 1.0 / (1.0 + table[j, Q]), 1.0 / (1.0 + q_new)
    change = (m.A_pos * sp_new - m.A_neg * sn_new) * after - (m.A_pos * sp - m.A_neg * sn) * before
    table[j, V] -= (m.B_pos * sp_new - m.B_neg * sn_new) * after - (m.B_pos * sp - m.B_neg * sn) * before
    if leads:
        table[j, V] += m.t * change
    else:
        table[j, U] -= change
    table[j, S_POS], table[j, S_NEG], table[j, Q] = sp_new, sn_new, q_new


@exact_part
def enter(rows, i, table, m, leads, s_pos, s_neg, gain, least):
    """Add s_pos·x to S⁺, s_neg·x to S⁻ and gain·x² to Q, which is at least `least` in columns that the row holds."""
    pp = 0.0
    nn = 0.0
    pn = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        sp, sn, q = table[j, S_POS], table[j, S_NEG], table[j, Q]
        sp_new, sn_new, q_new = sp + s_pos * x, sn + s_neg * x, (max(q, least) if x != 0.0 else q) + gain * x * x
        before, after = 1.0 / (1.0 + q), 1.0 / (1.0 + q_new)
        change(table, j, m, leads, sp_new, sn_new, q_new)
        pp += sp_new * sp_new * after - sp * sp * before
        nn += sn_new * sn_new * after - sn * sn * before
        pn += sp_new * sn_new * after - sp * sn * before
    m.pp += pp
    m.nn += nn
    m.pn += pn


@exact_part
def know_products(table, m):
    """S⁺ᵀΣS⁺, S⁻ᵀΣS⁻ and S⁺ᵀΣS⁻ from the vectors."""
    m.pp = m.nn = m.pn = 0.0
    for j in range(m.width):
        sp, sn, variance = table[j, S_POS], table[j, S_NEG], 1.0 / (1.0 + table[j, Q])
        m.pp += sp * sp * variance
        m.nn += sn * sn * variance
        m.pn += sp * sn * variance
    m.products_known = 1


@exact_part
def fold(table, m):
    """Move the lazy part of w and of Σ t·δₜ into U and V."""
    for j in range(m.width):
        sp, sn, variance = table[j, S_POS], table[j, S_NEG], 1.0 / (1.0 + table[j, Q])
        table[j, U] += (m.A_pos * sp - m.A_neg * sn) * variance
        table[j, V] += (m.B_pos * sp - m.B_neg * sn) * variance
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0
    m.work_since_fold = min(0, m.work_since_fold - m.width)
    know_products(table, m)
