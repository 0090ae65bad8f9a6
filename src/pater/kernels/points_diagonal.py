"""The point rules of second order with a diagonal covariance: what a row is to them, and does to it.

Knows `points_second`, `steps`, `rows` and `state`. Each feature has a precision, 1 + Q, to which a row that enters adds
κ·x². A step moves w by step·x/(1 + Q).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compile import exact_part, part
from .points_full import LEAST_NOISE, MOST_NOISE
from .points_second import arrays_of, meet, take
from .rows import entry, size
from .state import LONGEST_STEP, LONGEST_TAU, POINT_Q, POINT_U, POINT_V
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


@arrays_of.form_for(DiagonalPoints)
def _arrays(home, k, m, p):
    v, none = home.vectors[k], np.zeros(0)
    return v[POINT_U], v[POINT_V], v[POINT_Q], none, none, none, none


@meet.form_for(DiagonalPoints)
def _meet(home, rows, i, w, q):
    return _dot(rows, i, w, q)


@take.form_for(DiagonalPoints)
def _take(home, rows, i, w, steps, q, triangle, x, f, k, m, p, margin, xx, c, y, s):
    rule, one = p.rule, 1.0 if p.intercept else 0.0
    bias_variance = one / (1.0 + m.bias_Q)
    c += bias_variance
    step = 0.0
    gain = 0.0
    if sums_labels(rule):
        if enters_metric(rule, y * margin, p):
            m.updates += 1
            gain = min(max(s / p.r, 1.0 / MOST_NOISE), 1.0 / LEAST_NOISE)
            _count(rows, i, y, gain, float(m.t), w, steps, q)
            bias = (m.bias * (1.0 + m.bias_Q) + one * gain * y) / (1.0 + m.bias_Q + one * gain)
            m.bias_steps += m.t * (bias - m.bias)
            m.bias = bias
            m.bias_Q += one * gain
        return
    if fits_labels(rule):
        if enters_metric(rule, y * margin, p):
            noise = min(max(p.r / s, LEAST_NOISE), MOST_NOISE)
            step, gain = ridge_step(y, margin, noise + c), 1.0 / noise
    elif c > 0.0:
        step = confident_step(rule, y * margin, c, p.C * s, p) * (1.0 if weight_is_in_objective(rule) else s)
        if 0.0 < step < LONGEST_TAU:
            gain = min(confident_gain(step, c, p.phi), 1.0 / LEAST_NOISE)
            step *= y
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
