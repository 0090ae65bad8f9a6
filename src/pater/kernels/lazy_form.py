"""The lazy form of the weights of a mean rule, w = U + A⁺S⁺ − A⁻S⁻: a step in it, and what keeps it exact.

With x of class c, w stays as it is when x is added to S^c and c·A^c·x is taken from U; the step w ← w + τz is A± ← A± +
τα±/n±. ‖z‖² follows from ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻, which change by the dot products that the prediction needs anyway.

U and the lazy part may be much larger than w, and then cancel, when a row enters that is large compared with those
along which A was gathered. `strained` foresees this, and w is folded first; docs/algorithms.md derives the bound.

The functions take a table whose columns hold the vectors of one model or several, and `at`, the columns of U, S⁺ and
S⁻. Those that take `diagonal` serve models with a diagonal covariance, too: w = U + Σ(A⁺S⁺ − A⁻S⁻), and the products
are S⁺ᵀΣS⁺, S⁻ᵀΣS⁻ and S⁺ᵀΣS⁻.
"""

from ..compiler.decorators import exact_part, inlined
from .class_means import (
    TOO_LARGE,
    TOO_LARGE_GAIN,
    bounded,
    lower_gain,
    parts_of_gap,
    shrink,
    shrink_vector,
    zero_gap,
)
from .double_double import all_products, count_products, squared_gap
from .memory import ROW, S_NEG, S_POS, Q, U, V
from .rows import either
from .simd import fma
from .steps import loss_to_take, passive

IN_LANES = (U, S_POS, S_NEG)  # the columns of a model that has its table to itself
FOLD_EVERY = 256  # folding costs d, which is negligible after 256·d numbers added
FOLD_AT_LEAST = 8192  # numbers, which make the cost of leaving the registers negligible
CANCELLED = 1e-5  # of its terms: a ‖z‖² below it is computed with care
SMALLEST_GAP = 1e-250  # of ‖z‖²: above it, τ overflows only if the length of the step does
SAFE_AGAIN = 1e-3  # of its terms: above it, care may end, once so many numbers were added:
CARE_AT_LEAST = 0.125  # of d
STRAIN = 2.0**10  # how far U may move the margin of a row, in units of its usual size: three digits of sixteen
STRAIN_ON_CREDIT = 2.0**18  # the same, while fewer numbers were added since the last fold than a fold costs
MOST_CREDIT = 16  # folds
STRAIN_WITHOUT = 2.0**400  # and when these are used up: beyond it U could overflow
LOST = 2.0**800  # beyond it, a margin in the lazy form may overflow though w·x does not


@inlined
def _keeps_steps(table):
    """Whether the table has a vector V: it is of one model, not of a herd."""
    return table.shape[1] <= ROW + 1


@inlined
def _variance(table, j, diagonal):
    return 1.0 / (1.0 + table[j, Q]) if diagonal else 1.0


@exact_part
def renew_products(table, at, m, diagonal):
    """‖S⁺‖², ‖S⁻‖² and S⁺·S⁻ from the vectors; added in order, so that all passes agree."""
    m.pp = m.nn = m.pn = 0.0
    for j in range(m.width):
        p, n, variance = table[j, at[S_POS]], table[j, at[S_NEG]], _variance(table, j, diagonal)
        m.pp += p * p * variance
        m.nn += n * n * variance
        m.pn += p * n * variance
    m.pp_peak, m.nn_peak = m.pp, m.nn
    m.products_known, m.careful = 1, 0


@exact_part
def fold(table, at, m, diagonal):
    """Move the lazy part of w and of Σ t·δₜ into U and V: another form of the same vectors."""
    u, p, n = at
    for j in range(m.width):
        table[j, u] += (m.A_pos * table[j, p] - m.A_neg * table[j, n]) * _variance(table, j, diagonal)
    if _keeps_steps(table):
        for j in range(m.width):
            table[j, V] += (m.B_pos * table[j, p] - m.B_neg * table[j, n]) * _variance(table, j, diagonal)
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0
    m.work_since_fold = min(0, m.work_since_fold - m.width)
    if not m.careful:
        renew_products(table, at, m, diagonal)


@inlined
def fold_after(width):
    """How many numbers are added to the class sums between folds, where rows have reached `width` columns."""
    return max(FOLD_AT_LEAST, FOLD_EVERY * width)


@inlined
def untidy(m):
    """Whether `tidy` has anything to do."""
    full = m.loss_pos + m.loss_neg > TOO_LARGE or m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN
    return full or m.work_since_fold >= fold_after(m.width)


@exact_part
def tidy(table, at, m):
    """Keep scales in range, and fold, where either is due."""
    if m.loss_pos + m.loss_neg > TOO_LARGE:
        shrink(m)
        shrink_vector(table[:, at[U]])
        if _keeps_steps(table):
            shrink_vector(table[:, V])
    too_high = m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN
    if too_high or m.work_since_fold >= fold_after(m.width):
        fold(table, at, m, False)
    if too_high:
        lower_gain(table[:, at[S_POS]], table[:, at[S_NEG]], m)


