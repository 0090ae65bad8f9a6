"""The pseudo-code read in other ways than the one that gives the paper's numbers, to show what each reading costs.

Knows Numba; knows nothing of the study. The package's own passes run the one reading that matches (clipped; PATER-I
passive, PATER-II not); this plain loop, O(d) per row, runs all of them.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pater.compiler.decorators import allocating, kernel


class Reading(NamedTuple):
    """A way to read the pseudo-code of (w)PATER."""

    clipped: bool  # whether a negative loss becomes 0
    passive: bool  # whether a sample without loss also leaves counts and means unchanged


READINGS = {
    "as printed": Reading(clipped=False, passive=False),
    "clipped": Reading(clipped=True, passive=False),
    "clipped and passive": Reading(clipped=True, passive=True),
}

NO_INTERCEPT = "no intercept"
"""The reading that matches, without the constant feature 1; the package's own passes run it."""


@kernel
@allocating
def learn_by(clipped, passive, accumulate, alpha_neg, alpha_pos, X, codes):
    """The weights and the intercept after one pass over the rows; `accumulate` makes it PATER-II."""
    n, d = X.shape
    w, z = np.zeros(d), np.zeros(d)
    means = np.zeros((2, d))
    bias = 0.0
    counts, k = np.zeros(2), np.zeros(2)
    for i in range(n):
        x, c = X[i], codes[i]
        f = bias
        for j in range(d):
            f += w[j] * x[j]
        loss = 1.0 - f if c == 1 else 1.0 + f
        if clipped:
            loss = max(0.0, loss)
            if passive and loss == 0.0:
                continue
        counts[c] += 1.0
        share = 1.0 / counts[c]
        k[c] += share * (loss - k[c])
        own, other = means[c], means[1 - c]
        a_own, a_other = (alpha_pos, -alpha_neg) if c == 1 else (-alpha_neg, alpha_pos)
        z_bias = a_own + (a_other if counts[1 - c] > 0.0 else 0.0)  # the constant feature 1 has the mean 1
        zz = z_bias * z_bias
        for j in range(d):
            own[j] += share * (x[j] - own[j])
            z[j] = a_own * own[j] + a_other * other[j]
            zz += z[j] * z[j]
        if zz > 0.0:
            term = alpha_neg * k[0] + alpha_pos * k[1] if accumulate else abs(a_own) * share * loss
            step = term / zz
            bias += step * z_bias
            for j in range(d):
                w[j] += step * z[j]
    return w, bias
