"""Mean rules with a full covariance, in the pass of `second_order`.

A row that enters Σ costs one traversal of the triangle, which gives Σx on the way; everything else is O(d). The class
sums' images P± = ΣS± follow by the same rank-one update,

    P ← P − k·(x·P)/(1/κ + xᵀΣx),    k = Σx,

in which rounding errors in P decay as fast as P does (k·S, which is the same number, would let them grow). P± are
recomputed from the triangle now and then. In the leader's form w = A⁺P⁺ − A⁻P⁻ and U is 0; else w = U and A is 0.
"""

from __future__ import annotations

from typing import Any

from ..compiler.decorators import exact_part, filled_in, inlined, merged_part, part
from .class_means import TOO_LARGE, bounded, parts_of_gap, rates, shrink, shrink_vector, zero_gap
from .memory import P_NEG, P_POS, S_NEG, S_POS, U, V
from .points_full import add_image, bounded_noise, memory_of, reach
from .rows import add, clear, dot, spread
from .rules import hinge
from .second_order import MOST_FADED, Forms, settle_counts
from .steps import loss_to_take, passive
from .triangle import ALL, UNKNOWN, absorb, image, restore_prior

RENEW_EVERY = 256  # rows, which make the cost of two traversals of the triangle negligible
LEADS = True  # whether models are leaders; code that depends on it is compiled for either case
CANCELLED = 1e-6  # of its terms: a zᵀΣz below it is computed from the triangle


@part
def _quadratic(own, other, P_own, P_other, n, a_own, a_other):
    """zᵀΣz without the intercept's part, and the size of its terms."""
    zz = terms = 0.0
    for j in range(n):
        zz += (a_own * own[j] - a_other * other[j]) * (a_own * P_own[j] - a_other * P_other[j])
        terms += (abs(a_own * own[j]) + abs(a_other * other[j])) * (abs(a_own * P_own[j]) + abs(a_other * P_other[j]))
    return zz, terms


@part
def _move(own, other, n, a_own, a_other, v):
    """v ← v + a_own·own − a_other·other."""
    for j in range(n):
        v[j] += a_own * own[j] - a_other * other[j]


@exact_part
def _lead(m, A_pos, A_neg):
    """w ← Σ(v⁺S⁺ − v⁻S⁻)/r with v±/r by the counts so far: the weights that best fit what has entered."""
    m.B_pos += m.t * (A_pos - m.A_pos)
    m.B_neg += m.t * (A_neg - m.A_neg)
    m.A_pos, m.A_neg = A_pos, A_neg
    bias = A_pos * m.P_pos - A_neg * m.P_neg
    m.bias_steps += m.t * (bias - m.bias)
    m.bias = bias


@exact_part
def _renew(S, n_class, triangle, n, x, f, g, P):
    """P ← ΣS from the triangle; returns the intercept's part. x is scratch space and is restored."""
    one = x[0]
    x[0] = one * n_class
    for j in range(1, n):
        x[j] = S[j - 1]
    image(triangle, n, x, f, g)
    x[0] = one
    for j in range(1, n):
        P[j - 1] = g[j]
        x[j] = 0.0
    return g[0]


@exact_part
def _set_aside(P_pos, P_neg, m, v):
    """Set a leader's w to 0 until it leads anew, and move its part of Σ t·δₜ to V: then P± may change."""
    _move(P_pos, P_neg, m.width - 1, m.B_pos - m.t * m.A_pos, m.B_neg - m.t * m.A_neg, v)
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0


def _restore_prior(vectors, triangle, m, p, x, f, g):
    """Divide the gain out of the past and restore the prior in Σ, of which too little is left; P± and w follow."""
    n, S_pos, S_neg, P_pos, P_neg = m.width, vectors[S_POS], vectors[S_NEG], vectors[P_POS], vectors[P_NEG]
    if LEADS and p.average:
        _set_aside(P_pos, P_neg, m, vectors[V])
    restore_prior(triangle, n, m.gain_pos, f, g)
    down_pos, down_neg = settle_counts(m)
    for j in range(n - 1):
        S_pos[j] *= down_pos
        S_neg[j] *= down_neg
    if n > 0:
        m.P_pos = _renew(S_pos, m.n_pos, triangle, n, x, f, g, P_pos)
        m.P_neg = _renew(S_neg, m.n_neg, triangle, n, x, f, g, P_neg)


