"""The point rules of second order with a diagonal covariance: what a row is to them, and does to it.

Knows `points_second`, `steps`, `rows` and `state`. Each feature has a precision, 1 + Q, to which a row that enters adds
κ·x². A step moves w by step·x/(1 + Q).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compile import exact_part, part
from .fading import LONGEST_PAUSE, settle_counts
from .memory import LONGEST_STEP, LONGEST_TAU, POINT_Q, POINT_U, POINT_V
from .points_full import LEAST_NOISE, MOST_NOISE
from .points_second import arrays_of, fade, meet, take
from .rows import entry, size
from .steps import (
    confident_gain,
    confident_step,
    enters_metric,
    fits_labels,
    ridge_step,
    sums_labels,
    weight_is_in_objective,
)


class DiagonalPoints(NamedTuple):
    """Models of point rules with a diagonal covariance."""

    vectors: Any


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
def _lift(rows, i, q, least):
    """Let Q be at least so much in the columns of row i, which may have paused; xᵀΣx."""
    c = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        if x != 0.0:
            q[j] = max(q[j], least)
        c += x * x / (1.0 + q[j])
    return c


@exact_part
def settled(q, g):
    """Q of a column when g is taken out of Σ⁻¹; at least the prior is left."""
    return max((1.0 + q) / g, 1.0) - 1.0


@arrays_of.form_for(DiagonalPoints)
def _arrays(home, k, m, p):
    v, none = home.vectors[k], np.zeros(0)
    return v[POINT_U], v[POINT_V], v[POINT_Q], none, none, none, none


@meet.form_for(DiagonalPoints)
def _meet(home, rows, i, w, q):
    return _dot(rows, i, w, q)


@fade.form_for(DiagonalPoints)
def _fade(home, q, triangle, f, k, m, g):
    m.gain_pos = m.gain_neg = g
    if g > LONGEST_PAUSE:
        for j in range(q.size):
            if q[j] > 0.0:  # pages that no row has reached are not touched
                q[j] = settled(q[j], g)
        m.bias_Q = settled(m.bias_Q, g)
        settle_counts(m)
    return m.gain_pos


@take.form_for(DiagonalPoints)
def _take(home, rows, i, w, steps, q, triangle, x, f, k, m, p, margin, xx, c, y, s, g):
    rule, one = p.rule, 1.0 if p.intercept else 0.0
    if 0.0 < p.forgetting < 1.0:
        c = _lift(rows, i, q, g - 1.0)
        m.bias_Q = max(m.bias_Q, g - 1.0)
    bias_variance = one / (1.0 + m.bias_Q)
    c += bias_variance
    step = 0.0
    gain = 0.0
    if sums_labels(rule):
        if enters_metric(rule, y * margin, p):
            m.updates += 1
            gain = min(max(s / p.r, 1.0 / MOST_NOISE), 1.0 / LEAST_NOISE) * g
            _count(rows, i, y, gain, float(m.t), w, steps, q)
            bias = (m.bias * (1.0 + m.bias_Q) + one * gain * y) / (1.0 + m.bias_Q + one * gain)
            m.bias_steps += m.t * (bias - m.bias)
            m.bias = bias
            m.bias_Q += one * gain
        return
    if fits_labels(rule):
        if enters_metric(rule, y * margin, p):
            noise = min(max(p.r / s, LEAST_NOISE), MOST_NOISE) / g
            step, gain = ridge_step(y, margin, noise + c), 1.0 / noise
    elif c > 0.0:
        step = confident_step(rule, y * margin, g * c, p.C * s, p) * (1.0 if weight_is_in_objective(rule) else s)
        if 0.0 < step < LONGEST_TAU:
            gain = min(confident_gain(step, g * c, p.phi), 1.0 / LEAST_NOISE) * g
            step *= y * g
    if gain > 0.0:
        if step != 0.0 and abs(step) < LONGEST_TAU and step * c * step < LONGEST_STEP:
            m.updates += 1
            _add(rows, i, step, q, w)
            m.bias += step * bias_variance
            if p.average:
                _add(rows, i, m.t * step, q, steps)
                m.bias_steps += m.t * step * bias_variance
        _add_squares(rows, i, gain, q)
        m.bias_Q += one * gain
