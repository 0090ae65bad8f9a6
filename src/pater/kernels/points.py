"""The pass of the point rules: Perceptron and the passive-aggressive family.

Knows `rules`, `rows` and `state`.
"""

from __future__ import annotations

from .class_means import balanced_alpha
from .compile import exact_kernel
from .progress import observe
from .rows import add, dot
from .rules import LARGEST_ROW, point_step
from .state import LONGEST_STEP, LONGEST_TAU, POINT_U, POINT_V


@exact_kernel
def point_pass(rows, order, codes, weights, margins, vectors, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    w, steps = vectors[POINT_U], vectors[POINT_V]
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    rule, positive_code, balanced, average, C = p.rule, p.positive, p.balanced, p.average, p.C
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    one = 1.0 if p.intercept else 0.0
    for r in range(start, stop):
        i = order[r] if ordered else r
        wx, xx = dot(rows, i, w)
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
        tau = point_step(rule, margin if positive else -margin, xx + one, C)
        if tau > 0.0:
            step = tau * s * (alpha_pos if positive else -alpha_neg)
            if not (abs(step) < LONGEST_TAU and step * xx * step < LONGEST_STEP):
                continue
            m.updates += 1
            add(rows, i, step, w)
            m.bias += one * step
            if average:
                add(rows, i, m.t * step, steps)
                m.bias_steps += m.t * one * step
    return -1
