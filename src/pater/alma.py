"""The pass of ALMA, whose weights never leave the unit ball.

Knows `rules`, `rows` and `state`. To bring w back into the ball is to divide all of it; so w is kept as scale·U, and
that costs one number. With C the running sum of `scale`, Σ wₜ = C·U − V where V gathers C·ΔU.
"""

from __future__ import annotations

import math

from ._compile import exact_kernel
from .means import balanced_alpha
from .progress import observe
from .rows import add, dot
from .rules import LARGEST_ROW, alma
from .state import POINT_U, POINT_V

LEAST_SCALE = 1e-100
LONGEST_STEP = 2.0**64  # brought back into the ball, w is this sample to working precision, as after any longer one
LEAST_SCALE_AVERAGED = 1e-3  # C·U and V are 1/scale times as large as their difference


@exact_kernel
def _square(w, bias):
    total = bias * bias
    for j in range(w.size):
        total += w[j] * w[j]
    return total


@exact_kernel
def _unscale(w, m):
    """The same weights, with a scale of 1."""
    for j in range(w.size):
        w[j] *= m.scale
    m.bias *= m.scale
    m.scale = 1.0
    m.pp = _square(w, m.bias)


@exact_kernel
def alma_pass(rows, order, codes, weights, margins, vectors, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    w, steps = vectors[POINT_U], vectors[POINT_V]
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    positive_code, balanced, average = p.positive, p.balanced, p.average
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    one = 1.0 if p.intercept else 0.0
    if not m.products_known:
        m.pp = _square(w, m.bias) * m.scale * m.scale
        m.scales = m.t + 1.0
        m.products_known = 1
    for r in range(start, stop):
        i = order[r] if ordered else r
        wx, xx = dot(rows, i, w)
        if not xx <= LARGEST_ROW:
            return r
        margin = m.scale * (wx + m.bias)
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
        norm = math.sqrt(xx + one)
        if norm > 0.0:
            signed = (margin if positive else -margin) / norm
            eta = alma(signed, m.updates + 1.0, p.approximation)
            if eta > 0.0:
                m.updates += 1
                eta = min(eta * s * (alpha_pos if positive else alpha_neg), LONGEST_STEP)
                step = eta / norm / m.scale * (1.0 if positive else -1.0)
                add(rows, i, step, w)
                m.bias += one * step
                if average:
                    add(rows, i, m.scales * step, steps)
                    m.bias_steps += m.scales * one * step
                m.pp = max(0.0, m.pp + eta * (2.0 * signed + eta))
                if m.pp > 1.0:
                    m.scale /= math.sqrt(m.pp)
                    m.pp = 1.0
                if average and m.scale < LEAST_SCALE_AVERAGED:
                    for j in range(w.size):
                        steps[j] += (m.scale - m.scales) * w[j]
                    m.bias_steps += (m.scale - m.scales) * m.bias
                    _unscale(w, m)
                    m.scales = 1.0
                elif m.scale < LEAST_SCALE:
                    _unscale(w, m)
        m.scales += m.scale
    return -1
