"""Mean rules with a full covariance, in the pass of `second_order`.

A row that enters Σ costs one traversal of the triangle, which gives Σx on the way; everything else is O(d). The class
sums' images P± = ΣS± follow by the same rank-one update,

    P ← P − k·(x·P)/(1/κ + xᵀΣx),    k = Σx,

in which rounding errors in P decay as fast as P does (k·S, which is the same number, would let them grow). P± are
recomputed from the triangle now and then. In the leader's form w = A⁺P⁺ − A⁻P⁻ and U is 0; else w = U and A is 0.
"""

from ..compiler.decorators import exact_part, inlined, unfused_part
from .class_means import bounded, enter, lead, parts_of_gap, rates, set_aside, shrink_when_large, zero_gap
from .memory import P_NEG, P_POS, S_NEG, S_POS, U, V
from .points_full import add_image, bounded_noise, columns_in_use, memory_of
from .rows import add, clear, dot, spread
from .rules import hinge
from .second_order import MOST_FADED, second_order_pass, settle_counts
from .steps import loss_to_take, passive
from .triangle import ALL, UNKNOWN, absorb, image, restore_prior

RENEW_EVERY = 256  # rows, which make the cost of two traversals of the triangle negligible
LEADS = True  # whether models are leaders; code that depends on it is compiled for either case
CANCELLED = 1e-6  # of its terms: a zᵀΣz below it is computed from the triangle


@unfused_part
def _gap(vectors, m, n, a_pos, a_neg, z_bias, Sz):
    """Σz, written to Sz, and zᵀΣz from P±; returns zᵀΣz and the size of its terms."""
    Sz[0] = a_pos * m.P_pos - a_neg * m.P_neg
    zz = z_bias * Sz[0]
    terms = abs(zz)
    for j in range(1, n):
        pos, neg = a_pos * vectors[S_POS, j - 1], a_neg * vectors[S_NEG, j - 1]
        P_pos, P_neg = a_pos * vectors[P_POS, j - 1], a_neg * vectors[P_NEG, j - 1]
        Sz[j] = P_pos - P_neg
        zz += (pos - neg) * Sz[j]
        terms += (abs(pos) + abs(neg)) * (abs(P_pos) + abs(P_neg))
    return zz, terms


@exact_part
def _set_aside(vectors, m):
    """Set a leader's w to 0 until it leads anew: then P± may change."""
    pos, neg = set_aside(m)
    for j in range(m.width - 1):
        vectors[V, j] += pos * vectors[P_POS, j] - neg * vectors[P_NEG, j]


@exact_part
def _image_of_sum(S, n_class, triangle, n, x, f, g, P):
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
def _renew(vectors, triangle, m, x, f, g):
    """P± ← ΣS±."""
    m.P_pos = _image_of_sum(vectors[S_POS], m.n_pos, triangle, m.width, x, f, g, vectors[P_POS])
    m.P_neg = _image_of_sum(vectors[S_NEG], m.n_neg, triangle, m.width, x, f, g, vectors[P_NEG])


@exact_part
def _image_of_gap(vectors, a_pos, a_neg, z_bias, triangle, n, k, total, x, f, Sz):
    """Sz ← Σz with the Σ before the row, from the triangle, k and `total`; returns zᵀΣz, which no rounding makes
    negative. x is scratch space and is restored.
    """
    one = x[0]
    x[0] = z_bias
    for j in range(1, n):
        x[j] = a_pos * vectors[S_POS, j - 1] - a_neg * vectors[S_NEG, j - 1]
    zz = image(triangle, n, x, f, Sz)
    kz = 0.0
    for j in range(n):
        kz += k[j] * x[j]
    for j in range(n):
        Sz[j] += k[j] * (kz / total)
    x[0] = one
    for j in range(1, n):
        x[j] = 0.0
    return zz + kz * (kz / total)


@exact_part
def _step_along_gap(vectors, triangle, n, k, total, x, f, Sz, m, p, positive, weighted_loss):
    """The paper's step in the metric of Σ: w ← w + τΣz, τ = term/(zᵀΣz)."""
    a_pos, a_neg, z_bias = parts_of_gap(m, p)
    zz, terms = _gap(vectors, m, n, a_pos, a_neg, z_bias, Sz)
    if not zz > CANCELLED * terms:
        zz = _image_of_gap(vectors, a_pos, a_neg, z_bias, triangle, n, k, total, x, f, Sz)
        zz = zz if zz > zero_gap(m.entered) * terms else 0.0
    if zz > 0.0:
        own_loss = weighted_loss * (a_pos if positive else a_neg)
        tau = bounded(loss_to_take(p.rule, own_loss, a_pos * m.loss_pos + a_neg * m.loss_neg) / zz, zz)
        if tau > 0.0:
            m.updates += 1
            add_image(tau, Sz, n, vectors[U])
            m.bias += tau * Sz[0]
            if p.average:
                add_image(m.t * tau, Sz, n, vectors[V])
                m.bias_steps += m.t * tau * Sz[0]
    shrink_when_large(m, vectors[U], vectors[V])


