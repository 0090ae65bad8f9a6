"""The pass of the point rules of first order: Perceptron, the passive-aggressive family and ALMA.

The weights of ALMA never leave the unit ball. As w is kept as scale·U, bringing it back changes one number, not d. With
C the running sum of `scale`, Σ wₜ = C·U − V, where V gathers C·ΔU. For the others scale is 1, and C is t: their pass
is compiled without what the ball needs.
"""

import math

import numpy as np

from ..compiler.decorators import exact_part, filled_in, inlined
from .class_means import balanced_alpha
from .memory import LONGEST_STEP, LONGEST_TAU, POINT_U, POINT_V
from .progress import note
from .rows import add, dot
from .rules import LARGEST_ROW
from .steps import point_step, stays_in_ball

IN_BALL = True  # whether any model stays in the unit ball; compiled for either case, as a scale delays each step
LEAST_SCALE = 1e-100
LEAST_SCALE_AVERAGED = 1e-3  # C·U and V are 1/scale times as large as their difference
LONGEST_IN_THE_BALL = 2.0**64  # after it, w back in the ball is this sample to working precision


@exact_part
def _square(w, bias):
    total = bias * bias
    for j in range(w.size):
        total += w[j] * w[j]
    return total


@exact_part
def _back_into_the_ball(w, steps, m, average, length, along):
    """Bring w back after a step of this length, with y·f(x̂) = `along` before it."""
    m.pp = max(0.0, m.pp + length * (2.0 * along + length))
    if m.pp > 1.0:
        m.scale /= math.sqrt(m.pp)
        m.pp = 1.0
    if m.scale < (LEAST_SCALE_AVERAGED if average else LEAST_SCALE):
        if average:
            for j in range(w.size):
                steps[j] += (m.scale - m.scales) * w[j]
            m.bias_steps += (m.scale - m.scales) * m.bias
            m.scales = 1.0
        for j in range(w.size):
            w[j] *= m.scale
        m.bias *= m.scale
        m.scale = 1.0
        m.pp = _square(w, m.bias)


def _pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; return the position of the first bad row, or −1."""
    vectors, m, p, out = home.vectors[k], scalars[k], settings[k], margins[k]
    w, steps = vectors[POINT_U], vectors[POINT_V]
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    rule, positive_code, balanced, average = p.rule, p.positive, p.balanced, p.average
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    one, ball = 1.0 if p.intercept else 0.0, IN_BALL and stays_in_ball(p.rule)
    if ball and not m.products_known:
        m.pp, m.scales, m.products_known = _square(w, m.bias) * m.scale * m.scale, m.t + 1.0, 1
    for r in range(start, stop):
        i = order[r] if ordered else r
        wx, xx = dot(rows, i, w)
        if not xx <= LARGEST_ROW:
            return r
        margin = m.scale * (wx + m.bias) if IN_BALL else wx + m.bias
        if wanted:
            out[r] = margin
        s = weights[np.uint64(i)] if weighted else 1.0
        if s == 0.0:
            continue
        positive = codes[np.uint64(i)] == positive_code
        note(m, p, margin, positive, s, 1.0)
        if balanced:
            alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
        signed = margin if positive else -margin
        tau = point_step(rule, signed, xx + one, m.updates + 1.0, p)
        if tau > 0.0:
            step = tau * s * (alpha_pos if positive else -alpha_neg)
            if ball:
                longest = LONGEST_IN_THE_BALL / math.sqrt(xx + one)
                step = min(max(step, -longest), longest) / m.scale
            if ball or (abs(step) < LONGEST_TAU and step * xx * step < LONGEST_STEP):
                now = m.scales if ball else float(m.t)
                m.updates += 1
                add(rows, i, step, w)
                m.bias += one * step
                if average:
                    add(rows, i, now * step, steps)
                    m.bias_steps += now * one * step
                if ball:
                    norm = math.sqrt(xx + one)
                    _back_into_the_ball(w, steps, m, average, abs(step) * m.scale * norm, signed / norm)
        if ball:
            m.scales += m.scale
    return -1


point_pass = inlined(filled_in(_pass, "point_pass", IN_BALL=False))
ball_pass = inlined(filled_in(_pass, "ball_pass", IN_BALL=True))
