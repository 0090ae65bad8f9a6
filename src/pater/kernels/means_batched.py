"""The lazy pass for many models at once, in the lanes of vector registers.

The models of a search read the same rows and differ only in their settings. Side by side in memory they share the
index, the value and the cache lines of every non-zero, and eight are worked on at a time. Each operation is that of the
lazy pass, in the same order, so every model ends with the same bits as if it had learned alone. What is seldom needed
is done by the lazy pass's own functions, for one model at a time.

Where the lazy pass branches, weights are multiplied by 0 or 1 here: in lanes that a row does not concern, that adds 0
and changes no bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiler.decorators import allocating, exact_part, inlined
from .batched_layout import LINE, SHARED_CELL, place
from .class_means import TOO_LARGE, bias_gap
from .double_double import count_products
from .lazy_form import (
    CANCELLED,
    LOST,
    SMALLEST_GAP,
    finish,
    fold,
    fold_after,
    hinge_of,
    permitted_strain,
    renew_products,
    tidy,
    too_large,
)
from .memory import LONGEST_STEP, S_NEG, S_POS, SCALARS
from .progress import LARGEST_MARGIN, in_unit, next_size, share_of_one
from .rows import reach, size
from .rules import LARGEST_ROW
from .simd import add_to_lines, fma, products_of_three_lines, products_of_two_lines
from .steps import loss_to_take, passive

_FIELDS = list(SCALARS.names or ())
A_POS, A_NEG, BIAS = (_FIELDS.index(name) for name in ("A_pos", "A_neg", "bias"))
N_POS, N_NEG, SEEN_POS, SEEN_NEG = (_FIELDS.index(name) for name in ("n_pos", "n_neg", "seen_pos", "seen_neg"))
LOSS_POS, LOSS_NEG = (_FIELDS.index(name) for name in ("loss_pos", "loss_neg"))
UNIT, SIZE = (_FIELDS.index(name) for name in ("unit", "size_square"))
PP, NN, PN, PP_PEAK, NN_PEAK = (_FIELDS.index(name) for name in ("pp", "nn", "pn", "pp_peak", "nn_peak"))
TP, FP, TN, FN = (_FIELDS.index(name) for name in ("tp", "fp", "tn", "fn"))
# Beside the fields, in the same array (one base address, so that the compiler sees that nothing overlaps):
_N = len(_FIELDS)
DOT_U, DOT_POS, DOT_NEG, ADD_U, ADD_POS, ADD_NEG = range(_N, _N + 6)
ALPHA_POS, ALPHA_NEG, RULE, EVERYONE, WATCHED, FADING, DISCOUNT = range(_N + 6, _N + 13)
LOSS, ENTERS, CAREFUL, TROUBLED, WORK, UPDATES, SAMPLES, ENTERED, REACHED, MARGIN, SIZED = range(_N + 13, _N + 24)
_ROWS = _N + 24
FOLD, COUNT, FINISH = range(3)  # what is done for one model at a time
FULL = 2.0  # troubled only by scales or a fold that is due


class HerdsOfMeans(NamedTuple):
    """Models of mean rules in herds, in the order of `spans_of`; `values` is their scalars as a matrix of doubles."""

    vectors: Any
    values: Any
    spans: Any


# Field by field: Numba takes seconds to compile a slice, with its errors.


@exact_part
def _take(values, model, z, k, m):
    """Copy the scalars of a model into its lane, integers as doubles."""
    for field in range(_N):
        z[field, k] = values[model, field]
    z[WORK, k], z[CAREFUL, k], z[REACHED, k] = float(m.work_since_fold), float(m.careful), float(m.width)
    z[SAMPLES, k], z[ENTERED, k], z[UPDATES, k] = float(m.t), float(m.entered), float(m.updates)


@exact_part
def _give(values, model, z, k, m):
    """Copy them back."""
    for field in range(_N):
        values[model, field] = z[field, k]
    m.work_since_fold, m.width = int(z[WORK, k]), int(z[REACHED, k])
    m.t, m.entered, m.updates = int(z[SAMPLES, k]), int(z[ENTERED, k]), int(z[UPDATES, k])


@exact_part
def _one_by_one(what, rows, i, table, shares, values, scalars, settings, z, positive, s):
    """Do what is seldom needed for each troubled model, by the lazy pass's own functions."""
    for model in range(scalars.size):
        at = place(model, shares)
        k, m = at[0], scalars[model]
        if z[TROUBLED, k] == 0.0:
            continue
        _give(values, model, z, k, m)
        if what == FOLD:
            fold(table, at, m, False)
        elif what == COUNT:
            count_products(rows, i, table, at, positive, -1.0, m)
            m.careful_work += size(rows, i)
        else:
            if z[TROUBLED, k] != FULL:
                finish(rows, i, table, at, m, settings[model], positive, s, z[LOSS, k])
            tidy(table, at, m)
        _take(values, model, z, k, m)