@exact_part
def _image_of_gap(own, other, a_own, a_other, z_bias, triangle, n, k, total, x, f, g):
    """g ← Σz with the Σ before the row, from the triangle, k and `total`; returns zᵀΣz, which no rounding makes
    negative. x is scratch space and is restored.
    """
    one = x[0]
    x[0] = z_bias
    for j in range(1, n):
        x[j] = a_own * own[j - 1] - a_other * other[j - 1]
    zz = image(triangle, n, x, f, g)
    kz = 0.0
    for j in range(n):
        kz += k[j] * x[j]
    for j in range(n):
        g[j] += k[j] * (kz / total)
    x[0] = one
    for j in range(1, n):
        x[j] = 0.0
    return zz + kz * (kz / total)


@exact_part
def _step_along_gap(own, other, P_own, P_other, vectors, triangle, n, k, total, x, f, g, m, p, y, s, loss):
    """The paper's step in the metric of Σ: w ← w + τΣz, τ = term/(zᵀΣz)."""
    a_pos, a_neg, z_bias = parts_of_gap(m, p)
    a_own, a_other = (a_pos, a_neg) if y > 0.0 else (a_neg, a_pos)
    z_bias *= y
    Pz_bias = y * (a_pos * m.P_pos - a_neg * m.P_neg)
    zz, terms = _quadratic(own, other, P_own, P_other, n - 1, a_own, a_other)
    zz += z_bias * Pz_bias
    terms += abs(z_bias * Pz_bias)
    exactly = not zz > CANCELLED * terms
    if exactly:
        zz = _image_of_gap(own, other, a_own, a_other, z_bias, triangle, n, k, total, x, f, g)
        zz = zz if zz > zero_gap(m.entered) * terms else 0.0
        Pz_bias = g[0]
    if zz > 0.0:
        taken = loss_to_take(p.rule, a_own * s * loss, a_pos * m.loss_pos + a_neg * m.loss_neg)
        tau = bounded(taken / zz, zz)
        if tau > 0.0:
            m.updates += 1
            step = y * tau
            if exactly:
                add_image(step, g, n, vectors[U])
            else:
                _move(P_own, P_other, n - 1, step * a_own, step * a_other, vectors[U])
            m.bias += step * Pz_bias
            if p.average:
                if exactly:
                    add_image(m.t * step, g, n, vectors[V])
                else:
                    _move(P_own, P_other, n - 1, m.t * step * a_own, m.t * step * a_other, vectors[V])
                m.bias_steps += m.t * step * Pz_bias
    if m.loss_pos + m.loss_neg > TOO_LARGE:
        shrink(m)
        shrink_vector(vectors[U])
        shrink_vector(vectors[V])


@inlined
def _images_of(rows, i, vectors, m, one, positive):
    """x·P of the row's own class and of the other, and ‖x‖²."""
    own_x, xx = dot(rows, i, vectors[P_POS if positive else P_NEG])
    other_x, _ = dot(rows, i, vectors[P_NEG if positive else P_POS])
    own_x += one * (m.P_pos if positive else m.P_neg)
    other_x += one * (m.P_neg if positive else m.P_pos)
    return own_x, other_x, xx


def _meet(rows, i, memory, m, p, y, s):
    """The margin of row i, its loss, ‖x‖² and x·P of its own class and of the other."""
    vectors = memory[0]
    own_x, other_x, xx = _images_of(rows, i, vectors, m, 1.0 if p.intercept else 0.0, y > 0.0)
    if LEADS:
        margin = m.A_pos * own_x - m.A_neg * other_x if y > 0.0 else m.A_pos * other_x - m.A_neg * own_x
    else:
        wx, _ = dot(rows, i, vectors[U])
        margin = wx + m.bias
    return margin, hinge(y * margin, m.unit), xx, own_x, other_x


