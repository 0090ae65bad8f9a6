"""Margins by the average of the weights, before a row is learned from.

A pass needs only the margin by the last weights. Where the average predicts, and probabilities are fitted or margins
are wanted, the pass is done a row at a time, with the average's margin in between: one more product with the row.
"""

import math

from .progress import calibrate


def learn_averaged(home, rows, order, codes, weights, margins, scalars, settings, quiet, first, last, start, stop):
    """As `run._learn_rows`, but with the average's margins, both in `margins` and for probabilities.

    `quiet` holds settings without probabilities, which the pass would fit to the last weights' margins, and an empty
    array of margins: a slice of `margins` would be of another type, for which the pass would be compiled again.
    """
    plain, nothing = quiet
    for k in range(first, last):
        m, p = scalars[k], settings[k]
        if not p.average:
            bad = learn(home, rows, order, codes, weights, margins, scalars, settings, k, k + 1, start, stop)  # noqa: F821
            if bad >= 0:
                return bad
            continue
        for r in range(start, stop):
            i = order[r] if order.size > 0 else r
            said, t, exponent = says(rows, i, home.vectors[k], m, True), m.t, m.exponent  # noqa: F821
            usual = m.mean_size if m.mean_size > 0.0 else math.sqrt(m.size_square)
            bad = learn(home, rows, order, codes, weights, nothing, scalars, plain, k, k + 1, r, r + 1)  # noqa: F821
            if bad >= 0:
                return bad
            if margins.size > 0:
                margins[k, r] = said / usual if usual > 0.0 else said
            if p.calibrate and m.t > t:
                s = weights[i] if weights.size > 0 else 1.0
                calibrate(m, math.ldexp(said, exponent - m.exponent), codes[i] == p.positive, s)
    return -1