@inlined
def _images_of(rows, i, vectors, m, one):
    """x·P⁺, x·P⁻ and ‖x‖²."""
    pos_x, xx = dot(rows, i, vectors[P_POS])
    neg_x, _ = dot(rows, i, vectors[P_NEG])
    return pos_x + one * m.P_pos, neg_x + one * m.P_neg, xx


def _meet(rows, i, memory, m, p, y, s):
    """The margin of row i, its loss, ‖x‖², x·P⁺ and x·P⁻."""
    vectors = memory[0]
    pos_x, neg_x, xx = _images_of(rows, i, vectors, m, 1.0 if p.intercept else 0.0)
    if LEADS:
        margin = m.A_pos * pos_x - m.A_neg * neg_x
    else:
        wx, _ = dot(rows, i, vectors[U])
        margin = wx + m.bias
    return margin, hinge(y * margin, m.unit), xx, pos_x, neg_x


def _fade(rows, i, memory, m, p, y, g, a, b):
    """Divide the gain out of the past and restore the prior in Σ, of which too little is left; P± and w follow."""
    vectors, triangle, rooms = memory
    if LEADS and p.average:
        _set_aside(vectors, m)
    restore_prior(triangle, m.width, g, rooms[1], rooms[2])
    down_pos, down_neg = settle_counts(m)
    for j in range(m.width - 1):
        vectors[S_POS, j] *= down_pos
        vectors[S_NEG, j] *= down_neg
    if m.width > 0:
        _renew(vectors, triangle, m, rooms[0], rooms[1], rooms[2])
    pos_x, neg_x, _ = _images_of(rows, i, vectors, m, rooms[0, 0])
    return 1.0, pos_x, neg_x


def _take(rows, i, memory, m, p, margin, loss, xx, a, b, y, s, g):
    """Add row i to its class sum and to Σ, and step along Σz or lead anew."""
    vectors, triangle, rooms = memory
    x, f, Sx, room = rooms[0], rooms[1], rooms[2], rooms[3]
    pos_x, neg_x, one, positive = a, b, x[0], y > 0.0
    rate_pos, rate_neg = rates(m, p)
    if loss == 0.0 and passive(p.rule):
        if LEADS:
            lead(m, rate_pos, rate_neg, rate_pos * m.P_pos - rate_neg * m.P_neg)
        return
    n = columns_in_use(triangle, m, spread(rows, i, x))
    asked = 1.0 / (s * (rate_pos if positive else rate_neg))
    noise = bounded_noise(asked, xx + one)
    if LEADS and noise > asked:  # what counts for less in Σ⁻¹ counts for less in the class sum
        s *= asked / noise
    s *= g
    noise /= g
    s_pos, s_neg = (s, 0.0) if positive else (0.0, s)
    total = absorb(triangle, n, x, noise, f, UNKNOWN, Sx, ALL)
    clear(rows, i, x)
    add(rows, i, s, vectors[S_POS if positive else S_NEG])
    enter(m, s_pos, s_neg, loss)
    if LEADS:
        turn_pos, turn_neg = (s_pos * noise - pos_x) / total, (s_neg * noise - neg_x) / total
        if p.average and 0.0 < p.forgetting < 1.0:  # A of a class that stayed away may be large, and would cancel
            _set_aside(vectors, m)
        elif p.average:
            A_pos, A_neg = m.t * m.A_pos - m.B_pos, m.t * m.A_neg - m.B_neg
            add_image(A_pos * turn_pos - A_neg * turn_neg, Sx, n, vectors[V])
    else:  # the step is taken in the metric before the row
        add_image(s, Sx, n, vectors[P_POS if positive else P_NEG])
        m.P_pos += s_pos * Sx[0]
        m.P_neg += s_neg * Sx[0]
        _step_along_gap(vectors, triangle, n, Sx, total, x, f, room, m, p, positive, s * loss)
        xSx, _ = dot(rows, i, Sx[1:])
        xSx += one * Sx[0]
        turn_pos, turn_neg = -(pos_x + s_pos * xSx) / total, -(neg_x + s_neg * xSx) / total
    add_image(turn_pos, Sx, n, vectors[P_POS])
    add_image(turn_neg, Sx, n, vectors[P_NEG])
    m.P_pos += turn_pos * Sx[0]
    m.P_neg += turn_neg * Sx[0]
    if m.entered % RENEW_EVERY == 0:
        _renew(vectors, triangle, m, x, f, room)
    if LEADS:
        m.updates += 1
        lead(m, rate_pos, rate_neg, rate_pos * m.P_pos - rate_neg * m.P_neg)


_forms = memory_of, _meet, _fade, _take, MOST_FADED
STEPS = second_order_pass("steps", *_forms, LEADS=False)
LEADERS = second_order_pass("leaders", *_forms, LEADS=True)
