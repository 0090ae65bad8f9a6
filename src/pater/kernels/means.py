"""The pass of the mean rules, for dense and sparse rows: it touches only what a row holds.

Nearly all rows need only the plain step and go through `plain_rows`; `any_row` and `finish` do what is seldom needed.

Everything but the loops over a row is compiled exactly as written: `means_batched` does the same for many models at
once, and both must arrive at the same bits.
"""

import math

import numpy as np

from ..compiler.decorators import exact_part, inlined
from .class_means import TOO_LARGE, bias_gap
from .lazy_form import (
    CANCELLED,
    IN_LANES,
    SMALLEST_GAP,
    STRAIN,
    count_with_care,
    finish,
    fold,
    fold_after,
    hinge_of,
    look,
    permitted_strain,
    renew_products,
    strained,
    tidy,
    too_large,
    untidy,
)
from .memory import LONGEST_STEP
from .progress import SIZE_MEMORY, in_unit, next_mean_size, next_size, note, share_of_one
from .rows import is_dense, reach, size, table_of
from .rules import LARGEST_ROW
from .simd import add_and_products, first, fma, larger, pair, products, second, with_pairs
from .steps import loss_to_take, passive


@exact_part
def met(rows, i, table):
    """`products`, where another copy of its loop is not worth compiling."""
    return products(rows, i, table)


@exact_part
def any_row(rows, i, table, m, p, positive, s, found):
    """Add one row to its class sum, with all the care it needs.

    Returns its margin as reported, NaN for a bad row; and, for `finish`, its weight and its loss, which is −1 if the
    row does not enter.
    """
    ux, px, nx, xx = found
    if not xx <= LARGEST_ROW:
        return math.nan, s, -1.0
    y = 1.0 if positive else -1.0
    margin, slack = look(m, ux, px, nx, y)
    # Fading all samples of a class by γ when one more comes equals, up to a factor common to sum, count and loss,
    # giving that one 1/γ times the weight of the one before.
    forgets, gain = 0.0 < p.forgetting < 1.0, (m.gain_pos if positive else m.gain_neg) / p.forgetting
    now = s * gain if forgets else s
    if strained(m, p, xx, positive, now, slack):
        fold(table, IN_LANES, m, False)
        ux, px, nx, xx = met(rows, i, table)
        margin, slack = look(m, ux, px, nx, y)
    told = in_unit(m.size_square, margin)
    if s == 0.0:
        return told, s, -1.0
    m.width = max(m.width, reach(rows, i))
    note(m, p, margin, positive, s, 1.0)
    loss = hinge_of(slack)
    if loss == 0.0 and passive(p.rule):
        return told, s, -1.0
    s_pos = now if positive else 0.0
    s_neg = now - s_pos
    if forgets:
        m.gain_pos, m.gain_neg = (gain, m.gain_neg) if positive else (m.gain_pos, gain)
    if m.careful:
        count_with_care(rows, i, table, IN_LANES, positive, -1.0, m)
        m.careful_work += size(rows, i)
    else:
        m.pp = fma(s_pos, fma(s_pos, xx, 2.0 * px), m.pp)
        m.nn = fma(s_neg, fma(s_neg, xx, 2.0 * nx), m.nn)
        m.pn += s_pos * nx + s_neg * px
        m.pp_peak, m.nn_peak = max(m.pp_peak, m.pp), max(m.nn_peak, m.nn)
    m.n_pos += s_pos
    m.n_neg += s_neg
    m.entered += 1
    m.work_since_fold += size(rows, i)
    a, b = m.A_neg * s_neg - m.A_pos * s_pos, m.B_neg * s_neg - m.B_pos * s_pos
    add_and_products(rows, i, i, table, positive, now, a, b)
    return told, now, loss