@inlined
def multiply(rows, i, table, z, lines, shares):
    """Write the products of the row with U, S⁺ and S⁻ of every model to z; return ‖x‖²."""
    if not shares:
        xx = products_of_three_lines(rows, i, table, lines)
        for line in range(3):
            for k in range(LINE):
                z[DOT_U + line, k] = lines[line, k]
        return xx
    xx = products_of_two_lines(rows, i, table, z[DOT_U:])
    px, nx = z[DOT_U, S_POS], z[DOT_U, S_NEG]
    for k in range(2 * LINE):
        z[DOT_POS, k] = px
        z[DOT_NEG, k] = nx
    z[DOT_U, S_POS] = z[DOT_U, S_NEG] = 0.0
    return xx


@inlined
def judge(z, width, xx, s, sign):
    """Find every model's margin and loss; return how many models are `lazy_form.strained` and must be folded first."""
    n_strained = 0
    for k in range(width):
        A_pos, A_neg, px, nx = z[A_POS, k], z[A_NEG, k], z[DOT_POS, k], z[DOT_NEG, k]
        lazy = A_pos * px - A_neg * nx
        slack = fma(-sign, z[BIAS, k], fma(-sign, z[DOT_U, k], z[UNIT, k])) - sign * lazy
        losses = z[LOSS_POS, k] + z[LOSS_NEG, k] if z[EVERYONE, k] > 0.0 else 0.0
        n, limit = z[N_POS, k] + z[N_NEG, k], permitted_strain(z[WORK, k], z[REACHED, k])
        A_own = A_pos if sign > 0.0 else A_neg
        enters = (slack > 0.0) | (z[EVERYONE, k] > 0.0)
        lost = (not abs(slack) < LOST) & (A_pos + A_neg > 0.0)
        strained = lost | (enters & too_large(A_own, s * xx, n, z[UNIT, k], losses, limit))
        z[MARGIN, k], z[LOSS, k] = (z[DOT_U, k] + z[BIAS, k]) + lazy, hinge_of(slack)
        z[TROUBLED, k] = 1.0 if strained else 0.0
        n_strained += 1 if strained else 0
    return n_strained


