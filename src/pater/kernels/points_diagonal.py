"""Point rules with a diagonal covariance, in the pass of `second_order`.

Each feature has a precision, 1 + Q, to which a row that enters adds κ·x². A step moves w by step·x/(1 + Q).
"""

from ..compiler.decorators import exact_part, inlined, part
from .memory import LONGEST_STEP, LONGEST_TAU, POINT_Q, POINT_U, POINT_V
from .rows import entry, size
from .rules import confident_gain, ridge_step
from .second_order import (
    LEAST_NOISE,
    LONGEST_PAUSE,
    MOST_NOISE,
    second_order_pass,
    settle_counts,
    settled,
    with_class_weight,
)
from .steps import confident_step, enters_metric, sums_labels, weight_is_in_objective

FITS_LABELS = True  # whether the rule does; code that depends on it is compiled for either case


@part
def _products(rows, i, v):
    """w·x, ‖x‖² and xᵀΣx."""
    wx = xx = c = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        wx += v[POINT_U, j] * x
        xx += x * x
        c += x * x / (1.0 + v[POINT_Q, j])
    return wx, xx, c


@part
def _add(rows, i, a, v, kind):
    """Add a·Σx to one of the vectors."""
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        v[kind, j] += a * x / (1.0 + v[POINT_Q, j])


@part
def _add_squares(rows, i, a, v):
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        v[POINT_Q, j] += a * x * x


@exact_part
def _count(rows, i, y, gain, t, v):
    """Enter a mistake of the second-order perceptron: w = Σu with u ← u + gain·y·x, and its part of Σ t·δₜ."""
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        w, q = v[POINT_U, j], v[POINT_Q, j]
        q_new = q + gain * x * x
        w_new = (w * (1.0 + q) + gain * y * x) / (1.0 + q_new)
        v[POINT_V, j] += t * (w_new - w)
        v[POINT_U, j], v[POINT_Q, j] = w_new, q_new


@exact_part
def _lift(rows, i, v, least):
    """Raise Q to at least `least` in the columns of row i, which may have paused; return xᵀΣx."""
    c = 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        if x != 0.0:
            v[POINT_Q, j] = max(v[POINT_Q, j], least)
        c += x * x / (1.0 + v[POINT_Q, j])
    return c


@inlined
def memory_of(home, k, p):
    """The vectors."""
    return home.vectors[k]


def _meet(rows, i, vectors, m, p, y, s):
    """The margin of row i, ‖x‖² and xᵀΣx."""
    wx, xx, c = _products(rows, i, vectors)
    return wx + m.bias, 0.0, xx, c, 0.0


def _fade(rows, i, vectors, m, p, y, g, a, b):
    """Raise the columns of row i to the prior where they have faded below it; all columns when g has grown large."""
    if g > LONGEST_PAUSE:
        for j in range(vectors.shape[1]):
            if vectors[POINT_Q, j] > 0.0:  # pages that no row has reached are not touched
                vectors[POINT_Q, j] = settled(vectors[POINT_Q, j], g)
        m.bias_Q = settled(m.bias_Q, g)
        settle_counts(m)
        g = 1.0
    m.bias_Q = max(m.bias_Q, g - 1.0)
    return g, _lift(rows, i, vectors, g - 1.0), b


def _take(rows, i, vectors, m, p, margin, loss, xx, a, b, y, s, g):
    """Step along Σx, and add row i to Σ."""
    rule, one = p.rule, 1.0 if p.intercept else 0.0
    s = with_class_weight(m, p, y, s)
    bias_variance = one / (1.0 + m.bias_Q)
    c = a + bias_variance
    step = gain = 0.0
    if FITS_LABELS and sums_labels(rule):
        if enters_metric(rule, y * margin, p):
            m.updates += 1
            gain = min(max(s / p.r, 1.0 / MOST_NOISE), 1.0 / LEAST_NOISE) * g
            _count(rows, i, y, gain, float(m.t), vectors)
            bias = (m.bias * (1.0 + m.bias_Q) + one * gain * y) / (1.0 + m.bias_Q + one * gain)
            m.bias_steps += m.t * (bias - m.bias)
            m.bias = bias
            m.bias_Q += one * gain
        return
    if FITS_LABELS:
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
            _add(rows, i, step, vectors, POINT_U)
            m.bias += step * bias_variance
            if p.average:
                _add(rows, i, m.t * step, vectors, POINT_V)
                m.bias_steps += m.t * step * bias_variance
        _add_squares(rows, i, gain, vectors)
        m.bias_Q += one * gain


_forms = memory_of, _meet, _fade, _take, 0.0
CONFIDENT = second_order_pass("confident", *_forms, FITS_LABELS=False)
FITTING = second_order_pass("fitting", *_forms, FITS_LABELS=True)