@exact_part
@with_pairs
def plain_rows(rows, order, codes, weights, margins, table, m, p, start, stop):
    """Pass rows through one model until one needs more than the plain step; return its position, s, loss and products.

    A loss of −1 means that nothing has been done for that row yet; otherwise the row is in its class sum. Speed depends
    on the operations per row and on their longest chain from one row to the next: A and the intercept, the loss, τ, A.
    Hence pairs of the classes +1 and −1, and only inlined calls: others would drive the pairs out of the registers. The
    products with the next row do not need τ, so they are formed while the chain of this one is under way.
    """
    ordered, weighted, wanted, watched = order.size > 0, weights.size > 0, margins.size > 0, p.watch != 0
    everyone, positive_code, sized, size_square = not passive(p.rule), p.positive, p.sized != 0, m.size_square
    mean_size = m.mean_size
    averages = p.average != 0 or m.B_pos != 0.0 or m.B_neg != 0.0
    steps_count = p.average != 0
    fade, discounts = p.fading if 0.0 < p.fading < 1.0 else 1.0, p.discount != 0
    t, updates, entered, work, width = m.t, m.updates, m.entered, m.work_since_fold, m.width
    unit, bias, bias_steps, cross = m.unit, m.bias, m.bias_steps, m.pn
    alpha, seen, n = pair(p.alpha_pos, p.alpha_neg), pair(m.seen_pos, m.seen_neg), pair(m.n_pos, m.n_neg)
    losses, squares, peaks = pair(m.loss_pos, m.loss_neg), pair(m.pp, m.nn), pair(m.pp_peak, m.nn_peak)
    A, B = pair(m.A_pos, m.A_neg), pair(m.B_pos, m.B_neg)
    said_pos, said_neg = pair(m.tp, m.fp), pair(m.fn, m.tn)
    most_work = fold_after(width)
    z_bias, settled = 0.0, False  # settled: z_bias no longer changes
    count, all_losses = first(n) + second(n), first(losses) + second(losses)
    allowed = STRAIN * (unit * count + (all_losses if everyone else 0.0))
    r, s, loss, one_share = start, 1.0, -1.0, share_of_one(max(1.0, float(t)))
    ux, px, nx, xx = met(rows, order[r] if ordered else r, table)
    while r < stop:
        i, following = r, min(r + 1, stop - 1)
        if ordered:
            i, following = order[i], order[following]
        along = pair(px, nx)
        positive = codes[np.uint64(i)] == positive_code
        y = 1.0 if positive else -1.0
        s = weights[np.uint64(i)] if weighted else 1.0
        lazy = A * (along * y)
        slack = fma(-y, bias, fma(-y, ux, unit)) - (first(lazy) - second(lazy))
        loss = hinge_of(slack)
        A_own = first(A) if positive else second(A)
        ordinary = (abs(slack) < TOO_LARGE) & (xx <= LARGEST_ROW) & (s != 0.0)
        if not (ordinary & (A_own * (s * xx) * count <= allowed)):
            enters, limit = everyone or loss > 0.0, permitted_strain(work, width)
            gathered = all_losses if everyone else 0.0
            if not ordinary or (enters and too_large(A_own, s * xx, count, unit, gathered, limit)):
                loss = -1.0
                break
        t += 1
        if reach(rows, i) > width:
            width = reach(rows, i)
            most_work = fold_after(width)
        own = fma(pair(0.5, -0.5), y, 0.5) * s
        seen = seen + own
        if wanted or watched or sized:
            margin = (ux + bias) + y * (first(lazy) - second(lazy))
            if wanted:
                margins[r] = in_unit(size_square, margin)
            if sized:
                if t <= SIZE_MEMORY:
                    one_share = share_of_one(float(t))
                size_square = next_size(size_square, margin, one_share)
                if steps_count:
                    mean_size = next_mean_size(mean_size, size_square, float(t))
            if watched:
                kept = fade * ((t - 1.0) / t) if discounts else fade
                yes = 1.0 if margin >= 0.0 else 0.0
                said_pos = said_pos * kept + own * yes
                said_neg = said_neg * kept + own * (1.0 - yes)
        if everyone or loss > 0.0:
            squares = fma(own, fma(own, xx, along + along), squares)
            peaks = larger(peaks, squares)
            cross += first(own) * nx + second(own) * px
            n = n + own
            entered += 1
            work += size(rows, i)
            back, B_back = A * own, B * own
            b = second(B_back) - first(B_back) if averages else 0.0
            ux, px, nx, xx = add_and_products(rows, i, following, table, positive, s, second(back) - first(back), b)
            a = alpha / n
            if not settled:
                has_pos, has_neg = first(n) > 0.0, second(n) > 0.0
                a = pair(first(a) if has_pos else 0.0, second(a) if has_neg else 0.0)
                if p.intercept:
                    z_bias = bias_gap(first(alpha), second(alpha), first(n), second(n))
                settled = has_pos and has_neg
            each, each_peak = a * a * squares, a * a * peaks
            zz = fma(-2.0 * first(a) * second(a), cross, first(each) + second(each)) + z_bias * z_bias
            if not zz > fma(CANCELLED, first(each_peak) + second(each_peak), SMALLEST_GAP):
                break
            shares, mean_losses = own * a, a * losses
            share, so_far = first(shares) + second(shares), first(mean_losses) + second(mean_losses)
            goal = loss_to_take(p.rule, share * loss, fma(share, loss, so_far))
            losses = fma(own, loss, losses)
            inverse = 1.0 / zz
            if goal > 0.0 and goal * (goal * inverse) < LONGEST_STEP:
                step, step_bias = (a * inverse) * goal, (z_bias * inverse) * goal
                updates += 1
                A = A + step
                bias += step_bias
                if steps_count:
                    B = B + step * t
                    bias_steps += t * step_bias
            count, all_losses = first(n) + second(n), first(losses) + second(losses)
            allowed = STRAIN * (unit * count + (all_losses if everyone else 0.0))
            if (work >= most_work) | (all_losses > TOO_LARGE):
                r += 1
                loss = -1.0
                break
        else:
            ux, px, nx, xx = products(rows, following, table)
        r += 1
        loss = -1.0
    m.t, m.updates, m.entered, m.work_since_fold, m.width = t, updates, entered, work, width
    m.bias, m.bias_steps, m.pn = bias, bias_steps, cross
    m.seen_pos, m.seen_neg, m.n_pos, m.n_neg = first(seen), second(seen), first(n), second(n)
    m.loss_pos, m.loss_neg, m.pp, m.nn = first(losses), second(losses), first(squares), second(squares)
    m.pp_peak, m.nn_peak = first(peaks), second(peaks)
    m.A_pos, m.A_neg, m.B_pos, m.B_neg = first(A), second(A), first(B), second(B)
    m.size_square, m.mean_size = size_square, mean_size
    m.tp, m.fp, m.fn, m.tn = first(said_pos), second(said_pos), first(said_neg), second(said_neg)
    return r, s, loss, (ux, px, nx, xx)