@exact_part
@allocating
def _one_herd(rows, order, codes, weights, margins, table, shares, values, scalars, settings, start, stop):
    """Pass rows start..stop through the models of a herd; return the position of the first bad row, or −1.

    `values` is `scalars` seen as a matrix of doubles, (models, fields). A lane without a model never has a loss.
    """
    z, lines = np.zeros((_ROWS, 2 * LINE)), np.zeros((3, LINE))
    width, n_models = 2 * LINE if shares else LINE, scalars.size
    for model in range(n_models):
        m, p = scalars[model], settings[model]
        at = place(model, shares)
        k = at[0]
        if not m.products_known:
            renew_products(table, at, m, False)
        z[ALPHA_POS, k], z[ALPHA_NEG, k] = p.alpha_pos, p.alpha_neg
        z[RULE, k], z[EVERYONE, k] = float(p.rule), 0.0 if passive(p.rule) else 1.0
        z[WATCHED, k], z[SIZED, k] = 1.0 if p.watch else 0.0, 1.0 if p.sized else 0.0
        z[FADING, k] = p.fading if p.watch and 0.0 < p.fading < 1.0 else 1.0
        z[DISCOUNT, k] = 1.0 if p.watch and p.discount else 0.0
        _take(values, model, z, k, m)
    counts_bias = 1.0 if settings[0].intercept else 0.0
    bad = -1
    for r in range(start, stop):
        i = order[r] if order.size > 0 else r
        xx = multiply(rows, i, table, z, lines, shares)
        if not xx <= LARGEST_ROW:
            bad = r
            break
        s = weights[i] if weights.size > 0 else 1.0
        positive = codes[i] == settings[0].positive
        sign = 1.0 if positive else -1.0
        if judge(z, width, xx, s, sign) > 0:
            _one_by_one(FOLD, rows, i, table, shares, values, scalars, settings, z, positive, s)
            xx = multiply(rows, i, table, z, lines, shares)
            judge(z, width, xx, s, sign)
        if margins.size > 0:
            for model in range(n_models):
                k = place(model, shares)[0]
                margins[model, r] = in_unit(z[SIZE, k], z[MARGIN, k])
        if s == 0.0:
            continue
        s_pos = s if positive else 0.0
        s_neg = s - s_pos
        reached = float(reach(rows, i))
        n_enter = 0
        for k in range(width):
            margin = z[MARGIN, k]
            z[REACHED, k] = max(z[REACHED, k], reached)
            z[SEEN_POS, k] += s_pos
            z[SEEN_NEG, k] += s_neg
            says_pos = z[WATCHED, k] if margin >= 0.0 else 0.0
            says_neg = z[WATCHED, k] - says_pos
            samples = z[SAMPLES, k] + 1.0
            z[SAMPLES, k] = samples
            bounded = min(LARGEST_MARGIN, max(-LARGEST_MARGIN, margin))
            next_one = next_size(z[SIZE, k], bounded, share_of_one(samples))
            z[SIZE, k] = next_one if z[SIZED, k] > 0.0 else z[SIZE, k]
            fade = z[FADING, k] * ((samples - 1.0) / samples if z[DISCOUNT, k] > 0.0 else 1.0)
            z[TP, k] = fade * z[TP, k] + s_pos * says_pos
            z[FP, k] = fade * z[FP, k] + s_neg * says_pos
            z[TN, k] = fade * z[TN, k] + s_neg * says_neg
            z[FN, k] = fade * z[FN, k] + s_pos * says_neg
            z[ENTERS, k] = 1.0 if z[LOSS, k] > 0.0 else z[EVERYONE, k]
            n_enter += 1 if z[ENTERS, k] > 0.0 else 0
        if n_enter == 0:
            continue

        n_careful, n_seldom = 0, 0
        for k in range(width):
            z[TROUBLED, k] = z[ENTERS, k] * z[CAREFUL, k]
            n_careful += 1 if z[TROUBLED, k] > 0.0 else 0
        if n_careful > 0:
            _one_by_one(COUNT, rows, i, table, shares, values, scalars, settings, z, positive, s)
        here = float(size(rows, i))
        for k in range(width):
            e = z[ENTERS, k]
            plain = e * (1.0 - z[CAREFUL, k])
            px, nx, loss = z[DOT_POS, k], z[DOT_NEG, k], z[LOSS, k]
            z[ADD_U, k] = e * (z[A_NEG, k] * s_neg - z[A_POS, k] * s_pos)
            z[ADD_POS, k] = e * s_pos
            z[ADD_NEG, k] = e * s_neg
            z[PP, k] = fma(plain * s_pos, fma(s_pos, xx, 2.0 * px), z[PP, k])
            z[NN, k] = fma(plain * s_neg, fma(s_neg, xx, 2.0 * nx), z[NN, k])
            z[PN, k] += plain * (s_pos * nx + s_neg * px)
            n_pos = z[N_POS, k] + e * s_pos
            n_neg = z[N_NEG, k] + e * s_neg
            z[N_POS, k], z[N_NEG, k] = n_pos, n_neg
            z[WORK, k] += e * here
            z[ENTERED, k] += e
            a_pos = z[ALPHA_POS, k] / n_pos if n_pos > 0.0 else 0.0
            a_neg = z[ALPHA_NEG, k] / n_neg if n_neg > 0.0 else 0.0
            z_bias = counts_bias * bias_gap(z[ALPHA_POS, k], z[ALPHA_NEG, k], n_pos, n_neg)
            pp_peak, nn_peak = max(z[PP_PEAK, k], z[PP, k]), max(z[NN_PEAK, k], z[NN, k])
            z[PP_PEAK, k] = pp_peak if plain > 0.0 else z[PP_PEAK, k]
            z[NN_PEAK, k] = nn_peak if plain > 0.0 else z[NN_PEAK, k]
            terms = a_pos * a_pos * pp_peak + a_neg * a_neg * nn_peak
            squares = a_pos * a_pos * z[PP, k] + a_neg * a_neg * z[NN, k]
            zz = fma(-2.0 * a_pos * a_neg, z[PN, k], squares) + z_bias * z_bias
            sound = 1.0 if zz > fma(CANCELLED, terms, SMALLEST_GAP) else 0.0
            troubled = e * (1.0 - sound * (1.0 - z[CAREFUL, k]))
            moves = e - troubled
            so_far = a_pos * z[LOSS_POS, k] + a_neg * z[LOSS_NEG, k]
            loss_pos, loss_neg = z[LOSS_POS, k], z[LOSS_NEG, k]
            loss_pos, loss_neg = fma(moves * s_pos, loss, loss_pos), fma(moves * s_neg, loss, loss_neg)
            z[LOSS_POS, k], z[LOSS_NEG, k] = loss_pos, loss_neg
            share = s_pos * a_pos + s_neg * a_neg
            goal = loss_to_take(z[RULE, k], share * loss, fma(share, loss, so_far))
            inverse = 1.0 / zz
            steps = 1.0 if (moves > 0.0) & (goal > 0.0) & (goal * (goal * inverse) < LONGEST_STEP) else 0.0
            goal, inverse = steps * goal, inverse if steps > 0.0 else 0.0
            z[A_POS, k] += (a_pos * inverse) * goal
            z[A_NEG, k] += (a_neg * inverse) * goal
            z[BIAS, k] += (z_bias * inverse) * goal
            z[UPDATES, k] += steps
            full = (loss_pos + loss_neg > TOO_LARGE) | (z[WORK, k] >= fold_after(z[REACHED, k]))
            z[TROUBLED, k] = troubled if troubled > 0.0 else FULL if full else 0.0
            n_seldom += 1 if z[TROUBLED, k] > 0.0 else 0
        if shares:
            z[ADD_U, S_POS], z[ADD_U, S_NEG] = s_pos, s_neg
            add_to_lines(rows, i, table, z[ADD_U:], 1)
        else:
            for line in range(3):
                for k in range(LINE):
                    lines[line, k] = z[ADD_U + line, k]
            add_to_lines(rows, i, table, lines, 1 if positive else 2)
        if n_seldom > 0:
            _one_by_one(FINISH, rows, i, table, shares, values, scalars, settings, z, positive, s)
    for model in range(n_models):
        _give(values, model, z, place(model, shares)[0], scalars[model])
    return bad


@inlined
def herd_pass(home, k, rows, order, codes, weights, margins, scalars, settings, start, stop):
    """Pass rows start..stop through herd k; return the position of the first bad row, or −1."""
    first, last, shares = home.spans[k]
    table, values, out = home.vectors[k], home.values[first:last], margins[first:last]
    m, p = scalars[first:last], settings[first:last]
    if shares:
        table = table.reshape(-1)[: table.shape[0] * SHARED_CELL].reshape((-1, SHARED_CELL))
    return _one_herd(rows, order, codes, weights, out, table, shares != 0, values, m, p, start, stop)
