"""Margins by the average of the weights, before a row is learned from.

A pass needs only the margin by the last weights. Where the average predicts, and probabilities are fitted or margins
are wanted, the pass is done a row at a time, with the average's margin in between: one more product with the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..compiler.decorators import exact_kernel, exact_part, filled_in, inlined
from .means import Means
from .memory import P_NEG, P_POS, POINT_U, POINT_V, S_NEG, S_POS, Q, U, V
from .points import Points
from .progress import calibrate
from .rows import entry, size, table_of
from .second_order import DiagonalLeaders, DiagonalPoints, DiagonalSteps, FullLeaders, FullPoints, FullSteps


@exact_part
def _of_means(table, pos, neg, rows, i, m):
    """The margin by vectors (features, kinds), with the lazy part along columns `pos` and `neg`."""
    margin, steps = m.bias, m.bias_steps
    for place in range(size(rows, i)):
        j, x = entry(rows, i, place)
        margin += (table[j, U] + (m.A_pos * table[j, pos] - m.A_neg * table[j, neg])) * x
        steps += (table[j, V] + (m.B_pos * table[j, pos] - m.B_neg * table[j, neg])) * x
    return margin + (margin - steps) / max(m.t, 1)


@inlined
def _means_say(home, k, rows, i, m):
    return _of_means(table_of(rows, home.vectors[k])[0], S_POS, S_NEG, rows, i, m)


@inlined
def _full_means_say(home, k, rows, i, m):
    return _of_means(home.vectors[k].T, P_POS, P_NEG, rows, i, m)


@inlined
def _diagonal_means_say(home, k, rows, i, m):
    table = home.vectors[k]
    margin, steps = m.bias, m.bias_steps
    for place in range(size(rows, i)):
        j, x = entry(rows, i, place)
        Sx = x / (1.0 + table[j, Q])
        margin += table[j, U] * x + (m.A_pos * table[j, S_POS] - m.A_neg * table[j, S_NEG]) * Sx
        steps += table[j, V] * x + (m.B_pos * table[j, S_POS] - m.B_neg * table[j, S_NEG]) * Sx
    return margin + (margin - steps) / max(m.t, 1)


@inlined
def _points_say(home, k, rows, i, m):
    vectors = home.vectors[k]
    margin, steps = m.bias, m.bias_steps
    for place in range(size(rows, i)):
        j, x = entry(rows, i, place)
        margin += vectors[POINT_U, j] * x
        steps += vectors[POINT_V, j] * x
    extra = m.scales - m.t if m.scales > 0.0 else 1.0
    return margin + (extra * margin - steps) / max(m.t, 1)


# The margin of row i by the average of the weights of model k.
SAYS: dict[type, Callable[..., float]] = {
    Means: _means_say,
    **dict.fromkeys((DiagonalLeaders, DiagonalSteps), _diagonal_means_say),
    **dict.fromkeys((FullLeaders, FullSteps), _full_means_say),
    **dict.fromkeys((Points, DiagonalPoints, FullPoints), _points_say),
}


def row_by_row(name: str, learn: Callable[..., int], says: Callable[..., float]) -> Callable[..., int]:
    """Compile `_learn_averaged` around a compiled pass."""
    return exact_kernel(filled_in(_learn_averaged, name, learn=learn, says=says))


def _learn_averaged(
    home, rows, order, codes, weights, margins, scalars, settings, blocks, noted, quiet, first, last, start, stop
):
    """As `run._learn_rows`, but with the average's margins, both in `margins` and for probabilities.

    `quiet` holds settings without probabilities, which the pass would fit to the last weights' margins, and an empty
    array of margins: a slice of `margins` would be of another type, for which the pass would be compiled again.
    """
    plain, nothing = quiet
    for k in range(first, last):
        m, p, there = scalars[k], settings[k], (blocks, noted, k, k + 1)
        if not p.average:
            bad = learn(home, rows, order, codes, weights, margins, scalars, settings, *there, start, stop)  # noqa: F821
            if bad >= 0:
                return bad
            continue
        for r in range(start, stop):
            i = order[r] if order.size > 0 else r
            said, t, exponent = says(home, k, rows, i, m), m.t, m.exponent  # noqa: F821
            usual = m.mean_size if m.mean_size > 0.0 else math.sqrt(m.size_square)
            bad = learn(home, rows, order, codes, weights, nothing, scalars, plain, *there, r, r + 1)  # noqa: F821
            if bad >= 0:
                return bad
            if margins.size > 0:
                margins[k, r] = said / usual if usual > 0.0 else said
            if p.calibrate and m.t > t:
                s = weights[i] if weights.size > 0 else 1.0
                calibrate(m, math.ldexp(said, exponent - m.exponent), codes[i] == p.positive, s)
    return -1