@inlined
def mean_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through model k; return the position of the first bad row, or −1."""
    table, m, p, out = table_of(rows, home.vectors[k])[0], scalars[k], settings[k], margins[k]
    if is_dense(rows):
        m.width = max(m.width, reach(rows, 0))
        m.products_known, m.careful = 0 if m.careful else m.products_known, 0
    if not m.products_known:
        renew_products(table, IN_LANES, m, False)
    r = start
    while r < stop:
        s, loss = 1.0, -1.0
        if m.careful or p.calibrate or 0.0 < p.forgetting < 1.0:
            found = met(rows, order[r] if order.size > 0 else r, table)
        else:
            r, s, loss, found = plain_rows(rows, order, codes, weights, out, table, m, p, r, stop)
        if loss >= 0.0 or not (r == stop or untidy(m)):
            i = order[r] if order.size > 0 else r
            positive = codes[i] == p.positive
            if loss < 0.0:
                s = weights[i] if weights.size > 0 else 1.0
                margin, s, loss = any_row(rows, i, table, m, p, positive, s, found)
                if margin != margin:
                    return r
                if out.size > 0:
                    out[r] = margin
            if loss >= 0.0:
                finish(rows, i, table, IN_LANES, m, p, positive, s, loss)
            r += 1
        if untidy(m):
            tidy(table, IN_LANES, m)
    return -1
