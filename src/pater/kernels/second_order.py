"""The pass of all second-order rules: one skeleton, with forms for point and mean rules and for either covariance.

Knows `fading`, `progress` and the kinds of rows; the forms of what it calls are in `points_full`, `points_diagonal`,
`means_full` and `means_diagonal`.
"""

from __future__ import annotations

from .class_means import balanced_alpha
from .compile import by_kind, inlined
from .fading import gain_now
from .progress import in_unit, note
from .rules import LARGEST_ROW

LEAST_NOISE, MOST_NOISE = 1e-40, 1e40  # of 1/κ, so that no product of it with a row overflows


@by_kind
def memory_of(home, k, p):
    """Of model k: its vectors and its triangle; and room for a row, Uᵀx, Σx and one more. Empty where there is none."""


@by_kind
def meet(home, rows, i, vectors, m, p, y, s):
    """What the model says of row i, which may enter with weight s: its margin, its loss and ‖x‖².

    And two numbers for `take`: x·P of the row's own class and of the other, or xᵀΣx but for the intercept's part.
    """


@by_kind
def fade(home, rows, i, vectors, triangle, x, f, Sx, m, p, y, g, a, b):
    """Let the past fade, so that a sample of this moment weighs g in its units.

    The answer is g, or 1 if the units are made anew, and the two numbers for `take` as they are then.
    """


@by_kind
def take(home, rows, i, vectors, triangle, x, f, Sx, room, m, p, margin, loss, xx, a, b, y, s, g):
    """Learn from row i of label y and importance s, of which `meet` and `fade` have told the rest."""


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
    vectors, triangle, x, f, Sx, room = memory_of(home, k, p)
    positive_code, forgets = p.positive, 0.0 < p.forgetting < 1.0
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    for r in range(start, stop):
        i = order[r] if ordered else r
        positive = codes[i] == positive_code
        y = 1.0 if positive else -1.0
        s = weights[i] if weighted else 1.0
        g = gain_now(m, p, forgets)
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
            g, a, b = fade(home, rows, i, vectors, triangle, x, f, Sx, m, p, y, g, a, b)
        take(home, rows, i, vectors, triangle, x, f, Sx, room, m, p, margin, loss, xx, a, b, y, s, g)
    return -1
