"""The pass of all second-order rules: one skeleton, with forms for point and mean rules and for either covariance.

Each of `points_full`, `points_diagonal`, `means_full` and `means_diagonal` defines these functions, and the pass below
is compiled once with each set:

- `memory_of(home, k, p)`: the memory of model k, for the other functions.
- `meet(rows, i, memory, m, p, y, s)`: the margin, loss and ‖x‖² of row i, which may enter with weight s; and two
  numbers for `take`: x·P of the row's own class and of the other, or xᵀΣx without the intercept.
- `fade(rows, i, memory, m, p, y, g, a, b)`: let the past fade, so that a sample now weighs g in its units. Returns g,
  or 1 if the units were renewed, and the two numbers for `take` after that.
- `take(rows, i, memory, m, p, margin, loss, xx, a, b, y, s, g)`: learn from row i of label y and importance s.

The past fades with time, because both classes share Σ. Fading Σ⁻¹, class sums, counts and losses by γ at each sample
equals, up to a common factor g, giving each sample 1/γ times the weight of the one before: it enters with g times its
importance, g ← g/γ. Neither ΣS nor a ratio of counts depends on that factor. It is kept as the gain of both classes;
the forms divide it out before it grows large, and keep the prior from fading away.
"""

from __future__ import annotations

from typing import Any

from ..compiler.decorators import exact_part, filled_in, inlined, merged_part
from .class_means import balanced_alpha
from .progress import in_unit, note
from .rules import LARGEST_ROW

LEAST_NOISE, MOST_NOISE = 1e-40, 1e40  # of 1/κ, so that no product of it with a row overflows
MOST_FADED = 2.0  # g at which a full Σ gets its prior back, of which half is left
LONGEST_PAUSE = 2.0**40  # g at which all columns of a diagonal Σ do, even those that no row has held for long
# A class that stays away fades no further than this, so that its means stay numbers.
LEAST_SEEN = 1e-20
LEAST_ENTERED = 1e-40


@exact_part
def settled(q, g):
    """Q of a column after Σ⁻¹ is divided by g; at least the prior is left."""
    return max((1.0 + q) / g, 1.0) - 1.0


@exact_part
def settle_counts(m):
    """Divide counts and losses by g; return the factors by which to multiply the class sums."""
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


@merged_part
def with_class_weight(m, p, y, s):
    """The importance of a sample times that of its class."""
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    if p.balanced:
        alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
    return s * (alpha_pos if y > 0.0 else alpha_neg)


def second_order_pass(name: str, memory_of: Any, meet: Any, fade: Any, take: Any, fades_at: float, **of: bool) -> Any:
    """The pass with these functions, in whose texts the constants `of` are filled in.

    `fade` is called from a g of `fades_at`: calling it always takes a tenth of a short row's time.
    """
    meet, fade, take = (filled_in(text, f"{text.__name__}_{name}", **of) for text in (meet, fade, take))
    forms = {"meet": merged_part(meet), "fade": exact_part(fade), "take": merged_part(take), "fades_at": fades_at}
    return inlined(filled_in(_pass, "second_order_pass", memory_of=memory_of, **forms))


def _pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; return the position of the first bad row, or −1."""
    m, p, out = scalars[k], settings[k], margins[k]
    memory = memory_of(home, k, p)  # noqa: F821
    positive_code, forgets = p.positive, 0.0 < p.forgetting < 1.0
    ordered, weighted, wanted = order.size > 0, weights.size > 0, out.size > 0
    for r in range(start, stop):
        i = order[r] if ordered else r
        positive = codes[i] == positive_code
        y = 1.0 if positive else -1.0
        s = weights[i] if weighted else 1.0
        g = m.gain_pos / p.forgetting if forgets else 1.0  # the weight of a sample now, in units of the past
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
