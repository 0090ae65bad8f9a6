"""The pass of the second-order rules with a diagonal covariance: it touches only what a row holds.

Knows `rules`, `rows`, `class_means` and `state`. Each feature has a precision, 1 + Q, to which a row that enters adds
κ·x². A point rule then moves w by step·x/(1 + Q). A mean rule keeps w = U + Σ(A⁺S⁺ − A⁻S⁻), and zᵀΣz follows from
S⁺ᵀΣS⁺, S⁻ᵀΣS⁻ and S⁺ᵀΣS⁻, which change at the row's non-zeros only; when it cancels, it is taken from the vectors. In
the form of steps, where a row changes S and Q, U takes up the difference, so that w stays as it was, and A± ← A± +
τα±/n± is the step. In the leader's form U is 0 and A± = τα±/n±.
"""

from __future__ import annotations

import math

from .class_means import TOO_LARGE, balanced_alpha, bias_gap, bounded, rates, shrink, shrink_vector, zero_gap
from .compile import exact_part, inlined, part
from .lazy_form import permitted_strain, too_large
from .means import hinge_of, look
from .progress import observe
from .rows import entry, reach, size
from .rules import LARGEST_ROW
from .state import LONGEST_STEP, LONGEST_TAU, POINT_Q, POINT_U, POINT_V, S_NEG, S_POS, Q, U, V
from .steps import (
    confident_gain,
    confident_step,
    enters_metric,
    fits_labels,
    mean_step,
    passive,
    ridge_step,
    sums_labels,
    weight_is_in_objective,
)

FOLD_EVERY = 32  # folding costs d; after 32·d numbers added it is lost in them
CANCELLED = 1e-4  # of its terms: a zᵀΣz below it is taken from the vectors, but
LOOK_EVERY = 0.125  # of d: only when as many numbers were added, for it costs d
LOST = 1e-10  # of its terms: a zᵀΣz below it says nothing if it is not taken from the vectors
LARGEST_LAZY = 1e280  # of a lazy part of w: beyond it, it is folded
LEAST_NOISE, MOST_NOISE = 1e-40, 1e40  # of 1/κ, as with a full covariance


@part
def _dot(rows, i, w, q):
    """w·x, ‖x‖² and xᵀΣx."""
    wx = 0.0
    xx = 0.0
    c = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        wx += w[j] * x
        xx += x * x
        c += x * x / (1.0 + q[j])
    return wx, xx, c


@part
def _add(rows, i, a, q, v):
    """v ← v + a·Σx."""
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        v[j] += a * x / (1.0 + q[j])


@part
def _add_squares(rows, i, a, q):
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        q[j] += a * x * x


@exact_part
def _count(rows, i, y, gain, t, w, steps, q):
    """Enter a mistake of the second-order perceptron, w = Σv with v ← v + gain·y·x and its part in Σ t·δₜ."""
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        q_new = q[j] + gain * x * x
        w_new = (w[j] * (1.0 + q[j]) + gain * y * x) / (1.0 + q_new)
        steps[j] += t * (w_new - w[j])
        w[j] = w_new
        q[j] = q_new


