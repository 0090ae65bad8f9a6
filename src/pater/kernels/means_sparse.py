"""The pass of the mean rules that touches only what a row holds: sparse rows, and dense rows of few columns.

Knows `rules`, `class_means`, `double_double`, `rows`, `simd` and `state`. With x of class c, w = U + A⁺S⁺ −
A⁻S⁻ stays as it is when x is added to S^c and c·A^c·x is taken from U; the step w ← w + τz is A± ← A± + τα±/n±. ‖z‖²
follows from ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻, which change by the dot products that the prediction needs anyway.

U and the lazy part may be much larger than w, and then cancel: where a row enters that is large against those along
which A was gathered. `strained` sees it coming, and w is folded first; docs/algorithms.md derives the bound.

What is not a loop over a row is compiled exactly as written: `means_batched` does the same for many models at once, and
both must come to the same bits. What both call takes a table whose columns hold the vectors of one model or of several,
and `at`, the columns of U, S⁺ and S⁻.
"""

from __future__ import annotations

import math

from .class_means import (
    TOO_LARGE,
    TOO_LARGE_GAIN,
    balanced_alpha,
    bias_gap,
    bounded,
    lower_gain,
    next_gain,
    products,
    raise_gain,
    shrink,
    shrink_vector,
    zero_gap,
)
from .compile import exact_kernel, exact_part
from .double_double import all_products, count_products, squared_gap
from .progress import calibrate, count_answer
from .rows import reach, size
from .rules import LARGEST_ROW
from .simd import LANES, add_lanes, carry, dot_and_square, hold
from .state import S_NEG, S_POS, U, V
from .steps import hinge, mean_step, passive

IN_LANES = (U, S_POS, S_NEG)  # where the vectors of a model are that has its table to itself
FOLD_EVERY = 256  # folding costs d; after 256·d numbers added it is lost in them
FOLD_AT_LEAST = 8192  # numbers: what leaving the registers costs is lost in so many
CANCELLED = 1e-5  # of its terms: a ‖z‖² below it is taken with care
SAFE_AGAIN = 1e-3  # of its terms: above it, care may end, once as many numbers were added as entering it cost
CARE_AT_LEAST = 0.125  # of d
LARGEST_PRODUCT = 1e280  # of A and a row: beyond it, with an importance of up to 1e20, U could overflow
STRAIN = 2.0**10  # what U may move the margin of a row by, in units of its usual size: three digits of sixteen
STRAIN_ON_CREDIT = 2.0**18  # the same, as long as fewer numbers were added since the last fold than one costs
MOST_CREDIT = 16  # folds


@exact_kernel
def fold(table, at, m):
    """Move the lazy part of w and of Σ t·δₜ into U and V: another form of the same vectors."""
    u, p, n = at
    for j in range(m.width):
        table[j, u] += m.A_pos * table[j, p] - m.A_neg * table[j, n]
    if table.shape[1] == LANES:
        for j in range(m.width):
            table[j, V] += m.B_pos * table[j, p] - m.B_neg * table[j, n]
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0
    m.work_since_fold = min(0, m.work_since_fold - m.width)
    if not m.careful:
        m.pp, m.nn, m.pn = products(table[: m.width, p], table[: m.width, n])
        m.pp_peak, m.nn_peak = m.pp, m.nn


@exact_part
def forgets(p):
    """Do the class sums fade?"""
    return 0.0 < p.forgetting < 1.0


@exact_part
def fold_after(width):
    """After how many numbers added to the class sums to fold, where rows have reached so many columns."""
    return max(FOLD_AT_LEAST, FOLD_EVERY * width)


@exact_kernel
def careful_gap(table, at, m, a_pos, a_neg, z_bias):
    """‖z‖² from products in twice the working precision; 0 where z is nothing but the rounding of the class means."""
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


@exact_kernel
def tidy(table, at, m):
    """What seldom needs doing: keep scales in range, and fold."""
    if m.loss_pos + m.loss_neg > TOO_LARGE:
        shrink(m)
        shrink_vector(table[:, at[U]])
        if table.shape[1] == LANES:
            shrink_vector(table[:, V])
    too_high = m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN
    if too_high or m.work_since_fold >= fold_after(m.width):
        fold(table, at, m)
    if too_high:
        lower_gain(table[:, at[S_POS]], table[:, at[S_NEG]], m)


@exact_part
def look(m, ux, px, nx, positive):
    """Margin and loss of a row."""
    margin = ux + (m.A_pos * px - m.A_neg * nx) + m.bias
    return margin, hinge(margin if positive else -margin, m.unit)


@exact_part
def overflows(A_pos, A_neg, px, nx, xx):
    """Could the lazy form overflow here? Only where rows of 1e-100 and of 1e100 meet; w itself does not."""
    return not max(A_pos, A_neg) * (1.0 + xx + abs(px) + abs(nx)) < LARGEST_PRODUCT


