"""The point rules of second order with a full covariance: what a row is to them, and does to it.

Knows `points_second`, `steps`, `rows`, `triangle` and `state`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compile import inlined, part
from .fading import MOST_FADED, settle_counts
from .memory import LONGEST_STEP, LONGEST_TAU, POINT_U, POINT_V
from .points_second import arrays_of, fade, meet, take
from .rows import clear, dot, spread
from .steps import (
    confident_gain,
    confident_step,
    enters_metric,
    fits_labels,
    ridge_step,
    weight_is_in_objective,
)
from .triangle import absorb, confidence, restore_prior, widen


class FullPoints(NamedTuple):
    """Models of point rules with a full covariance."""

    vectors: Any
    triangles: Any


LEAST_NOISE, MOST_NOISE = 1e-40, 1e40  # of 1/κ, so that no product of it with a row overflows
RESOLUTION = 1e-24  # of ‖x‖²: with less noise than that, the rounding of a row would pass for knowledge


@inlined
def bounded_noise(noise, xx):
    """1/κ, within what the numbers of a row can say: rows of a norm beyond 10¹²·√r weigh less than they would."""
    return max(min(noise, MOST_NOISE), LEAST_NOISE, RESOLUTION * xx)


@inlined
def reach(triangle, m, n):
    """Let the first n columns take part; how many do."""
    if n > m.width:
        widen(triangle, m.width, n)
        m.width = n
    return m.width


@part
def _square(k, n):
    total = 0.0
    for j in range(n):
        total += k[j] * k[j]
    return total


@part
def add_image(a, k, n, v):
    """v ← v + a·k but for the intercept."""
    for j in range(1, n):
        v[j - 1] += a * k[j]


@arrays_of.form_for(FullPoints)
def _arrays(home, k, m, p):
    w, none = home.vectors[k, POINT_U], np.zeros(0)
    x, f, Sx = np.zeros(w.size + 1), np.empty(w.size + 1), np.empty(w.size + 1)
    x[0] = 1.0 if p.intercept else 0.0
    return w, home.vectors[k, POINT_V], none, home.triangles[k], x, f, Sx


@meet.form_for(FullPoints)
def _meet(home, rows, i, w, q):
    wx, xx = dot(rows, i, w)
    return wx, xx, xx


@fade.form_for(FullPoints)
def _fade(home, q, triangle, f, k, m, g):
    m.gain_pos = m.gain_neg = g
    if g >= MOST_FADED:
        restore_prior(triangle, m.width, g, f, k)
        settle_counts(m)
    return m.gain_pos


@take.form_for(FullPoints)
def _take(home, rows, i, w, steps, q, triangle, x, f, k, m, p, margin, xx, c, y, s, g):
    rule, one = p.rule, x[0]
    step = 0.0
    n = 0
    if fits_labels(rule):
        if enters_metric(rule, y * margin, p):
            n = reach(triangle, m, spread(rows, i, x))
            noise = bounded_noise(p.r / s, xx + one) / g
            step = ridge_step(y, margin, absorb(triangle, n, x, noise, f, False, k))
            clear(rows, i, x)
    else:
        n = reach(triangle, m, spread(rows, i, x))
        c = g * confidence(triangle, n, x, f)
        if c > 0.0:
            # without a trade-off that a weight could enter, it multiplies the step, as in PA
            step = confident_step(rule, y * margin, c, p.C * s, p) * (1.0 if weight_is_in_objective(rule) else s)
            if 0.0 < step < LONGEST_TAU:
                noise = bounded_noise(1.0 / confident_gain(step, c, p.phi), xx + one) / g
                absorb(triangle, n, x, noise, f, True, k)
                step *= y * g
            else:
                step = 0.0
        clear(rows, i, x)
    if step != 0.0 and abs(step) < LONGEST_TAU and step * _square(k, n) * step < LONGEST_STEP:
        m.updates += 1
        add_image(step, k, n, w)
        m.bias += step * k[0]
        if p.average:
            add_image(m.t * step, k, n, steps)
            m.bias_steps += m.t * step * k[0]
