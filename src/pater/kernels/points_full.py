"""Point rules with a full covariance, in the pass of `second_order`: those that fit labels, and the confident ones."""

from ..compiler.decorators import inlined, part
from .memory import LONGEST_STEP, LONGEST_TAU, POINT_U, POINT_V
from .rows import clear, dot, spread
from .rules import confident_gain, ridge_step
from .second_order import (
    LEAST_NOISE,
    MOST_FADED,
    MOST_NOISE,
    second_order_pass,
    settle_counts,
    with_class_weight,
)
from .steps import confident_step, enters_metric, weight_is_in_objective
from .triangle import ALL, KNOWN, UNKNOWN, absorb, confidence, dot_from, restore_prior, widen

FITS_LABELS = True  # whether the rule does; code that depends on it is compiled for either case
RESOLUTION = 1e-24  # of ‖x‖²: with less noise than that, the rounding of a row would pass for knowledge


@inlined
def bounded_noise(noise, xx):
    """1/κ, within what the numbers of a row can resolve: rows of a norm beyond 10¹²·√r weigh less than they would."""
    return max(min(noise, MOST_NOISE), LEAST_NOISE, RESOLUTION * xx)


@inlined
def columns_in_use(triangle, m, n):
    """Use at least the first n columns; return how many are in use."""
    if n > m.width:
        widen(triangle, m.width, n)
        m.width = n
    return m.width


@part
def add_image(a, k, n, v):
    """v ← v + a·k, without the intercept."""
    for j in range(1, n):
        v[j - 1] += a * k[j]


@inlined
def memory_of(home, k, p):
    """The vectors, the triangle and room for four vectors, the first for a row after the intercept's constant."""
    vectors, triangle, room = home.vectors[k], home.triangles[k], home.rooms[k]
    for j in range(room.shape[1]):
        room[0, j] = 0.0
    room[0, 0] = 1.0 if p.intercept else 0.0
    return vectors, triangle, room


def _meet(rows, i, memory, m, p, y, s):
    """The margin of row i and ‖x‖²."""
    wx, xx = dot(rows, i, memory[0][POINT_U])
    return wx + m.bias, 0.0, xx, 0.0, 0.0


def _fade(rows, i, memory, m, p, y, g, a, b):
    """Restore the prior in Σ, of which little is left."""
    _, triangle, room = memory
    restore_prior(triangle, m.width, g, room[1], room[2])
    settle_counts(m)
    return 1.0, a, b


def _take(rows, i, memory, m, p, margin, loss, xx, a, b, y, s, g):
    """Add row i to Σ, and step along Σx."""
    vectors, triangle, room = memory
    x, f, Sx = room[0], room[1], room[2]
    rule, one = p.rule, x[0]
    s = with_class_weight(m, p, y, s)
    step = 0.0
    n = 0
    if FITS_LABELS:
        if enters_metric(rule, y * margin, p):
            n = columns_in_use(triangle, m, spread(rows, i, x))
            noise = bounded_noise(p.r / s, xx + one) / g
            step = ridge_step(y, margin, absorb(triangle, n, x, noise, f, UNKNOWN, Sx, ALL))
            clear(rows, i, x)
    else:
        n = columns_in_use(triangle, m, spread(rows, i, x))
        c = g * confidence(triangle, n, x, f)
        if c > 0.0:
            # in a rule without C, which a weight could multiply, it multiplies the step, as in PA
            step = confident_step(rule, y * margin, c, p.C * s, p) * (1.0 if weight_is_in_objective(rule) else s)
            if 0.0 < step < LONGEST_TAU:
                noise = bounded_noise(1.0 / confident_gain(step, c, p.phi), xx + one) / g
                absorb(triangle, n, x, noise, f, KNOWN, Sx, ALL)
                step *= y * g
            else:
                step = 0.0
        clear(rows, i, x)
    if step != 0.0 and abs(step) < LONGEST_TAU and step * dot_from(Sx, 0, Sx, n) * step < LONGEST_STEP:
        m.updates += 1
        add_image(step, Sx, n, vectors[POINT_U])
        m.bias += step * Sx[0]
        if p.average:
            add_image(m.t * step, Sx, n, vectors[POINT_V])
            m.bias_steps += m.t * step * Sx[0]


_forms = memory_of, _meet, _fade, _take, MOST_FADED
CONFIDENT = second_order_pass("confident", *_forms, FITS_LABELS=False)
FITTING = second_order_pass("fitting", *_forms, FITS_LABELS=True)
