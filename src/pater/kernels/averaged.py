"""Margins by the average of the weights, before a row is learned from.

A pass needs only the margin by the last weights. Where the average predicts, and probabilities are fitted or margins
are wanted, the pass is done a row at a time, with the average's margin in between: one more product with the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..compiler.decorators import exact_kernel, filled_in
from .margins import by_diagonal_means, by_full_means, by_means, by_points
from .means import Means
from .points import Points
from .progress import calibrate
from .second_order import DiagonalLeaders, DiagonalPoints, DiagonalSteps, FullLeaders, FullPoints, FullSteps

# By what the average of the weights of each kind of model has its margin.
SAYS: dict[type, Callable[..., float]] = {
    Means: by_means,
    **dict.fromkeys((DiagonalLeaders, DiagonalSteps), by_diagonal_means),
    **dict.fromkeys((FullLeaders, FullSteps), by_full_means),
    **dict.fromkeys((Points, DiagonalPoints, FullPoints), by_points),
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
            said, t, exponent = says(rows, i, home.vectors[k], m, True), m.t, m.exponent  # noqa: F821
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