@exact_part
def too_large(A, added, n, unit, losses, limit):
    """Does U, if A of its class times a row of weight s is added to it, move margins far beyond their usual size?

    `added` is s·‖x‖². The usual size is the margin to reach and, where `losses` are gathered over the n samples in the
    class sums, their mean.
    """
    return not A * added * n <= limit * (unit * n + losses)


@exact_part
def permitted_strain(work_since_fold, width):
    """How large that may be, by whether the numbers added since the last fold pay for another."""
    if work_since_fold >= width:
        return STRAIN
    return STRAIN_ON_CREDIT if work_since_fold > -MOST_CREDIT * width else math.inf


@exact_part
def strained(m, p, px, nx, xx, positive, s, loss):
    """Should w be folded before a row of weight s and this loss is looked at, and enters its class sum?"""
    losses = 0.0 if passive(p.rule) else m.loss_pos + m.loss_neg
    limit = permitted_strain(m.work_since_fold, m.width)
    return overflows(m.A_pos, m.A_neg, px, nx, xx) or (
        (not passive(p.rule) or loss > 0.0)
        and too_large(m.A_pos if positive else m.A_neg, s * xx, m.n_pos + m.n_neg, m.unit, losses, limit)
    )


@exact_part
def note(rows, i, m, p, margin, positive, s):
    """Take note of a row of importance s, before learning from it."""
    m.t += 1
    m.width = max(m.width, reach(rows, i))
    if positive:
        m.seen_pos += s
    else:
        m.seen_neg += s
    count_answer(m, p, margin, positive, s)


@exact_part
def weight_now(m, p, positive, s):
    """With what weight the row enters its class sum."""
    return s * next_gain(m, positive, p.forgetting) if forgets(p) else s


@exact_part
def count_squares(m, positive, s, px, nx, xx):
    """What the products of the class sums become when the row is added to its own."""
    if positive:
        m.pp += s * (2.0 * px + s * xx)
        m.pp_peak = max(m.pp_peak, m.pp)
        m.pn += s * nx
    else:
        m.nn += s * (2.0 * nx + s * xx)
        m.nn_peak = max(m.nn_peak, m.nn)
        m.pn += s * px


@exact_part
def enter(rows, i, table, m, positive, s, loss, xx):
    """Add the row to its class sum, and take from U what that adds to w."""
    if positive:
        m.n_pos += s
        m.loss_pos += s * loss
        add_lanes(rows, i, table, -m.A_pos * s, s, 0.0, -m.B_pos * s)
    else:
        m.n_neg += s
        m.loss_neg += s * loss
        add_lanes(rows, i, table, m.A_neg * s, 0.0, s, m.B_neg * s)
    m.largest = max(m.largest, xx)
    m.entered += 1
    m.work_since_fold += size(rows, i)


@exact_part
def direction(m, p):
    """The parts of z, the size of the terms that ‖z‖² is a difference of, and ‖z‖² as working precision gives it."""
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    if p.balanced:
        alpha_pos, alpha_neg = balanced_alpha(m.seen_pos, m.seen_neg)
    a_pos = alpha_pos / m.n_pos if m.n_pos > 0.0 else 0.0
    a_neg = alpha_neg / m.n_neg if m.n_neg > 0.0 else 0.0
    z_bias = bias_gap(alpha_pos, alpha_neg, m.n_pos, m.n_neg) if p.intercept else 0.0
    terms = a_pos * a_pos * max(m.pp, m.pp_peak) + a_neg * a_neg * max(m.nn, m.nn_peak)
    zz = a_pos * a_pos * m.pp + a_neg * a_neg * m.nn - 2.0 * a_pos * a_neg * m.pn + z_bias * z_bias
    return a_pos, a_neg, z_bias, terms, zz


@exact_part
def move(m, p, positive, s, loss, a_pos, a_neg, z_bias, zz):
    """Move w along z."""
    own_loss = s * loss * (a_pos if positive else a_neg)
    tau = bounded(mean_step(p.rule, own_loss, a_pos * m.loss_pos + a_neg * m.loss_neg, zz, p), zz)
    if tau > 0.0:
        m.updates += 1
        m.A_pos += tau * a_pos
        m.A_neg += tau * a_neg
        m.bias += tau * z_bias
        if p.average:
            m.B_pos += m.t * tau * a_pos
            m.B_neg += m.t * tau * a_neg
            m.bias_steps += m.t * tau * z_bias


@exact_part
def untidy(m):
    """Is there something for `tidy` to do?"""
    full = m.loss_pos + m.loss_neg > TOO_LARGE or m.gain_pos > TOO_LARGE_GAIN or m.gain_neg > TOO_LARGE_GAIN
    return full or m.work_since_fold >= fold_after(m.width)


