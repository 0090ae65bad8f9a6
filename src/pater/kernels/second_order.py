"""The pass of all second-order rules: one skeleton, with forms for point and mean rules and for either covariance.

Knows `class_means` and `progress`. What it asks for by name has a form in each of `points_full`, `points_diagonal`,
`means_full` and `means_diagonal`, and the text below is compiled once with each of them:

- `memory_of(home, k, p)`: what model k has in memory, for the others.
- `meet(rows, i, memory, m, p, y, s)`: what the model says of row i, which may enter with weight s: its margin, its loss
  and ‖x‖². And two numbers for `take`: x·P of the row's own class and of the other, or xᵀΣx without the intercept.
- `fade(rows, i, memory, m, p, y, g, a, b)`: let the past fade, so that a sample of this moment weighs g in its units.
  The answer is g, or 1 if the units are made anew, and the two numbers for `take` as they are then.
- `take(rows, i, memory, m, p, margin, loss, xx, a, b, y, s, g)`: learn from row i of label y and importance s.

The past fades by time, because both classes share Σ. That Σ⁻¹, class sums, counts and losses all fade by γ when a
sample comes is the same, up to a factor g common to them, as that the sample weighs 1/γ more than the one before it: it
enters with g times its importance, g ← g/γ. Neither ΣS nor a ratio of counts feels that factor. It is kept as the gain
of both classes, and taken out before it grows large: by the forms, which also see to it that the prior does not fade
away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .class_means import balanced_alpha
from .compile import exact_part, filled_in, inlined
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


class DiagonalLeaders(NamedTuple):
    """Models of mean rules with a diagonal covariance, in the leader's form."""

    vectors: Any


class DiagonalSteps(NamedTuple):
    """Models of mean rules with a diagonal covariance, in the form of steps."""

    vectors: Any


class FullPoints(NamedTuple):
    """Models of point rules with a full covariance; `rooms` is for what a row needs, (models, 4, features + 1)."""

    vectors: Any
    triangles: Any
    rooms: Any


class FullLeaders(NamedTuple):
    """Models of mean rules with a full covariance, in the leader's form."""

    vectors: Any
    triangles: Any
    rooms: Any


class FullSteps(NamedTuple):
    """Models of mean rules with a full covariance, in the form of steps."""

    vectors: Any
    triangles: Any
    rooms: Any


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


class Forms(NamedTuple):
    """What the pass asks for."""

    memory_of: Any
    meet: Any
    fade: Any
    take: Any
    fades_at: float  # the g from which on `fade` is asked: for each row that would take a tenth of a short one's time


def second_order_pass(forms: Forms) -> Any:
    return inlined(filled_in(_pass, "second_order_pass", **forms._asdict()))


def _pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; the position of the first bad row, or −1."""
    m, p, out = scalars[k], settings[k], margins[k]
    memory = memory_of(home, k, p)  # noqa: F821
    positive_code, forgets = p.positive, 0.0 < p.forgetting < 1.0
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    for r in range(start, stop):
        i = order[r] if ordered else r
        positive = codes[i] == positive_code
        y = 1.0 if positive else -1.0
        s = weights[i] if weighted else 1.0
        g = m.gain_pos / p.forgetting if forgets else 1.0  # what a sample of now weighs in units of the past
        margin, loss, xx, a, b = meet(rows, i, memory, m, p, y, s * g)  # noqa: F821
        if not xx <= LARGEST_ROW:
            return r
        if wanted:
            out[r] = in_unit(m.size_square, margin)
        if s == 0.0:
            continue
        note(m, p, margin, positive, s, g)
        if forgets:
            m.gain_pos = m.gain_neg = g
            if g >= fades_at:  # noqa: F821
                g, a, b = fade(rows, i, memory, m, p, y, g, a, b)  # noqa: F821
        take(rows, i, memory, m, p, margin, loss, xx, a, b, y, s, g)  # noqa: F821
    return -1
