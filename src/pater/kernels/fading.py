"""How the past of a second-order rule fades: by time, because both classes share Σ.

Knows `compile` only. That Σ⁻¹, class sums, counts and losses all fade by γ when a sample comes is the same, up to a
factor g common to them, as that the sample weighs 1/γ more than the one before it: it enters with g times its
importance, g ← g/γ. Neither ΣS nor a ratio of counts feels that factor. It is kept as the gain of both classes, and
taken out before it grows large: by the passes, which also see to it that the prior does not fade away.
"""

from __future__ import annotations

from .compile import exact_part, inlined

MOST_FADED = 2.0  # g at which a full Σ gets its prior back, of which half is left
LONGEST_PAUSE = 2.0**40  # g at which all columns of a diagonal Σ do, also those that no row has held for long
# A class that stays away fades no further than this, so that its means stay numbers.
LEAST_SEEN = 1e-20
LEAST_ENTERED = 1e-40


@inlined
def gain_now(m, p, forgets):
    """g, what a sample of now weighs in units of the past."""
    return m.gain_pos / p.forgetting if forgets else 1.0


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
