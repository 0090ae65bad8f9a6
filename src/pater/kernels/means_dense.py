"""The lazy pass over dense rows: all of a model is in registers, or in the cache that is closest to them.

Knows `means_sparse`, `simd`, `class_means`, `rules` and `state`. What it does is what `means_sparse` says, for
rows that need only the plain step. What counts is how many operations a row takes and how long the longest chain of
them is from one row to the next: A and the intercept, the loss, τ, A. Hence the order below: the products with the next
row, for which τ is not needed, are formed while the chain of this one is waited for. What seldom happens is left to the
lazy pass's own functions, on the table.

Of every pair the first number is the class +1's. Where it says so, the second is kept with the opposite sign, so that
what the classes add to z, they add here.

Where the class means are so close that ‖z‖² cancels, it is taken from the sums themselves: that costs as much as the
row does, no more.

What is seldom asked for costs nothing when it is not: without sample weights `weights` is None, and without averaging
`shape` is that of three vectors, not four, so that a pass is compiled without them.
"""

from __future__ import annotations

import numpy as np

from .class_means import TOO_LARGE, balanced_alpha, zero_gap
from .compile import exact_kernel, exact_part
from .means_sparse import CANCELLED, IN_LANES, STRAIN, any_row, fold_after, know_products, plain, tidy
from .simd import add_and_products, first, fma, has_fourth, pair, products, put, room_for, second, squared_sum, take
from .state import LONGEST_STEP, LONGEST_TAU
from .steps import passive

# What is beyond these is not plain: the lazy pass knows whether a row is bad, or a step too long.
LARGEST_LOSS = TOO_LARGE
LARGEST_SQUARE = 1e205  # of ‖x‖²
SMALLEST_GAP = 1e-250  # of ‖z‖²: above it, no τ can be too large


@exact_part
def permitted(n, unit, losses, everyone):
    """How many samples have entered, and how large A·s·‖x‖² may be times that, as `means_sparse.too_large` says."""
    count = first(n) - second(n)
    return count, STRAIN * (unit * count + (first(losses) - second(losses) if everyone else 0.0))


