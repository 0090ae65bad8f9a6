"""The pass of the mean rules that touches only what a row holds: sparse rows, and dense rows of few columns.

Knows `rules`, `means`, `rows`, `lanes` and `state`. With x of class c, w = U + A⁺S⁺ − A⁻S⁻ stays as it is when x is
added to S^c and c·A^c·x is taken from U; the step w ← w + τz is A± ← A± + τα±/n±. ‖z‖² follows from ‖S⁺‖², ‖S⁻‖² and
S⁺·S⁻, which change by the dot products that the prediction needs anyway.
"""

from __future__ import annotations

from ._compile import kernel
from .lanes import add_lanes, dot_lanes
from .means import TOO_LARGE, balanced_alpha, bounded, gap, products, shrink
from .rows import size
from .rules import LARGEST_ROW, PATER_I, hinge, mean_step
from .state import S_NEG, S_POS, U, V

FOLD_EVERY = 32  # folding costs d; after 32·d numbers added it is lost in them
CANCELLED = 1e-8  # of its terms: below it, ‖z‖² is taken from the vectors instead


@kernel
def fold(table, m):
    """Move the lazy part of w and of Σ t·δₜ into U and V: another form of the same vectors."""
    for j in range(table.shape[0]):
        table[j, U] += m.A_pos * table[j, S_POS] - m.A_neg * table[j, S_NEG]
        table[j, V] += m.B_pos * table[j, S_POS] - m.B_neg * table[j, S_NEG]
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0
    m.work_since_fold = 0


@kernel
def lazy_pass(rows, order, codes, weights, margins, table, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    rule, positive_code, balanced, intercept = p.rule, p.positive, p.balanced, p.intercept
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    violators_only = rule == PATER_I
    fold_at = FOLD_EVERY * table.shape[0]
    unit = 2.0**-m.exponent
    bias, A_pos, A_neg = m.bias, m.A_pos, m.A_neg
    n_pos, n_neg, loss_pos, loss_neg = m.n_pos, m.n_neg, m.loss_pos, m.loss_neg
    if not m.products_known:
        m.pp, m.nn, m.pn = products(table[:, S_POS], table[:, S_NEG])
        m.products_known = 1
    pp, nn, pn = m.pp, m.nn, m.pn
    a_pos = alpha_pos / n_pos if n_pos > 0.0 else 0.0
    a_neg = alpha_neg / n_neg if n_neg > 0.0 else 0.0
    for r in range(start, stop):
        i = order[r] if ordered else r
        ux, px, nx, _, xx = dot_lanes(rows, i, table)
        if not xx <= LARGEST_ROW:
            return r
        margin = ux + A_pos * px - A_neg * nx + bias
        if wanted:
            margins[r] = margin
        s = weights[i] if weighted else 1.0
        if s == 0.0:
            continue
        m.t += 1
        positive = codes[i] == positive_code
        if positive:
            m.seen_pos += s
        else:
            m.seen_neg += s
        loss = hinge(margin if positive else -margin, unit)
        if violators_only and loss == 0.0:
            continue

        if balanced:
            alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
            a_pos = alpha_pos / n_pos if n_pos > 0.0 else 0.0
            a_neg = alpha_neg / n_neg if n_neg > 0.0 else 0.0
        if positive:
            add_lanes(rows, i, table, -A_pos * s, s, 0.0, -m.B_pos * s)
            n_pos += s
            loss_pos += s * loss
            pp += s * (2.0 * px + s * xx)
            pn += s * nx
            a_pos = alpha_pos / n_pos
            own_loss = a_pos * s * loss
        else:
            add_lanes(rows, i, table, A_neg * s, 0.0, s, m.B_neg * s)
            n_neg += s
            loss_neg += s * loss
            nn += s * (2.0 * nx + s * xx)
            pn += s * px
            a_neg = alpha_neg / n_neg
            own_loss = a_neg * s * loss
        m.largest = max(m.largest, xx)
        m.work_since_fold += size(rows, i)

        z_bias = a_pos * n_pos - a_neg * n_neg if intercept else 0.0
        terms = a_pos * a_pos * pp + a_neg * a_neg * nn
        zz = terms - 2.0 * a_pos * a_neg * pn + z_bias * z_bias
        if not zz > CANCELLED * terms:
            zz = gap(table[:, S_POS], table[:, S_NEG], a_pos, a_neg, z_bias)
        if zz > 0.0:
            tau = bounded(mean_step(rule, own_loss, a_pos * loss_pos + a_neg * loss_neg, zz), zz)
            if tau > 0.0:
                m.updates += 1
                A_pos += tau * a_pos
                A_neg += tau * a_neg
                bias += tau * z_bias
                m.B_pos += m.t * tau * a_pos
                m.B_neg += m.t * tau * a_neg
                m.bias_steps += m.t * tau * z_bias
        if m.work_since_fold >= fold_at or loss_pos + loss_neg > TOO_LARGE:
            m.bias, m.A_pos, m.A_neg, m.loss_pos, m.loss_neg = bias, A_pos, A_neg, loss_pos, loss_neg
            if loss_pos + loss_neg > TOO_LARGE:
                shrink(table[:, U], table[:, V], m)
                unit = 2.0**-m.exponent
            if m.work_since_fold >= fold_at:
                fold(table, m)
                pp, nn, pn = products(table[:, S_POS], table[:, S_NEG])
            bias, A_pos, A_neg, loss_pos, loss_neg = m.bias, m.A_pos, m.A_neg, m.loss_pos, m.loss_neg
    m.bias, m.A_pos, m.A_neg = bias, A_pos, A_neg
    m.n_pos, m.n_neg, m.loss_pos, m.loss_neg = n_pos, n_neg, loss_pos, loss_neg
    m.pp, m.nn, m.pn = pp, nn, pn
    return -1
