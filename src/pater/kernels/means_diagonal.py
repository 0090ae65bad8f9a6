"""Mean rules with a diagonal covariance, in the pass of `second_order`: a row touches only what it holds.

Each feature has a precision, 1 + Q, to which a row that enters adds κ·x². With w = U + Σ(A⁺S⁺ − A⁻S⁻), zᵀΣz follows
from S⁺ᵀΣS⁺, S⁻ᵀΣS⁻ and S⁺ᵀΣS⁻, which change only at the row's non-zeros; where it cancels, it is computed from the
vectors. In the form of steps, when a row changes S and Q, U takes up the difference, so that w stays as it was, and the
step is A± ← A± + τα±/n±. In the leader's form U is 0 and A± = τα±/n±, where n± counts all samples seen.
"""

import math

from ..compiler.decorators import exact_part, inlined
from .class_means import bounded, enter, lead, parts_of_gap, rates, set_aside, shrink_when_large, zero_gap
from .lazy_form import (
    IN_LANES,
    STRAIN,
    STRAIN_ON_CREDIT,
    fold,
    hinge_of,
    look,
    permitted_strain,
    renew_products,
    too_large,
)
from .memory import S_NEG, S_POS, Q, U, V
from .points_diagonal import memory_of
from .rows import entry, reach, size
from .second_order import LEAST_NOISE, LONGEST_PAUSE, MOST_NOISE, second_order_pass, settle_counts, settled
from .steps import loss_to_take, passive

LEADS = True  # whether models are leaders; code that depends on it is compiled for either case
FOLD_EVERY = 32  # folding costs d, which is negligible after 32·d numbers added
CANCELLED = 1e-4  # of its terms: a zᵀΣz below it is computed from the vectors, but
LOOK_EVERY = 0.125  # of d: only after so many numbers were added, as it costs d
LOST = 1e-10  # of its terms: a zᵀΣz below it means nothing unless computed from the vectors
STRAIN_OF_FADING = 2.0**30  # as `lazy_form.STRAIN`, for a class that stays away while the past fades, which is rare
FADED = 2.0**-12  # of their peak: products of class sums below it are computed from the vectors
LARGEST_LAZY = 1e280  # of a lazy part of w: beyond it, it is folded


@exact_part
def _products(rows, i, table):
    """U·x, S⁺ᵀΣx, S⁻ᵀΣx, ‖x‖² and xᵀΣx."""
    ux = px = nx = xx = c = 0.0
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
def _change(table, j, m, leads, sp_new, sn_new, q_new):
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
def _enter(rows, i, table, m, leads, s_pos, s_neg, gain, least):
    """Add s_pos·x to S⁺, s_neg·x to S⁻ and gain·x² to Q, first raising Q to `least` where the row is not 0."""
    pp = nn = pn = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        sp, sn, q = table[j, S_POS], table[j, S_NEG], table[j, Q]
        sp_new, sn_new, q_new = sp + s_pos * x, sn + s_neg * x, (max(q, least) if x != 0.0 else q) + gain * x * x
        before, after = 1.0 / (1.0 + q), 1.0 / (1.0 + q_new)
        _change(table, j, m, leads, sp_new, sn_new, q_new)
        pp += sp_new * sp_new * after - sp * sp * before
        nn += sn_new * sn_new * after - sn * sn * before
        pn += sp_new * sn_new * after - sp * sn * before
    m.pp += pp
    m.nn += nn
    m.pn += pn


@exact_part
def _set_aside(table, m):
    """Set a leader's w to 0 until it leads anew."""
    pos, neg = set_aside(m)
    for j in range(m.width):
        table[j, V] += (pos * table[j, S_POS] - neg * table[j, S_NEG]) / (1.0 + table[j, Q])
    m.work_since_fold = 0
    renew_products(table, IN_LANES, m, True)


