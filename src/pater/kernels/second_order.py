"""The pass of all second-order rules: one skeleton, with forms for point and mean rules and for either covariance.

Knows `class_means` and `progress`; the forms of what it calls are in `points_full`, `points_diagonal`, `means_full` and
`means_diagonal`.

The past fades by time, because both classes share Σ. That Σ⁻¹, class sums, counts and losses all fade by γ when a
sample comes is the same, up to a factor g common to them, as that the sample weighs 1/γ more than the one before it: it
enters with g times its importance, g ← g/γ. Neither ΣS nor a ratio of counts feels that factor. It is kept as the gain
of both classes, and taken out before it grows large: by the forms, which also see to it that the prior does not fade
away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .class_means import balanced_alpha
from .compile import by_kind, exact_part, inlined
from .progress import in_unit, note
from .rules import LARGEST_ROW

LEAST_NOISE, MOST_NOISE = 1e-40, 1e40  # of 1/κ, so that no product of it with a row overflows
MOST_FADED = 2.0  # g at which a full Σ gets its prior back, of which half is left
LONGEST_PAUSE = 2.0**40  # g at which all columns of a diagonal Σ do, also those that no row has held for long
# A class that stays away fades no further than this, so that its means stay numbers.
LEAST_SEEN = 1e-20
LEAST_ENTERED = 1e-40


class DiagonalPoints(NamedTuple):
    """Models of point rules with a diagonal covariance."""

    vectors: Any


class DiagonalMeans(NamedTuple):
    """Models of mean rules with a diagonal covariance."""

    vectors: Any


class FullPoints(NamedTuple):
    """Models of point rules with a full covariance."""

    vectors: Any
    triangles: Any


class FullMeans(NamedTuple):
    """Models of mean rules with a full covariance."""

    vectors: Any
    triangles: Any


@by_kind
def memory_of(home, k, p):
    """The triangle of model k, and room for a row with its constant 1, Uᵀx, Σx and one more; empty without one."""


@memory_of.form_for(DiagonalPoints, DiagonalMeans)
def _nothing(home, k, p):
    none = np.zeros(0)
    return none, none, none, none, none


@memory_of.form_for(FullPoints, FullMeans)
def _triangle_and_room(home, k, p):
    n = home.vectors.shape[2] + 1
    x = np.zeros(n)
    x[0] = 1.0 if p.intercept else 0.0
    return home.triangles[k], x, np.empty(n), np.empty(n), np.empty(n)


@by_kind
def meet(home, rows, i, vectors, m, p, y, s):
    """What the model says of row i, which may enter with weight s: its margin, its loss and ‖x‖².

    And two numbers for `take`: x·P of the row's own class and of the other, or xᵀΣx but for the intercept's part.
    """


@by_kind
def fades_at(home):
    """The g from which on `fade` has something to do: to ask it each time takes a tenth of the time of a short row."""


@fades_at.form_for(FullPoints, FullMeans)
def _when_half_is_left(home):
    return MOST_FADED


@fades_at.form_for(DiagonalMeans)
def _after_a_long_pause(home):
    return LONGEST_PAUSE


@fades_at.form_for(DiagonalPoints)
def _always(home):
    return 0.0


@by_kind
def fade(home, rows, i, vectors, triangle, x, f, Sx, m, p, y, g, a, b):
    """Let the past fade, so that a sample of this moment weighs g in its units.

    The answer is g, or 1 if the units are made anew, and the two numbers for `take` as they are then.
    """


@by_kind
def take(home, rows, i, vectors, triangle, x, f, Sx, room, m, p, margin, loss, xx, a, b, y, s, g):
    """Learn from row i of label y and importance s, of which `meet` and `fade` have told the rest."""


@exact_part
def settled(q, g):
    """Q of a column when g is taken out of Σ⁻¹; at least the prior is left."""
    return max((1.0 + q) / g, 1.0) - 1.0


@exact_part
def settle_counts(m):
    """Take g out of counts and losses; the answer is what the class sums are to be multiplied by."""
    down = 1.0 / m.gain_pos
    down_pos = down if m.seen_pos > LEAST_SEEN and m.n_pos > LEAST_ENTERED else 1.0
    down_neg = down if m.seen_neg > LEAST_SEEN and m.n_neg > LEAST_ENTERED else 1.0
    m.n_pos *= down_pos
    m.loss_pos *= down_pos
    m.n_neg *= down_neg
    m.loss_neg *= down_neg
    if down_pos == 1.0:  # while Σ grows by g
        m.A_pos *= down
        m.B_pos *= down
    if down_neg == 1.0:
        m.A_neg *= down
        m.B_neg *= down
    if m.seen_pos > LEAST_SEEN:
        m.seen_pos *= down
    if m.seen_neg > LEAST_SEEN:
        m.seen_neg *= down
    m.gain_pos = m.gain_neg = 1.0
    return down_pos, down_neg


@inlined
def with_class_weight(m, p, y, s):
    """The importance of a sample times that of its class."""
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    if p.balanced:
        alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
    return s * (alpha_pos if y > 0.0 else alpha_neg)


@inlined
def second_order_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; the position of the first bad row, or −1."""
    m, p, out = scalars[k], settings[k], margins[k]
    vectors, (triangle, x, f, Sx, room) = home.vectors[k], memory_of(home, k, p)
    positive_code, forgets, faded = p.positive, 0.0 < p.forgetting < 1.0, fades_at(home)
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    for r in range(start, stop):
        i = order[r] if ordered else r
        positive = codes[i] == positive_code
        y = 1.0 if positive else -1.0
        s = weights[i] if weighted else 1.0
        g = m.gain_pos / p.forgetting if forgets else 1.0  # what a sample of now weighs in units of the past
        margin, loss, xx, a, b = meet(home, rows, i, vectors, m, p, y, s * g)
        if not xx <= LARGEST_ROW:
            return r
        if wanted:
            out[r] = in_unit(m.size_square, margin)
        if s == 0.0:
            continue
        note(m, p, margin, positive, s, g)
        if forgets:
            m.gain_pos = m.gain_neg = g
            if g >= faded:
                g, a, b = fade(home, rows, i, vectors, triangle, x, f, Sx, m, p, y, g, a, b)
        take(home, rows, i, vectors, triangle, x, f, Sx, room, m, p, margin, loss, xx, a, b, y, s, g)
    return -1
