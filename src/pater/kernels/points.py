"""The pass of the point rules, and what those of first order do: Perceptron, the passive-aggressive family and ALMA.

Knows `steps`, `rows` and `state`. The rules of second order take the same pass, with their own forms of what it calls
(`points_full`, `points_diagonal`).

The weights of ALMA never leave the unit ball. To bring w back into it is to divide
all of it; so w is kept as scale·U, and that costs one number. With C the running sum of `scale`, Σ wₜ = C·U − V where V
gathers C·ΔU. For the others scale is 1, and C is t.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .class_means import balanced_alpha
from .compile import body, by_kind, exact_part
from .progress import note
from .rows import add, dot
from .rules import LARGEST_ROW
from .state import LONGEST_STEP, LONGEST_TAU, POINT_U, POINT_V
from .steps import point_step, stays_in_ball


class Points(NamedTuple):
    """Models of point rules of first order."""

    vectors: Any


LEAST_SCALE = 1e-100
LEAST_SCALE_AVERAGED = 1e-3  # C·U and V are 1/scale times as large as their difference
LONGEST_IN_THE_BALL = 2.0**64  # brought back, w is this sample to working precision, as after any longer step


@exact_part
def _square(w, bias):
    total = bias * bias
    for j in range(w.size):
        total += w[j] * w[j]
    return total


@exact_part
def _know_norm(w, m):
    m.pp = _square(w, m.bias) * m.scale * m.scale
    m.scales = m.t + 1.0
    m.products_known = 1


@exact_part
def _back_into_the_ball(w, steps, m, average, length, along):
    """After a step of this length, and with such a y·f(x̂) before it."""
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


# What a pass needs of a model is handed on as arrays, one by one: to take an array out of a tuple costs a count of who
# holds it, twenty cycles each.


@by_kind
def arrays_of(home, k, m, p):
    """Of model k: w, Σ t·δₜ, Q and the triangle; and room for a row, Uᵀx and Σx. Empty where there is none."""


@by_kind
def meet(home, rows, i, w, q):
    """w·x, ‖x‖² and, where the covariance is at hand, xᵀΣx but for the intercept's part."""


@by_kind
def take(home, rows, i, w, steps, q, triangle, x, f, k, m, p, margin, xx, c, y, s):
    """Learn from row i of label y and importance s, of which `meet` and the margin are known."""


@body
def point_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; the position of the first bad row, or −1."""
    m, p, out = scalars[k], settings[k], margins[k]
    w, steps, q, triangle, x, f, Sx = arrays_of(home, k, m, p)
    alpha_pos, alpha_neg, positive_code, balanced = p.alpha_pos, p.alpha_neg, p.positive, p.balanced
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    for r in range(start, stop):
        i = order[r] if ordered else r
        wx, xx, c = meet(home, rows, i, w, q)
        if not xx <= LARGEST_ROW:
            return r
        margin = m.scale * (wx + m.bias)
        if wanted:
            out[r] = margin
        s = weights[i] if weighted else 1.0
        if s == 0.0:
            continue
        positive = codes[i] == positive_code
        note(m, p, margin, positive, s)
        if balanced:
            alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
        y = 1.0 if positive else -1.0
        s *= alpha_pos if positive else alpha_neg
        take(home, rows, i, w, steps, q, triangle, x, f, Sx, m, p, margin, xx, c, y, s)
    return -1


@arrays_of.form_for(Points)
def _arrays(home, k, m, p):
    w, none = home.vectors[k, POINT_U], np.zeros(0)
    if stays_in_ball(p.rule) and not m.products_known:
        _know_norm(w, m)
    return w, home.vectors[k, POINT_V], none, none, none, none, none


@meet.form_for(Points)
def _meet(home, rows, i, w, q):
    wx, xx = dot(rows, i, w)
    return wx, xx, xx


@take.form_for(Points)
def _take(home, rows, i, w, steps, q, triangle, x, f, k, m, p, margin, xx, c, y, s):
    one, ball = 1.0 if p.intercept else 0.0, stays_in_ball(p.rule)
    length = xx + one
    tau = point_step(p.rule, y * margin, length, m.updates + 1.0, p)
    if tau > 0.0:
        step = y * tau * s
        if ball:
            longest = LONGEST_IN_THE_BALL / math.sqrt(length)
            step = min(max(step, -longest), longest) / m.scale
        if ball or (abs(step) < LONGEST_TAU and step * xx * step < LONGEST_STEP):
            now = m.scales if ball else float(m.t)
            m.updates += 1
            add(rows, i, step, w)
            m.bias += one * step
            if p.average:
                add(rows, i, now * step, steps)
                m.bias_steps += now * one * step
            if ball:
                norm = math.sqrt(length)
                moved = abs(step) * m.scale * norm
                _back_into_the_ball(w, steps, m, p.average, moved, y * margin / norm)
    if ball:
        m.scales += m.scale