@exact_part
def _gap(table, m, a_pos, a_neg, zz_bias):
    """zᵀΣz, to which the intercept adds zz_bias; 0 where z is only the rounding of the class means."""
    terms = a_pos * a_pos * m.pp + a_neg * a_neg * m.nn
    zz = terms - 2.0 * a_pos * a_neg * m.pn + zz_bias
    if zz > CANCELLED * terms:
        return zz
    if m.careful_work < LOOK_EVERY * m.width:
        return zz if zz > LOST * terms else 0.0
    m.careful_work = 0
    zz = zz_bias
    scale = zz_bias
    for j in range(m.width):
        a, b, variance = a_pos * table[j, S_POS], a_neg * table[j, S_NEG], 1.0 / (1.0 + table[j, Q])
        zz += (a - b) * (a - b) * variance
        scale += (a * a + b * b) * variance
    return zz if zz > zero_gap(m.entered) * scale else 0.0


@exact_part
def _lead(table, m, p, one):
    """w ← τΣz: the shortest weights in the metric of Σ⁻¹ that leave no total-error hinge on what has entered."""
    a_pos = p.alpha_pos / m.seen_pos if m.seen_pos > 0.0 else 0.0
    a_neg = p.alpha_neg / m.seen_neg if m.seen_neg > 0.0 else 0.0
    z_bias = one * (a_pos * m.n_pos - a_neg * m.n_neg)
    zz_bias = z_bias * z_bias / (1.0 + m.bias_Q)
    zz = _gap(table, m, a_pos, a_neg, zz_bias)
    tau = bounded((a_pos * m.n_pos + a_neg * m.n_neg) / zz, zz) if zz > 0.0 else 0.0
    lead(m, tau * a_pos, tau * a_neg, tau * z_bias / (1.0 + m.bias_Q))


@inlined
def _overflows(m, xx):
    """Whether a lazy part of w could overflow, though w does not: only where rows of 1e-100 and of 1e100 meet."""
    largest = max(m.largest, xx)
    reach = 1.0 + largest + (m.n_pos + m.n_neg) * math.sqrt(largest)
    return not max(m.A_pos, m.A_neg, m.B_pos, m.B_neg) * reach < LARGEST_LAZY


@inlined
def _strained(m, p, c, positive, s):
    """Whether to fold w before a row enters its class sum: as `lazy_form.strained`, with c = xᵀΣx for ‖x‖²."""
    losses = 0.0 if passive(p.rule) else m.loss_pos + m.loss_neg
    limit = permitted_strain(m.work_since_fold, m.width)
    if 0.0 < p.forgetting < 1.0:
        limit = min(limit, STRAIN_OF_FADING)
    return too_large(m.A_pos if positive else m.A_neg, s * c, m.n_pos + m.n_neg, m.unit, losses, limit)


@inlined
def _leads_astray(m, c, positive, s):
    """Whether A of a class that stayed away is so large that parts of Σ t·δₜ would cancel if a row entered its sum."""
    limit = STRAIN if m.work_since_fold >= m.width else STRAIN_ON_CREDIT
    largest = max(m.A_pos, abs(m.B_pos) / m.t) if positive else max(m.A_neg, abs(m.B_neg) / m.t)
    return not largest * s * c <= limit


@exact_part
def _look(rows, i, table, m, y):
    """Margin, loss, ‖x‖² and xᵀΣx of a row."""
    ux, px, nx, xx, c = _products(rows, i, table)
    margin, slack = look(m, ux, px, nx, y)
    return margin, hinge_of(slack), xx, c


@exact_part
def _step_along_gap(table, m, p, positive, weighted_loss):
    """The paper's step in the metric of Σ: A± ← A± + τα±/n±, τ = term/(zᵀΣz)."""
    a_pos, a_neg, z_bias = parts_of_gap(m, p)
    Sz_bias = z_bias / (1.0 + m.bias_Q)
    zz = _gap(table, m, a_pos, a_neg, z_bias * Sz_bias)
    if zz > 0.0:
        own_loss = weighted_loss * (a_pos if positive else a_neg)
        tau = bounded(loss_to_take(p.rule, own_loss, a_pos * m.loss_pos + a_neg * m.loss_neg) / zz, zz)
        if tau > 0.0:
            m.updates += 1
            m.A_pos += tau * a_pos
            m.A_neg += tau * a_neg
            m.bias += tau * Sz_bias
            if p.average:
                m.B_pos += m.t * tau * a_pos
                m.B_neg += m.t * tau * a_neg
                m.bias_steps += m.t * tau * Sz_bias