@exact_part
def diagonal_point_pass(rows, order, codes, weights, margins, vectors, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    w, steps, q = vectors[POINT_U], vectors[POINT_V], vectors[POINT_Q]
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    rule, positive_code, balanced, average = p.rule, p.positive, p.balanced, p.average
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    fits, sums, objective = fits_labels(rule), sums_labels(rule), weight_is_in_objective(rule)
    one = 1.0 if p.intercept else 0.0
    for r in range(start, stop):
        i = order[r] if ordered else r
        wx, xx, c = _dot(rows, i, w, q)
        if not xx <= LARGEST_ROW:
            return r
        margin = wx + m.bias
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
        observe(m, p, margin, positive, s)
        if balanced:
            alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
        s *= alpha_pos if positive else alpha_neg
        y = 1.0 if positive else -1.0
        bias_variance = one / (1.0 + m.bias_Q)
        c += bias_variance
        step = 0.0
        gain = 0.0
        if sums:
            if enters_metric(rule, y * margin, p):
                m.updates += 1
                gain = min(max(s / p.r, 1.0 / MOST_NOISE), 1.0 / LEAST_NOISE)
                _count(rows, i, y, gain, float(m.t), w, steps, q)
                bias = (m.bias * (1.0 + m.bias_Q) + one * gain * y) / (1.0 + m.bias_Q + one * gain)
                m.bias_steps += m.t * (bias - m.bias)
                m.bias = bias
                m.bias_Q += one * gain
            continue
        if fits:
            if enters_metric(rule, y * margin, p):
                noise = min(max(p.r / s, LEAST_NOISE), MOST_NOISE)
                step, gain = ridge_step(y, margin, noise + c), 1.0 / noise
        elif c > 0.0:
            step = confident_step(rule, y * margin, c, p.C * s, p) * (1.0 if objective else s)
            if 0.0 < step < LONGEST_TAU:
                gain = min(confident_gain(step, c, p.phi), 1.0 / LEAST_NOISE)
                step *= y
        if gain > 0.0:
            if step != 0.0 and abs(step) < LONGEST_TAU and step * c * step < LONGEST_STEP:
                m.updates += 1
                _add(rows, i, step, q, w)
                m.bias += step * bias_variance
                if average:
                    _add(rows, i, m.t * step, q, steps)
                    m.bias_steps += m.t * step * bias_variance
            _add_squares(rows, i, gain, q)
            m.bias_Q += one * gain
    return -1


@exact_part
def _dot_table(rows, i, table):
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


@exact_part
def _enter(rows, i, table, m, leads, s_pos, s_neg, gain):
    """Add s_pos·x to S⁺, s_neg·x to S⁻ and gain·x² to Q. A leader's w follows; else w and Σ t·δₜ stay as they are."""
    pp = 0.0
    nn = 0.0
    pn = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        sp, sn, q = table[j, S_POS], table[j, S_NEG], table[j, Q]
        sp_new, sn_new, q_new = sp + s_pos * x, sn + s_neg * x, q + gain * x * x
        before, after = 1.0 / (1.0 + q), 1.0 / (1.0 + q_new)
        change = (m.A_pos * sp_new - m.A_neg * sn_new) * after - (m.A_pos * sp - m.A_neg * sn) * before
        table[j, V] -= (m.B_pos * sp_new - m.B_neg * sn_new) * after - (m.B_pos * sp - m.B_neg * sn) * before
        if leads:
            table[j, V] += m.t * change
        else:
            table[j, U] -= change
        table[j, S_POS], table[j, S_NEG], table[j, Q] = sp_new, sn_new, q_new
        pp += sp_new * sp_new * after - sp * sp * before
        nn += sn_new * sn_new * after - sn * sn * before
        pn += sp_new * sn_new * after - sp * sn * before
    m.pp += pp
    m.nn += nn
    m.pn += pn


@exact_part
def _know_products(table, m):
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
    _know_products(table, m)


@exact_part
def _gap(table, m, a_pos, a_neg, zz_bias):
    """zᵀΣz, to which the intercept adds zz_bias; 0 where z is nothing but the rounding of the class means."""
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
    """w ← τΣz: the shortest weights in the metric of Σ⁻¹ that leave no total-error hinge of what has entered."""
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    if p.balanced:
        alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
    a_pos = alpha_pos / m.seen_pos if m.seen_pos > 0.0 else 0.0
    a_neg = alpha_neg / m.seen_neg if m.seen_neg > 0.0 else 0.0
    z_bias = one * (a_pos * m.n_pos - a_neg * m.n_neg)
    zz_bias = z_bias * z_bias / (1.0 + m.bias_Q)
    zz = _gap(table, m, a_pos, a_neg, zz_bias)
    tau = bounded((a_pos * m.n_pos + a_neg * m.n_neg) / zz, zz) if zz > 0.0 else 0.0
    m.B_pos += m.t * (tau * a_pos - m.A_pos)
    m.B_neg += m.t * (tau * a_neg - m.A_neg)
    m.A_pos, m.A_neg = tau * a_pos, tau * a_neg
    bias = tau * z_bias / (1.0 + m.bias_Q)
    m.bias_steps += m.t * (bias - m.bias)
    m.bias = bias


@inlined
def _overflows(m, xx):
    """Could a lazy part of w overflow? Only where rows of 1e-100 and of 1e100 meet; w itself does not."""
    largest = max(m.largest, xx)
    reach = 1.0 + largest + (m.n_pos + m.n_neg) * math.sqrt(largest)
    return not max(m.A_pos, m.A_neg, m.B_pos, m.B_neg) * reach < LARGEST_LAZY


@inlined
def _strained(m, c, positive, s, waits):
    """Should w be folded before a row enters its class sum? As `lazy_form.strained`, with c = xᵀΣx for ‖x‖²."""
    losses = 0.0 if waits else m.loss_pos + m.loss_neg
    limit = permitted_strain(m.work_since_fold, m.width)
    return too_large(m.A_pos if positive else m.A_neg, s * c, m.n_pos + m.n_neg, m.unit, losses, limit)


@exact_part
def diagonal_mean_pass(rows, order, codes, weights, margins, table, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    positive_code, waits, leads = p.positive, passive(p.rule), p.leader
    if not m.products_known:
        _know_products(table, m)
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    one = 1.0 if p.intercept else 0.0
    for r in range(start, stop):
        i = order[r] if ordered else r
        ux, px, nx, xx, c = _dot_table(rows, i, table)
        if not xx <= LARGEST_ROW:
            return r
        s = weights[i] if weighted else 1.0
        positive = codes[i] == positive_code
        y = 1.0 if positive else -1.0
        margin, slack = look(m, ux, px, nx, y)
        loss = hinge_of(slack)
        enters = not waits or loss > 0.0
        if not leads and (_overflows(m, xx) or (enters and _strained(m, c, positive, s, waits))):
            fold(table, m)
            ux, px, nx, xx, c = _dot_table(rows, i, table)
            margin, slack = look(m, ux, px, nx, y)
            loss = hinge_of(slack)
        if wanted:
            margins[r] = margin
        if s == 0.0:
            continue
        m.t += 1
        m.width = max(m.width, reach(rows, i))
        if positive:
            m.seen_pos += s
        else:
            m.seen_neg += s
        observe(m, p, margin, positive, s)
        if waits and loss == 0.0:
            if leads:
                _lead(table, m, p, one)
            continue

        rate_pos, rate_neg = rates(m, p)
        gain = min(max(s * (rate_pos if positive else rate_neg), 1.0 / MOST_NOISE), 1.0 / LEAST_NOISE)
        s_pos, s_neg = (s, 0.0) if positive else (0.0, s)
        m.n_pos += s_pos
        m.n_neg += s_neg
        m.loss_pos += s_pos * loss
        m.loss_neg += s_neg * loss
        m.largest = max(m.largest, xx)
        m.entered += 1
        m.work_since_fold += size(rows, i)
        m.careful_work += size(rows, i)
        if leads:
            m.updates += 1
            _enter(rows, i, table, m, True, s_pos, s_neg, gain)
            m.bias_Q += one * gain
            if m.work_since_fold >= FOLD_EVERY * m.width:
                _know_products(table, m)
                m.work_since_fold = 0
            _lead(table, m, p, one)
            continue

        _enter(rows, i, table, m, False, s_pos, s_neg, 0.0)  # the step is taken in the metric before the row
        alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
        if p.balanced:
            alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
        a_pos = alpha_pos / m.n_pos if m.n_pos > 0.0 else 0.0
        a_neg = alpha_neg / m.n_neg if m.n_neg > 0.0 else 0.0
        z_bias = one * bias_gap(alpha_pos, alpha_neg, m.n_pos, m.n_neg)
        Sz_bias = z_bias / (1.0 + m.bias_Q)
        zz = _gap(table, m, a_pos, a_neg, z_bias * Sz_bias)
        if zz > 0.0:
            own_loss = s * loss * (a_pos if positive else a_neg)
            tau = bounded(mean_step(p.rule, own_loss, a_pos * m.loss_pos + a_neg * m.loss_neg, zz, p), zz)
            if tau > 0.0:
                m.updates += 1
                m.A_pos += tau * a_pos
                m.A_neg += tau * a_neg
                m.bias += tau * Sz_bias
                if p.average:
                    m.B_pos += m.t * tau * a_pos
                    m.B_neg += m.t * tau * a_neg
                    m.bias_steps += m.t * tau * Sz_bias
        _enter(rows, i, table, m, False, 0.0, 0.0, gain)
        m.bias_Q += one * gain
        if m.loss_pos + m.loss_neg > TOO_LARGE:
            shrink(m)
            shrink_vector(table[:, U])
            shrink_vector(table[:, V])
        if m.work_since_fold >= FOLD_EVERY * m.width:
            fold(table, m)
    return -1
