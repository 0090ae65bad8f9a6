"""The pass of the mean rules that every row enters, over dense rows of many columns, where the memory sets the pace.

Knows `steps`, `class_means`, `simd` and `state`. Every row changes every weight here, so nothing is gained by keeping
steps back, but one: the step of a row is added to w in the loop that reads the next row, and each vector is passed over
once a row, beside one row where the lazy form has two. Between rows that step waits in A± and B±, so that
w = U + A⁺S⁺ − A⁻S⁻ holds as in `means`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .class_means import (
    TOO_LARGE,
    TOO_LARGE_GAIN,
    bias_gap,
    bounded,
    gap,
    lower_gain,
    next_gain,
    raise_gain,
    shrink,
    shrink_vector,
    zero_gap,
)
from .compile import exact_part, inlined
from .means import mean_pass
from .memory import S_NEG, S_POS, U, V
from .progress import in_unit, note
from .rows import square
from .rules import LARGEST_ROW, hinge
from .simd import move_and_enter
from .steps import mean_step, passive


class WideMeans(NamedTuple):
    """Models of mean rules that every row enters, of many features."""

    vectors: Any


class MixedMeans(NamedTuple):
    """Models of mean rules of either kind, of many features."""

    vectors: Any


@exact_part
def margin_of(x, w, S_pos, S_neg, m):
    """f(x), a waiting step included."""
    margin = m.bias
    for j in range(x.size):
        margin += (w[j] + (m.A_pos * S_pos[j] - m.A_neg * S_neg[j])) * x[j]
    return margin


@inlined
def wide_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; the position of the first bad row, or −1."""
    X, v, m, p, out = rows[0], home.vectors[k], scalars[k], settings[k], margins[k]
    d = X.shape[1]
    w, S_pos, S_neg, steps = v[U][:d], v[S_POS][:d], v[S_NEG][:d], v[V][:d]
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    rule, positive_code, intercept, average = p.rule, p.positive, p.intercept, p.average
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    one = 1.0 if intercept else 0.0
    forgets = 0.0 < p.forgetting < 1.0
    m.products_known, m.width = 0, X.shape[1]
    for r in range(start, stop):
        i = order[r] if ordered else r
        x = X[i]
        s = weights[i] if weighted else 1.0
        if s == 0.0:
            if not square(rows, i) <= LARGEST_ROW:
                return r
            if wanted:
                out[r] = in_unit(m.size_square, margin_of(x, w, S_pos, S_neg, m))
            continue
        positive = codes[i] == positive_code
        s_now = s * next_gain(m, positive, p.forgetting) if forgets else s
        n_pos = m.n_pos + s_now if positive else m.n_pos
        n_neg = m.n_neg if positive else m.n_neg + s_now
        a_pos = alpha_pos / n_pos if n_pos > 0.0 else 0.0
        a_neg = alpha_neg / n_neg if n_neg > 0.0 else 0.0
        own, other = (S_pos, S_neg) if positive else (S_neg, S_pos)
        a_own, a_other = (a_pos, a_neg) if positive else (a_neg, a_pos)
        step_own, step_other = (m.A_pos, -m.A_neg) if positive else (-m.A_neg, m.A_pos)
        if m.B_pos != 0.0 or m.B_neg != 0.0:
            for j in range(steps.size):
                steps[j] += m.B_pos * S_pos[j] - m.B_neg * S_neg[j]
            m.B_pos = m.B_neg = 0.0

        wx, xx, zz = move_and_enter(x, s_now, w, own, other, step_own, step_other, a_own, -a_other)
        if not xx <= LARGEST_ROW:
            return r
        m.A_pos = m.A_neg = 0.0
        margin = wx + m.bias
        if wanted:
            out[r] = in_unit(m.size_square, margin)
        note(m, p, margin, positive, s, 1.0)
        loss = hinge(margin if positive else -margin, m.unit)
        m.n_pos, m.n_neg = n_pos, n_neg
        m.largest = max(m.largest, xx)
        m.entered += 1
        if positive:
            m.loss_pos += s_now * loss
        else:
            m.loss_neg += s_now * loss
        if forgets:
            raise_gain(m, positive, p.forgetting)

        z_bias = bias_gap(alpha_pos, alpha_neg, n_pos, n_neg) if intercept else 0.0
        zz += z_bias * z_bias
        if zz < 4.0 * zero_gap(m.entered) * (alpha_pos * alpha_pos + alpha_neg * alpha_neg) * (m.largest + one):
            zz, terms = gap(S_pos, S_neg, a_pos, a_neg)
            zz += z_bias * z_bias
            zz = zz if zz > zero_gap(m.entered) * (terms + z_bias * z_bias) else 0.0
        if zz > 0.0:
            accumulated_loss = a_pos * m.loss_pos + a_neg * m.loss_neg
            tau = bounded(mean_step(rule, a_own * s_now * loss, accumulated_loss, zz, p), zz)
            if tau > 0.0:
                m.updates += 1
                m.A_pos = tau * a_pos
                m.A_neg = tau * a_neg
                m.bias += tau * z_bias
                if average:
                    m.B_pos = m.t * m.A_pos
                    m.B_neg = m.t * m.A_neg
                    m.bias_steps += m.t * tau * z_bias
        if m.loss_pos + m.loss_neg > TOO_LARGE:
            shrink(m)
            shrink_vector(w)
            shrink_vector(steps)
        if m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN:
            lower_gain(S_pos, S_neg, m)
    return -1


@inlined
def mixed_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k as it would be alone; the position of the first bad row, or −1."""
    if passive(settings[k].rule):
        return mean_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop)
    return wide_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop)