def _fade(rows, i, memory, m, p, y, g, a, b):
    """Restore the prior in Σ, of which little is left."""
    vectors, triangle, room = memory
    _restore_prior(vectors, triangle, m, p, room[0], room[1], room[2])
    own_x, other_x, _ = _images_of(rows, i, vectors, m, room[0, 0], y > 0.0)
    return 1.0, own_x, other_x


def _take(rows, i, memory, m, p, margin, loss, xx, a, b, y, s, g):
    """Add row i to its class sum and to Σ, and step along Σz or lead anew."""
    vectors, triangle, rooms = memory
    x, f, Sx, room = rooms[0], rooms[1], rooms[2], rooms[3]
    own_x, other_x, one, positive = a, b, x[0], y > 0.0
    rate_pos, rate_neg = rates(m, p)
    if loss == 0.0 and passive(p.rule):
        if LEADS:
            _lead(m, rate_pos, rate_neg)
        return
    S_pos, S_neg, P_pos, P_neg = vectors[S_POS], vectors[S_NEG], vectors[P_POS], vectors[P_NEG]
    own, other = (S_pos, S_neg) if positive else (S_neg, S_pos)
    P_own, P_other = (P_pos, P_neg) if positive else (P_neg, P_pos)
    n = reach(triangle, m, spread(rows, i, x))
    asked = 1.0 / (s * (rate_pos if positive else rate_neg))
    noise = bounded_noise(asked, xx + one)
    if LEADS and noise > asked:  # what counts for less in Σ⁻¹ counts for less in the class sum
        s *= asked / noise
    s *= g
    noise /= g
    total = absorb(triangle, n, x, noise, f, UNKNOWN, Sx, ALL)
    clear(rows, i, x)
    add(rows, i, s, own)
    if positive:
        m.n_pos += s
        m.loss_pos += s * loss
    else:
        m.n_neg += s
        m.loss_neg += s * loss
    m.entered += 1
    if LEADS:
        turn_own, turn_other = (s * noise - own_x) / total, -other_x / total
        if p.average and 0.0 < p.forgetting < 1.0:  # A of a class that stayed away may be large, and would cancel
            _set_aside(P_pos, P_neg, m, vectors[V])
        elif p.average:
            A_pos, A_neg = m.t * m.A_pos - m.B_pos, m.t * m.A_neg - m.B_neg
            along = A_pos * turn_own - A_neg * turn_other if positive else A_pos * turn_other - A_neg * turn_own
            add_image(along, Sx, n, vectors[V])
    else:  # the step is taken in the metric before the row
        add_image(s, Sx, n, P_own)
        if positive:
            m.P_pos += s * Sx[0]
        else:
            m.P_neg += s * Sx[0]
        _step_along_gap(own, other, P_own, P_other, vectors, triangle, n, Sx, total, x, f, room, m, p, y, s, loss)
        xSx, _ = dot(rows, i, Sx[1:])
        turn_own, turn_other = -(own_x + s * (xSx + one * Sx[0])) / total, -other_x / total
    add_image(turn_own, Sx, n, P_own)
    add_image(turn_other, Sx, n, P_other)
    m.P_pos += Sx[0] * (turn_own if positive else turn_other)
    m.P_neg += Sx[0] * (turn_other if positive else turn_own)
    if m.entered % RENEW_EVERY == 0:
        m.P_pos = _renew(S_pos, m.n_pos, triangle, n, x, f, room, P_pos)
        m.P_neg = _renew(S_neg, m.n_neg, triangle, n, x, f, room, P_neg)
    if LEADS:
        m.updates += 1
        _lead(m, rate_pos, rate_neg)


def _forms(leads: bool) -> Forms:
    parts: dict[str, Any] = {"LEADS": leads}
    of = "leaders" if leads else "steps"
    parts["_restore_prior"] = inlined(filled_in(_restore_prior, f"_restore_prior_{of}", **parts))
    meet, take = (merged_part(filled_in(text, f"{text.__name__}_{of}", **parts)) for text in (_meet, _take))
    fade = exact_part(filled_in(_fade, f"_fade_{of}", **parts))
    return Forms(memory_of, meet, fade, take, MOST_FADED)


LEADERS, STEPS = _forms(True), _forms(False)
