"""The pass of the point rules of second order: one skeleton, with forms for a full and for a diagonal covariance.

Knows `fading`, `steps`, `rows` and `state`; `points_full` and `points_diagonal` have the forms of what it calls.
"""

from __future__ import annotations

from .class_means import balanced_alpha
from .compile import body, by_kind
from .fading import gain_now
from .progress import note
from .rules import LARGEST_ROW

# What a pass needs of a model is handed on as arrays, one by one: to take an array out of a tuple costs a count of who
# holds it, twenty cycles each.


@by_kind
def arrays_of(home, k, m, p):
    """Of model k: w, Σ t·δₜ, Q and the triangle; and room for a row, Uᵀx and Σx. Empty where there is none."""


@by_kind
def meet(home, rows, i, w, q):
    """w·x, ‖x‖² and, where the covariance is at hand, xᵀΣx but for the intercept's part."""


@by_kind
def fade(home, q, triangle, f, k, m, g):
    """Let the past fade, so that a sample of now weighs g in its units; g, or 1 if these are taken anew."""


@by_kind
def take(home, rows, i, w, steps, q, triangle, x, f, k, m, p, margin, xx, c, y, s, g):
    """Learn from row i of label y and importance s, of which `meet` and the margin are known; g is what `fade` says."""


@body
def second_order_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; the position of the first bad row, or −1."""
    m, p, out = scalars[k], settings[k], margins[k]
    w, steps, q, triangle, x, f, Sx = arrays_of(home, k, m, p)
    alpha_pos, alpha_neg, positive_code, balanced = p.alpha_pos, p.alpha_neg, p.positive, p.balanced
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    forgets = 0.0 < p.forgetting < 1.0
    for r in range(start, stop):
        i = order[r] if ordered else r
        wx, xx, c = meet(home, rows, i, w, q)
        if not xx <= LARGEST_ROW:
            return r
        margin = wx + m.bias
        if wanted:
            out[r] = margin
        s = weights[i] if weighted else 1.0
        if s == 0.0:
            continue
        positive = codes[i] == positive_code
        g = gain_now(m, p, forgets)
        note(m, p, margin, positive, s, g)
        if forgets:
            g = fade(home, q, triangle, f, Sx, m, g)
        if balanced:
            alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
        y = 1.0 if positive else -1.0
        s *= alpha_pos if positive else alpha_neg
        take(home, rows, i, w, steps, q, triangle, x, f, Sx, m, p, margin, xx, c, y, s, g)
    return -1
