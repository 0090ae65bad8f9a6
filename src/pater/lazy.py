"""The pass of the mean rules that touches only what a row holds: sparse rows, and dense rows of few columns.

Knows `rules`, `means`, `twofold`, `rows`, `lanes` and `state`. With x of class c, w = U + A⁺S⁺ − A⁻S⁻ stays as it is
when x is added to S^c and c·A^c·x is taken from U; the step w ← w + τz is A± ← A± + τα±/n±. ‖z‖² follows from ‖S⁺‖²,
‖S⁻‖² and S⁺·S⁻, which change by the dot products that the prediction needs anyway.

What is not a loop over a row is compiled exactly as written: `herd` does the same for eight models at once, and both
must come to the same bits.
"""

from __future__ import annotations

from ._compile import exact_kernel, exact_part
from .lanes import add_lanes, dot_lanes
from .means import (
    TOO_LARGE,
    TOO_LARGE_GAIN,
    balanced_alpha,
    bias_gap,
    bounded,
    lower_gain,
    next_gain,
    products,
    raise_gain,
    shrink,
    shrink_vectors,
    zero_gap,
)
from .progress import observe
from .rows import size
from .rules import LARGEST_ROW, PATER_I, hinge, mean_step
from .state import S_NEG, S_POS, U, V
from .twofold import all_products, count_products, squared_gap

FOLD_EVERY = 32  # folding costs d; after 32·d numbers added it is lost in them
CANCELLED = 1e-8  # of its terms: a ‖z‖² below it is taken with care
SAFE_AGAIN = 1e-4  # of its terms: above it, care may end, once as many numbers were added as entering it cost
CARE_AT_LEAST = 0.125  # of d
LARGEST_PRODUCT = 1e280  # of A and a row: beyond it, with an importance of up to 1e20, U could overflow


@exact_kernel
def fold(table, m):
    """Move the lazy part of w and of Σ t·δₜ into U and V: another form of the same vectors."""
    for j in range(table.shape[0]):
        table[j, U] += m.A_pos * table[j, S_POS] - m.A_neg * table[j, S_NEG]
    if table.shape[1] > V:
        for j in range(table.shape[0]):
            table[j, V] += m.B_pos * table[j, S_POS] - m.B_neg * table[j, S_NEG]
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0
    m.work_since_fold = 0
    if not m.careful:
        m.pp, m.nn, m.pn = products(table[:, S_POS], table[:, S_NEG])


@exact_kernel
def careful_gap(table, m, a_pos, a_neg, z_bias):
    """‖z‖² from products in twice the working precision; 0 where z is nothing but the rounding of the class means."""
    if not m.careful:
        all_products(table, m)
        m.careful, m.careful_work = 1, 0
    terms = a_pos * a_pos * m.pp + a_neg * a_neg * m.nn
    zz = squared_gap(m, a_pos, a_neg)
    if zz > SAFE_AGAIN * terms and m.careful_work >= CARE_AT_LEAST * table.shape[0]:
        m.careful = 0
    zz += z_bias * z_bias
    return zz if zz > zero_gap(m.entered) * terms else 0.0


@exact_kernel
def tidy(table, m):
    """What seldom needs doing: keep scales in range, and fold."""
    if m.loss_pos + m.loss_neg > TOO_LARGE:
        shrink(m)
        shrink_vectors(table[:, :1])
        shrink_vectors(table[:, V:])
    if m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN:
        lower_gain(table[:, S_POS], table[:, S_NEG], m)
    if m.work_since_fold >= FOLD_EVERY * table.shape[0]:
        fold(table, m)


@exact_part
def overflows(m, px, nx, xx):
    """Could the lazy form overflow here? Only where rows of 1e-100 and of 1e100 meet; w itself does not."""
    return not max(m.A_pos, m.A_neg) * (1.0 + xx + abs(px) + abs(nx)) < LARGEST_PRODUCT


@exact_part
def judge(m, p, ux, px, nx, positive, s):
    """Margin and loss of a row of importance s, before learning from it."""
    margin = ux + (m.A_pos * px - m.A_neg * nx) + m.bias
    m.t += 1
    if positive:
        m.seen_pos += s
    else:
        m.seen_neg += s
    observe(m, p, margin, positive, s)
    return margin, hinge(margin if positive else -margin, m.unit)