@exact_kernel
def finish(rows, i, table, at, m, p, positive, s, loss):
    """What is left to do for a row that is in its class sum, with whatever care it takes."""
    if m.careful:
        count_products(rows, i, table, at, positive, 1.0, m)
    a_pos, a_neg, z_bias, terms, zz = direction(m, p)
    if m.careful or not zz > CANCELLED * terms:
        zz = careful_gap(table, at, m, a_pos, a_neg, z_bias)
    if zz > 0.0:
        move(m, p, positive, s, loss, a_pos, a_neg, z_bias, zz)
    if untidy(m):
        tidy(table, at, m)


@exact_kernel
def know_products(table, at, m):
    """Bring ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻ up to date after a pass that does not keep them."""
    if not m.products_known:
        m.pp, m.nn, m.pn = products(table[: m.width, at[S_POS]], table[: m.width, at[S_NEG]])
        m.pp_peak, m.nn_peak = m.pp, m.nn
        m.products_known, m.careful = 1, 0


@exact_part
def plain(m, p):
    """Do the rows to come need only what `plain_rows` does?"""
    return not (m.careful or p.calibrate or forgets(p))


@exact_kernel
def plain_rows(rows, order, codes, weights, margins, table, home, settings, start, stop):
    """Pass rows through one model until one needs more than the plain step; its position, s and loss.

    A loss of −1 says that nothing has been done for that row yet; otherwise the row is in its class sum. All that is
    called here is inlined: a call would drive the scalars out of the registers.
    """
    m, p = hold(home), hold(settings)
    ordered, weighted, wanted = order.size > 0, weights.size > 0, margins.size > 0
    r, s, loss = start, 1.0, -1.0
    while r < stop:
        i = order[r] if ordered else r
        ux, px, nx, xx = dot_and_square(rows, i, table)
        s = weights[i] if weighted else 1.0
        positive = codes[i] == p.positive
        margin, loss = look(m, ux, px, nx, positive)
        if not xx <= LARGEST_ROW or s == 0.0 or strained(m, p, px, nx, xx, positive, s, loss):
            loss = -1.0
            break
        note(rows, i, m, p, margin, positive, s)
        if wanted:
            margins[r] = margin
        if not passive(p.rule) or loss > 0.0:
            count_squares(m, positive, s, px, nx, xx)
            enter(rows, i, table, m, positive, s, loss, xx)
            a_pos, a_neg, z_bias, terms, zz = direction(m, p)
            if not zz > CANCELLED * terms:
                break
            move(m, p, positive, s, loss, a_pos, a_neg, z_bias, zz)
            if untidy(m):
                r += 1
                loss = -1.0
                break
        r += 1
        loss = -1.0
    carry(m, home)
    return r, s, loss


@exact_kernel
def any_row(rows, i, table, m, p, positive, s):
    """Pass one row through one model, whatever it takes; its margin, or NaN for a bad row."""
    ux, px, nx, xx = dot_and_square(rows, i, table)
    if not xx <= LARGEST_ROW:
        return math.nan
    margin, loss = look(m, ux, px, nx, positive)
    now = weight_now(m, p, positive, s)
    if strained(m, p, px, nx, xx, positive, now, loss):
        fold(table, IN_LANES, m)
        ux, px, nx, xx = dot_and_square(rows, i, table)
        margin, loss = look(m, ux, px, nx, positive)
    if s == 0.0:
        return margin
    note(rows, i, m, p, margin, positive, s)
    if p.calibrate:
        calibrate(m, margin, positive, s)
    if not passive(p.rule) or loss > 0.0:
        s = now
        if forgets(p):
            raise_gain(m, positive, p.forgetting)
        if m.careful:
            count_products(rows, i, table, IN_LANES, positive, -1.0, m)
            m.careful_work += size(rows, i)
        else:
            count_squares(m, positive, s, px, nx, xx)
        enter(rows, i, table, m, positive, s, loss, xx)
        finish(rows, i, table, IN_LANES, m, p, positive, s, loss)
    return margin


@exact_kernel
def lazy_pass(rows, order, codes, weights, margins, table, m, p, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    know_products(table, IN_LANES, m)
    r = start
    while r < stop:
        s, loss = 1.0, -1.0
        if plain(m, p):
            r, s, loss = plain_rows(rows, order, codes, weights, margins, table, m, p, r, stop)
            if loss < 0.0 and untidy(m):
                tidy(table, IN_LANES, m)
                continue
            if r == stop:
                break
        i = order[r] if order.size > 0 else r
        positive = codes[i] == p.positive
        if loss >= 0.0:
            finish(rows, i, table, IN_LANES, m, p, positive, s, loss)
        else:
            margin = any_row(rows, i, table, m, p, positive, weights[i] if weights.size > 0 else 1.0)
            if margin != margin:
                return r
            if margins.size > 0:
                margins[r] = margin
        r += 1
    return -1