@inlined
def too_large(A, added, n, unit, losses, limit):
    """Whether U, once A of the row's class times the row is added, would move margins far beyond their usual size.

    `added` is s·‖x‖² for a row of weight s. The usual size is the margin to reach plus the mean of `losses` over the n
    samples in the class sums. Whether U could overflow does not depend on the unit of margins, though: that falls as
    the weights grow on a long stream of noise, until every row would fold.
    """
    return not A * added * n <= limit * ((unit if limit < STRAIN_WITHOUT else 1.0) * n + losses)


@inlined
def permitted_strain(work_since_fold, width):
    """The limit for `too_large`, which depends on whether the numbers added since the last fold pay for another."""
    on_credit = STRAIN_ON_CREDIT if work_since_fold > -MOST_CREDIT * width else STRAIN_WITHOUT
    return STRAIN if work_since_fold >= width else on_credit


@inlined
def strained(m, p, xx, positive, s, slack):
    """Whether to fold w before a row of weight s and this slack is predicted and enters its class sum."""
    if not abs(slack) < LOST and m.A_pos + m.A_neg > 0.0:
        return True
    if slack <= 0.0 and passive(p.rule):
        return False
    losses = 0.0 if passive(p.rule) else m.loss_pos + m.loss_neg
    limit = permitted_strain(m.work_since_fold, m.width)
    return too_large(m.A_pos if positive else m.A_neg, s * xx, m.n_pos + m.n_neg, m.unit, losses, limit)


def _dense_gap(rows, table, at, m, a_pos, a_neg, z_bias, terms):
    zz = 0.0
    for j in range(table.shape[0]):
        gap = a_pos * table[j, at[S_POS]] - a_neg * table[j, at[S_NEG]]
        zz += gap * gap
    zz += z_bias * z_bias
    return zz if zz > zero_gap(m.entered) * (terms + z_bias * z_bias) else 0.0


def _sparse_gap(rows, table, at, m, a_pos, a_neg, z_bias, terms):
    return careful_gap(table, at, m, a_pos, a_neg, z_bias)


@exact_part
def careful_gap(table, at, m, a_pos, a_neg, z_bias):
    """‖z‖² from products in twice the working precision; 0 where z is only the rounding of the class means."""
    if not m.careful:
        all_products(table, at, m)
        m.careful, m.careful_work = 1, 0
        m.pp_peak, m.nn_peak = m.pp, m.nn
    terms = a_pos * a_pos * max(m.pp, m.pp_peak) + a_neg * a_neg * max(m.nn, m.nn_peak)
    zz = squared_gap(m, a_pos, a_neg)
    if zz > SAFE_AGAIN * terms and m.careful_work >= CARE_AT_LEAST * m.width:
        m.careful, m.pp_peak, m.nn_peak = 0, m.pp, m.nn
    zz += z_bias * z_bias
    return zz if zz > zero_gap(m.entered) * terms else 0.0


# ‖z‖² where it cancels: for dense rows, from the sums themselves, which costs as much as the row does.
exact_gap = either(_dense_gap, _sparse_gap)
count_with_care = either(
    lambda rows, i, table, at, positive, sign, m: None,
    lambda rows, i, table, at, positive, sign, m: count_products(rows, i, table, at, positive, sign, m),
)


@inlined
def look(m, ux, px, nx, y):
    """Margin of a row, and how far it is from the margin to reach."""
    lazy = m.A_pos * px - m.A_neg * nx
    return (ux + m.bias) + lazy, fma(-y, m.bias, fma(-y, ux, m.unit)) - y * lazy


@inlined
def hinge_of(slack):
    """The loss of a row with this slack; a NaN stays one."""
    return 0.0 if slack < 0.0 else slack


@exact_part
def finish(rows, i, table, at, m, p, positive, s, loss):
    """Take the step for a row that is in its class sum, with all the care it needs."""
    if m.careful:
        count_with_care(rows, i, table, at, positive, 1.0, m)
    a_pos, a_neg, z_bias = parts_of_gap(m, p)
    terms = a_pos * a_pos * max(m.pp_peak, m.pp) + a_neg * a_neg * max(m.nn_peak, m.nn)
    squares = a_pos * a_pos * m.pp + a_neg * a_neg * m.nn
    zz = fma(-2.0 * a_pos * a_neg, m.pn, squares) + z_bias * z_bias
    if m.careful or not zz > fma(CANCELLED, terms, SMALLEST_GAP):
        zz = exact_gap(rows, table, at, m, a_pos, a_neg, z_bias, terms)
    s_pos = s if positive else 0.0
    s_neg = s - s_pos
    share, so_far = s_pos * a_pos + s_neg * a_neg, a_pos * m.loss_pos + a_neg * m.loss_neg
    goal = loss_to_take(p.rule, share * loss, fma(share, loss, so_far))
    m.loss_pos = fma(s_pos, loss, m.loss_pos)
    m.loss_neg = fma(s_neg, loss, m.loss_neg)
    inverse = 1.0 / zz if zz > 0.0 else 0.0
    if bounded(goal * inverse, zz) > 0.0:
        step_pos, step_neg, step_bias = (a_pos * inverse) * goal, (a_neg * inverse) * goal, (z_bias * inverse) * goal
        m.updates += 1
        m.A_pos += step_pos
        m.A_neg += step_neg
        m.bias += step_bias
        if p.average:
            m.B_pos += m.t * step_pos
            m.B_neg += m.t * step_neg
            m.bias_steps += m.t * step_bias