def _meet(rows, i, vectors, m, p, y, s):
    """The margin of row i, its loss, ‖x‖² and xᵀΣx; w is folded first where it has to be."""
    if not m.products_known:
        renew_products(vectors, IN_LANES, m, True)
    margin, loss, xx, c = _look(rows, i, vectors, m, y)
    if not LEADS:
        enters = loss > 0.0 or not passive(p.rule)
        if _overflows(m, xx) or (enters and _strained(m, p, c, y > 0.0, s)):
            fold(vectors, IN_LANES, m, True)
            margin, loss, xx, c = _look(rows, i, vectors, m, y)
    return margin, loss, xx, c, 0.0


def _fade(rows, i, vectors, m, p, y, g, a, b):
    """Divide the gain out of the past, and raise to the prior the columns that have faded below it in a pause."""
    if g <= LONGEST_PAUSE:
        return g, a, b
    m.width = max(m.width, reach(rows, i))
    for j in range(m.width):
        _change(vectors, j, m, LEADS, vectors[j, S_POS], vectors[j, S_NEG], max(vectors[j, Q], g - 1.0))
    down_pos, down_neg = settle_counts(m)
    for j in range(m.width):
        vectors[j, S_POS] *= down_pos
        vectors[j, S_NEG] *= down_neg
        vectors[j, Q] = settled(vectors[j, Q], g)
    m.bias_Q = settled(m.bias_Q, g)
    renew_products(vectors, IN_LANES, m, True)
    return 1.0, a * g, b


def _take(rows, i, vectors, m, p, margin, loss, xx, a, b, y, s, g):
    """Add row i to its class sum and to Σ, and step along Σz or lead anew."""
    one, forgets, positive = 1.0 if p.intercept else 0.0, 0.0 < p.forgetting < 1.0, y > 0.0
    m.width = max(m.width, reach(rows, i))
    if loss == 0.0 and passive(p.rule):
        if LEADS:
            _lead(vectors, m, p, one)
        return
    rate_pos, rate_neg = rates(m, p)
    gain = min(max(s * (rate_pos if positive else rate_neg), 1.0 / MOST_NOISE), 1.0 / LEAST_NOISE) * g
    s *= g
    s_pos, s_neg = (s, 0.0) if positive else (0.0, s)
    enter(m, s_pos, s_neg, loss)
    m.largest = max(m.largest, xx)
    m.bias_Q = max(m.bias_Q, one * (g - 1.0))
    m.work_since_fold += size(rows, i)
    m.careful_work += size(rows, i)
    if LEADS:
        m.updates += 1
        if forgets and p.average and _leads_astray(m, a, positive, s):
            _set_aside(vectors, m)
        _enter(rows, i, vectors, m, True, s_pos, s_neg, gain, g - 1.0)
    else:  # the step is taken in the metric before the row
        _enter(rows, i, vectors, m, False, s_pos, s_neg, 0.0, g - 1.0)
    if forgets:
        m.pp_peak, m.nn_peak = max(m.pp_peak, m.pp), max(m.nn_peak, m.nn)
        if m.pp < FADED * m.pp_peak or m.nn < FADED * m.nn_peak:  # little but rounding is left
            renew_products(vectors, IN_LANES, m, True)
    if not LEADS:
        _step_along_gap(vectors, m, p, positive, s * loss)
        _enter(rows, i, vectors, m, False, 0.0, 0.0, gain, 0.0)
        shrink_when_large(m, vectors[:, U], vectors[:, V])
    m.bias_Q += one * gain
    if m.work_since_fold >= FOLD_EVERY * m.width:
        if LEADS:
            renew_products(vectors, IN_LANES, m, True)
            m.work_since_fold = 0
        else:
            fold(vectors, IN_LANES, m, True)
    if LEADS:
        _lead(vectors, m, p, one)


_forms = memory_of, _meet, _fade, _take, LONGEST_PAUSE
STEPS = second_order_pass("steps", *_forms, LEADS=False)
LEADERS = second_order_pass("leaders", *_forms, LEADS=True)
