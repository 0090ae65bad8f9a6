"""The lazy pass over dense rows of few columns: all of a model is in registers.

Knows `lazy`, `pairs`, `registers`, `means`, `rules` and `state`. What it does is what `lazy` says, for the rows that
need only the plain step. As there is no memory to wait for, what counts is how many operations a row takes and how long
the longest chain of them is from one row to the next: A and the intercept, the loss, τ, A. Hence the order below. What
seldom happens is left to the lazy pass's own functions, on the table.

Of every pair the first number is the class +1's. Where it says so, the second is kept with the opposite sign, so that
what the classes add to z, they add here.

What is seldom asked for costs nothing when it is not: without sample weights `weights` is None, and without averaging
`shape` is that of three vectors, not four, so that a pass is compiled without them.
"""

from __future__ import annotations

import numpy as np

from ._compile import exact_kernel
from .lazy import CANCELLED, IN_LANES, LARGEST_PRODUCT, any_row, finish, fold_after, know_products, plain, tidy
from .means import balanced_alpha
from .pairs import first, fma, pair, second
from .registers import add, products, put, take
from .rules import PATER_I
from .state import LONGEST_STEP, V

# What is beyond these is not plain: the lazy pass knows whether a row is bad, a step too long, or a fold due.
LARGEST_LOSS = 1e130
LARGEST_SQUARE = 1e205  # of ‖x‖²
SMALLEST_GAP = 1e-250  # of ‖z‖²


@exact_kernel
def narrow_pass(rows, order, codes, weights, margins, table, m, p, shape, start, stop):
    """Pass rows start..stop through one model; the position of the first bad row, or −1."""
    know_products(table, IN_LANES, m)
    ordered, watched, wanted = order.size > 0, p.watch != 0, margins.size > 0
    averages = len(shape) > V and p.average != 0
    fade, discounts = p.fading if 0.0 < p.fading < 1.0 else 1.0, p.discount != 0
    everyone, balanced, positive_code, n_columns = p.rule != PATER_I, p.balanced != 0, p.positive, table.shape[0]
    r = start
    while r < stop:
        s, loss = 1.0, -1.0  # of a row that is in its class sum, but has moved nothing yet
        if plain(m, p):
            room = max(1, -((m.work_since_fold - fold_after(table, p)) // n_columns))  # rows to enter before a fold
            left = room
            vectors = take(table, shape)
            t, updates, unit, bias, largest = m.t, m.updates, m.unit, m.bias, m.largest
            alpha, seen = pair(p.alpha_pos, p.alpha_neg), pair(m.seen_pos, m.seen_neg)
            said_pos, said_neg = pair(m.tp, m.fp), pair(m.fn, m.tn)
            squares, cross = pair(m.pp, m.nn), 2.0 * m.pn
            A, n, losses = pair(m.A_pos, -m.A_neg), pair(m.n_pos, -m.n_neg), pair(m.loss_pos, -m.loss_neg)  # signed
            B, bias_steps = pair(m.B_pos, -m.B_neg), m.bias_steps  # signed
            height = LARGEST_PRODUCT / LARGEST_SQUARE + (m.A_pos + m.A_neg) + (m.B_pos + m.B_neg)
            z_bias, settled = 0.0, False  # is z_bias what it will be from now on?
            while r < stop:
                i = order[r] if ordered else r
                along, ux, xx = products(vectors, rows, i, shape)
                positive = codes[np.uint64(i)] == positive_code
                y = 1.0 if positive else -1.0
                toward = along * y
                loss = unit - y * ux - y * bias - (first(A) * first(toward) + second(A) * second(toward))
                loss = 0.0 if loss < 0.0 else loss  # a NaN stays one
                s = 1.0 if weights is None else weights[i]
                if not fma(1.0 + xx, height, loss * (LARGEST_PRODUCT / LARGEST_LOSS)) < LARGEST_PRODUCT or s == 0.0:
                    loss = -1.0
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
                    A_own, B_own = (first(A), first(B)) if positive else (second(A), second(B))
                    s_pos, s_neg = 1.0 if positive else 0.0, 0.0 if positive else 1.0
                    add(vectors, rows, i, -A_own * s, s_pos * s, s_neg * s, -B_own * s, shape)
                    squares = fma(signed, fma(signed, xx, toward + toward), squares)
                    cross = fma(second(along) if positive else first(along), 2.0 * s, cross)
                    largest = max(largest, xx)
                    terms = a * a * squares
                    all_terms = first(terms) + second(terms)
                    zz = fma(first(a) * second(a), cross, all_terms) + z_bias * z_bias
                    left -= 1
                    if not zz > fma(CANCELLED, all_terms, SMALLEST_GAP):
                        break
                    tau = goal * (1.0 / zz)
                    if 0.0 < goal * tau < LONGEST_STEP:
                        updates += 1
                        A = A + a * tau
                        bias += tau * z_bias
                        if averages:
                            B = fma(a, t * tau, B)
                            bias_steps = fma(t * tau, z_bias, bias_steps)
                        height = LARGEST_PRODUCT / LARGEST_SQUARE + (first(A) - second(A)) + (first(B) - second(B))
                    if left == 0:
                        r += 1
                        loss = -1.0
                        break
                r += 1
                loss = -1.0
            put(vectors, table, shape)
            m.t, m.updates, m.bias, m.largest = t, updates, bias, largest
            m.seen_pos, m.seen_neg = first(seen), second(seen)
            m.tp, m.fp, m.fn, m.tn = first(said_pos), second(said_pos), first(said_neg), second(said_neg)
            m.pp, m.nn, m.pn = first(squares), second(squares), 0.5 * cross
            m.A_pos, m.A_neg = first(A), -second(A)
            m.B_pos, m.B_neg, m.bias_steps = first(B), -second(B), bias_steps
            m.n_pos, m.n_neg = first(n), -second(n)
            m.loss_pos, m.loss_neg = first(losses), -second(losses)
            m.entered += room - left
            m.work_since_fold += (room - left) * n_columns
            if left == 0 and loss < 0.0:
                tidy(table, IN_LANES, m, p)
                continue
            if r == stop:
                break
        i = order[r] if ordered else r
        positive = codes[i] == p.positive
        if loss >= 0.0:
            finish(rows, i, table, IN_LANES, m, p, positive, s, loss)
        else:
            margin = any_row(rows, i, table, m, p, positive, 1.0 if weights is None else weights[i])
            if margin != margin:
                return r
            if wanted:
                margins[r] = margin
        r += 1
    return -1