@exact_kernel
def dense_pass(rows, order, codes, weights, margins, table, m, p, shape, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    m.width = table.shape[0]
    know_products(table, IN_LANES, m)
    buffer = np.zeros(room_for(table.shape[0], shape))
    ordered, watched, wanted = order.size > 0, p.watch != 0, margins.size > 0
    averages = has_fourth(shape) and p.average != 0
    fade, discounts = p.fading if 0.0 < p.fading < 1.0 else 1.0, p.discount != 0
    everyone, balanced, positive_code, n_columns = not passive(p.rule), p.balanced != 0, p.positive, table.shape[0]
    waits = not everyone
    r = start
    while r < stop:
        if plain(m, p):
            room = max(1, -((m.work_since_fold - fold_after(n_columns)) // n_columns))  # rows to enter before a fold
            left = room
            vectors = take(table, buffer, shape)
            t, updates, unit, bias, largest = m.t, m.updates, m.unit, m.bias, m.largest
            alpha, seen = pair(p.alpha_pos, p.alpha_neg), pair(m.seen_pos, m.seen_neg)
            said_pos, said_neg = pair(m.tp, m.fp), pair(m.fn, m.tn)
            squares, cross = pair(m.pp, m.nn), 2.0 * m.pn
            peaks = pair(max(m.pp, m.pp_peak), max(m.nn, m.nn_peak))
            A, n, losses = pair(m.A_pos, -m.A_neg), pair(m.n_pos, -m.n_neg), pair(m.loss_pos, -m.loss_neg)  # signed
            B, bias_steps = pair(m.B_pos, -m.B_neg), m.bias_steps  # signed
            z_bias, settled = 0.0, False  # is z_bias what it will be from now on?
            count, allowed = permitted(n, unit, losses, everyone)
            along, ux, xx = products(vectors, rows, order[r] if ordered else r, shape)
            while r < stop:
                i, following = r, min(r + 1, stop - 1)
                if ordered:
                    i, following = order[i], order[following]
                positive = codes[np.uint64(i)] == positive_code
                y = 1.0 if positive else -1.0
                toward = along * y
                loss = unit - y * ux - y * bias - (first(A) * first(toward) + second(A) * second(toward))
                loss = 0.0 if loss < 0.0 else loss  # a NaN stays one
                s = 1.0 if weights is None else weights[i]
                strain = (first(A) if positive else -second(A)) * (s * xx) * count
                unstrained = (strain <= allowed) | ((loss == 0.0) & waits)
                if not (unstrained & (xx < LARGEST_SQUARE) & (loss < LARGEST_LOSS) & (s != 0.0)):
                    break
                t += 1
                signed = (pair(0.5, 0.5) * y + pair(0.5, -0.5)) * s
                seen = seen + signed * y
                if watched or wanted:
                    wx = first(A) * first(along) + second(A) * second(along)
                    margin = ux + wx + bias
                    if wanted:
                        margins[r] = margin
                    if watched:
                        left_of_it = fade * ((t - 1.0) / t) if discounts else fade
                        yes = 1.0 if margin >= 0.0 else 0.0
                        said_pos = said_pos * left_of_it + signed * (y * yes)
                        said_neg = said_neg * left_of_it + signed * (y - y * yes)
                if everyone or loss > 0.0:
                    n = n + signed
                    a = alpha / n  # signed
                    if balanced or not settled:
                        if balanced:
                            alpha_pos, alpha_neg = balanced_alpha(first(seen), second(seen))
                            alpha = pair(alpha_pos, alpha_neg)
                            a = alpha / n
                        has_pos, has_neg = first(n) > 0.0, second(n) < 0.0
                        a = pair(first(a) if has_pos else 0.0, second(a) if has_neg else 0.0)
                        if p.intercept:
                            z_bias = (first(alpha) if has_pos else 0.0) - (second(alpha) if has_neg else 0.0)
                        settled = has_pos and has_neg
                    share = (first(a) if positive else -second(a)) * s
                    goal = share * loss
                    if everyone:
                        goal = fma(share, loss, first(a) * first(losses) + second(a) * second(losses))
                    losses = fma(signed, loss, losses)
                    squares = fma(signed, fma(signed, xx, toward + toward), squares)
                    peaks = pair(max(first(peaks), first(squares)), max(second(peaks), second(squares)))
                    cross = fma(second(along) if positive else first(along), 2.0 * s, cross)
                    largest = max(largest, xx)
                    A_own, B_own = (first(A), first(B)) if positive else (second(A), second(B))
                    along, ux, xx = add_and_products(
                        vectors, rows, i, following, positive, s, -A_own * s, -B_own * s, shape
                    )
                    terms = a * a * squares
                    all_terms = first(terms) + second(terms)
                    zz = fma(first(a) * second(a), cross, all_terms) + z_bias * z_bias
                    left -= 1
                    terms = a * a * peaks
                    all_terms = first(terms) + second(terms)
                    if not zz > fma(CANCELLED, all_terms, SMALLEST_GAP):
                        zz = squared_sum(vectors, n_columns, first(a), second(a), shape) + z_bias * z_bias
                        nothing = zero_gap(m.entered + room - left) * (all_terms + z_bias * z_bias)
                        zz = zz if zz > nothing and goal < zz * LONGEST_TAU else 0.0
                    tau = goal * (1.0 / zz)
                    if tau > 0.0 and goal * tau < LONGEST_STEP:
                        updates += 1
                        A = A + a * tau
                        bias += tau * z_bias
                        if averages:
                            B = fma(a, t * tau, B)
                            bias_steps = fma(t * tau, z_bias, bias_steps)
                    count, allowed = permitted(n, unit, losses, everyone)
                    if left == 0:
                        r += 1
                        break
                else:
                    along, ux, xx = products(vectors, rows, following, shape)
                r += 1
            put(vectors, table, buffer, shape)
            m.t, m.updates, m.bias, m.largest = t, updates, bias, largest
            m.seen_pos, m.seen_neg = first(seen), second(seen)
            m.tp, m.fp, m.fn, m.tn = first(said_pos), second(said_pos), first(said_neg), second(said_neg)
            m.pp, m.nn, m.pn = first(squares), second(squares), 0.5 * cross
            m.pp_peak, m.nn_peak = first(peaks), second(peaks)
            m.A_pos, m.A_neg = first(A), -second(A)
            m.B_pos, m.B_neg, m.bias_steps = first(B), -second(B), bias_steps
            m.n_pos, m.n_neg = first(n), -second(n)
            m.loss_pos, m.loss_neg = first(losses), -second(losses)
            m.entered += room - left
            m.work_since_fold += (room - left) * n_columns
            if left == 0:
                tidy(table, IN_LANES, m)
                continue
            if r == stop:
                break
        i = order[r] if ordered else r
        margin = any_row(rows, i, table, m, p, codes[i] == positive_code, 1.0 if weights is None else weights[i])
        if margin != margin:
            return r
        if wanted:
            margins[r] = margin
        r += 1
    return -1
