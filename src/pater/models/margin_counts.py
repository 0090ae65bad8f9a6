"""The margins of each class before learning, and the threshold that they give for a rate or a cost.

Knows `progress`; it runs beside the passes, on their margins, and only where there is an operating point.

Each model has two histograms, of the samples of −1 and of +1, over the margin in units of its usual size, the root of
its running mean square. Bins are of equal width in z = asinh(4r): fine about 0, and wide enough to end at 370 times the
usual size. One bin is centred on 0 and the others are symmetric about it, so the mirror image of a model has the mirror
image of its histograms, to the bit.

Each class fades by its own samples, so that the rare one keeps some. The memory of a class is the number of its samples
among twenty thousand rows, but at least five hundred and at most ten thousand. Before that the n-th sample weighs in
proportion to n, so that a model's early margins count less than later ones. Instead of fading all bins, a new sample
enters with a gain that grows, and all are divided by a power of two now and then.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np

from ..compiler.decorators import exact_kernel, exact_part
from ..kernels.progress import count_answer

CENTRE = 256
BINS = 2 * CENTRE + 1
WIDTH = 1.0 / 32.0  # of a bin, in z
FINENESS = 4.0
FARTHEST = math.sinh((CENTRE + 0.5) * WIDTH) / FINENESS  # where the last bin ends
MEMORY = 2e4  # samples of all classes, among which those of a class are remembered
LEAST_MEMORY, MOST_MEMORY = 5e2, 1e4  # samples of a class
SIZE_MEMORY = 1e3  # samples, for the size of the margins
LARGEST_MARGIN = 1e150  # its square does not overflow
LARGEST_GAIN = 2.0**40
STALE = 256.0  # samples after which the threshold for counting predictions is read again; at first sooner

MAX_FPR, MAX_FNR, COST = range(3)

NUMBERS = np.dtype(
    [
        ("t", "f8"),  # samples
        ("square", "f8"),  # running mean square of the margins
        ("n_neg", "f8"),  # samples of each class
        ("n_pos", "f8"),
        ("gain_neg", "f8"),  # the weight of the last sample of a class in its histogram
        ("gain_pos", "f8"),
        ("share_neg", "f8"),  # importance of the samples of each class, faded together
        ("share_pos", "f8"),
        ("threshold", "f8"),  # in units of the usual size: by which predictions are counted
        ("due", "f8"),  # at which sample it is read again
        ("tp", "f8"),  # importance of samples by what was predicted, once both classes were seen
        ("fp", "f8"),
        ("tn", "f8"),
        ("fn", "f8"),
    ]
)


@exact_part
def _bin_of(r):
    place = int(min(float(CENTRE), math.asinh(FINENESS * abs(r)) / WIDTH + 0.5))
    return CENTRE + place if r >= 0.0 else CENTRE - place


@exact_part
def _relative(z):
    return math.sinh(z) / FINENESS


@exact_part
def _from_above(counts, share):
    """The smallest threshold that leaves at most this share at or above it, in units of the usual size."""
    left = share * counts.sum()
    for k in range(BINS - 1, -1, -1):
        if counts[k] > left:
            return _relative((k - CENTRE + 0.5 - left / counts[k]) * WIDTH)
        left -= counts[k]
    return -FARTHEST


@exact_part
def _of_least_cost(counts, of_negative, of_positive):
    """The threshold between two bins with the lowest cost; in a tie, the one nearest to 0."""
    total_neg, total_pos = counts[0].sum(), counts[1].sum()
    above, below = total_neg, 0.0
    best, least = 0, of_negative
    for k in range(1, BINS + 1):
        above -= counts[0, k - 1]
        below += counts[1, k - 1]
        cost = of_negative * above / total_neg + of_positive * below / total_pos
        if cost < least or (cost == least and abs(2 * k - BINS) < abs(2 * best - BINS)):
            best, least = k, cost
    return _relative((best - CENTRE - 0.5) * WIDTH)


@exact_kernel
def threshold_for(counts, m, kind, a, b):
    """The threshold for an operating point, in units of the usual size; 0 until both classes have been seen.

    `a` is the maximum rate, or the cost of a false positive, and `b` that of a false negative.
    """
    if not (counts[0].sum() > 0.0 and counts[1].sum() > 0.0):
        return 0.0
    if kind == MAX_FPR:
        return _from_above(counts[0], a)
    if kind == MAX_FNR:
        return -_from_above(counts[1, ::-1], a)
    total = m.share_neg + m.share_pos
    return _of_least_cost(counts, a * (m.share_neg / total), b * (m.share_pos / total))


@exact_part
def _enter(counts, m, r, positive, s):
    """Count a sample in the histogram of its class, with more weight than the one before."""
    fade = 1.0 - 1.0 / MEMORY
    m.share_pos = fade * m.share_pos + (s if positive else 0.0)
    m.share_neg = fade * m.share_neg + (0.0 if positive else s)
    own = counts[1 if positive else 0]
    n, gain = (m.n_pos, m.gain_pos) if positive else (m.n_neg, m.gain_neg)
    share = (m.share_pos if positive else m.share_neg) / (m.share_pos + m.share_neg)
    memory = min(MOST_MEMORY, max(LEAST_MEMORY, MEMORY * share))
    gain *= 1.0 + max(1.0 / (n + 1.0), 1.0 / memory)
    if gain > LARGEST_GAIN:
        own *= 1.0 / LARGEST_GAIN
        gain *= 1.0 / LARGEST_GAIN
    if m.square > 0.0:  # else every margin so far was 0
        own[_bin_of(r)] += s * gain
    if positive:
        m.n_pos, m.gain_pos = n + 1.0, gain
    else:
        m.n_neg, m.gain_neg = n + 1.0, gain


@exact_kernel
def note_margins(margins, order, codes, weights, settings, counts, numbers, point):
    """Count the margins of rows, (models, steps), from before they were learned from."""
    kind, a, b = point
    for k in range(margins.shape[0]):
        m, p, seen = numbers[k], settings[k], counts[k]
        for step in range(margins.shape[1]):
            i = order[step] if order.size > 0 else step
            s = weights[i] if weights.size > 0 else 1.0
            if s == 0.0:
                continue
            positive = codes[i] == p.positive
            margin = min(LARGEST_MARGIN, max(-LARGEST_MARGIN, margins[k, step]))
            r = margin / math.sqrt(m.square) if m.square > 0.0 else 0.0
            m.t += 1.0
            if p.watch and m.n_neg > 0.0 and m.n_pos > 0.0:
                count_answer(m, p, r >= m.threshold, positive, s)
            _enter(seen, m, r, positive, s)
            m.square += (margin * margin - m.square) / min(m.t, SIZE_MEMORY)
            if m.t >= m.due and m.n_neg > 0.0 and m.n_pos > 0.0:
                m.threshold = threshold_for(seen, m, kind, a, b)
                m.due = m.t + max(1.0, min(STALE, m.t // 64.0))