@exact_part
def weight_now(m, p, positive, s):
    """With what weight the row enters its class sum."""
    if 0.0 < p.forgetting < 1.0:
        s *= next_gain(m, positive, p.forgetting)
        raise_gain(m, positive, p.forgetting)
    return s


@exact_part
def enter(rows, i, table, m, positive, s, loss, px, nx, xx):
    """Count the row in; to be called before it is added to its class sum."""
    if m.careful:
        count_products(rows, i, table, positive, -1.0, m)
        m.careful_work += size(rows, i)
    elif positive:
        m.pp += s * (2.0 * px + s * xx)
        m.pn += s * nx
    else:
        m.nn += s * (2.0 * nx + s * xx)
        m.pn += s * px
    if positive:
        m.n_pos += s
        m.loss_pos += s * loss
    else:
        m.n_neg += s
        m.loss_neg += s * loss
    m.largest = max(m.largest, xx)
    m.entered += 1
    m.work_since_fold += size(rows, i)


@exact_part
def step(rows, i, table, m, p, positive, s, loss):
    """Move w along z; to be called when the row is in its class sum."""
    if m.careful:
        count_products(rows, i, table, positive, 1.0, m)
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    if p.balanced:
        alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
    a_pos = alpha_pos / m.n_pos if m.n_pos > 0.0 else 0.0
    a_neg = alpha_neg / m.n_neg if m.n_neg > 0.0 else 0.0
    z_bias = bias_gap(alpha_pos, alpha_neg, m.n_pos, m.n_neg) if p.intercept else 0.0
    terms = a_pos * a_pos * m.pp + a_neg * a_neg * m.nn
    zz = terms - 2.0 * a_pos * a_neg * m.pn + z_bias * z_bias
    if m.careful or not zz > CANCELLED * terms:
        zz = careful_gap(table, m, a_pos, a_neg, z_bias)
    if zz > 0.0:
        own_loss = s * loss * (a_pos if positive else a_neg)
        tau = bounded(mean_step(p.rule, own_loss, a_pos * m.loss_pos + a_neg * m.loss_neg, zz), zz)
        if tau > 0.0:
            m.updates += 1
            m.A_pos += tau * a_pos
            m.A_neg += tau * a_neg
            m.bias += tau * z_bias
            if p.average:
                m.B_pos += m.t * tau * a_pos
                m.B_neg += m.t * tau * a_neg
                m.bias_steps += m.t * tau * z_bias
    full = m.loss_pos + m.loss_neg > TOO_LARGE or m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN
    if full or m.work_since_fold >= FOLD_EVERY * table.shape[0]:
        tidy(table, m)


@exact_kernel
def know_products(table, m):
    """Bring ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻ up to date after a pass that does not keep them."""
    if not m.products_known:
        m.pp, m.nn, m.pn = products(table[:, S_POS], table[:, S_NEG])
        m.products_known, m.careful = 1, 0


@exact_kernel
def lazy_pass(rows, order, codes, weights, margins, table, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    know_products(table, m)
    positive_code, rule = p.positive, p.rule
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    for r in range(start, stop):
        i = order[r] if ordered else r
        ux, px, nx, _, xx = dot_lanes(rows, i, table)
        if not xx <= LARGEST_ROW:
            return r
        if overflows(m, px, nx, xx):
            fold(table, m)
            ux, px, nx, _, xx = dot_lanes(rows, i, table)
        s = weights[i] if weighted else 1.0
        if s == 0.0:
            if wanted:
                margins[r] = ux + (m.A_pos * px - m.A_neg * nx) + m.bias
            continue
        positive = codes[i] == positive_code
        margin, loss = judge(m, p, ux, px, nx, positive, s)
        if wanted:
            margins[r] = margin
        if rule == PATER_I and loss == 0.0:
            continue
        s = weight_now(m, p, positive, s)
        enter(rows, i, table, m, positive, s, loss, px, nx, xx)
        if positive:
            add_lanes(rows, i, table, -m.A_pos * s, s, 0.0, -m.B_pos * s)
        else:
            add_lanes(rows, i, table, m.A_neg * s, 0.0, s, m.B_neg * s)
        step(rows, i, table, m, p, positive, s, loss)
    return -1
