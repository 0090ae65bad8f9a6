"""Progressive validation: what a model predicts for a sample just before it learns from it.

The passes call `note` for each row, or do the same in their own loop. The counts of right and wrong answers are an
honest estimate of the model on the stream so far. Probabilities are fitted to the margins from before learning: p =
σ(slope·r + offset), with r the margin over its running size, shrunk by t/(t + 10) after t samples, by Newton steps on
the logistic loss with a memory of some ten thousand samples. Their Brier score and log loss are summed, too.

The counts may fade, to follow drift, and may discount a model's clumsy beginnings: the t-th sample counts t/T at time
T.
"""

import math

from ..compiler.decorators import exact_part, inlined, merged_part

CALIBRATION_MEMORY = 1e4  # samples
FIRST_MEMORY = 20.0  # samples, plus a quarter of the stream, as both margins and the curve are far off at its beginning
SIZE_MEMORY = 1000.0  # samples: the margins of PATER-II may grow fast
LARGEST_MARGIN = 1e150  # its square does not overflow
FEW = 10.0  # samples after which half of a margin is believed: it and its usual size were learned from the same few
LONGEST_TURN = 4.0  # by which a sample may change the log-odds of its own label
LARGEST_EXPONENT = 700.0
FARTHEST = 10.0  # times the usual size: a larger margin counts as this one


@exact_part
def relative_margin(m, margin, t):
    """The margin in units of its usual size, as far as it is believed after t samples."""
    if m.margin_square <= 0.0:
        return 0.0
    return t / (t + FEW) * min(FARTHEST, max(-FARTHEST, margin / math.sqrt(m.margin_square)))


@exact_part
def probability(m, margin):
    """The probability of +1, which is never 0: of several classes, the sum is divided by."""
    log_odds = m.slope * relative_margin(m, margin, float(m.t)) + m.offset
    return 1.0 / (1.0 + math.exp(min(LARGEST_EXPONENT, -log_odds)))


@exact_part
def calibrate(m, margin, positive, s):
    """Add up the errors of the probability from before the label was known, then fit the curve to the sample."""
    margin = min(LARGEST_MARGIN, max(-LARGEST_MARGIN, margin))
    r = relative_margin(m, margin, m.t - 1.0)
    p = 1.0 / (1.0 + math.exp(-(m.slope * r + m.offset)))
    signed = m.slope * r + m.offset if positive else -(m.slope * r + m.offset)
    wrong = 1.0 / (1.0 + math.exp(signed))
    m.told += s
    m.brier += s * wrong * wrong
    m.log_loss += s * (max(0.0, -signed) + math.log1p(math.exp(-abs(signed))))
    m.usual_weight = s if m.usual_weight == 0.0 else m.usual_weight + (s - m.usual_weight) * share_of_one(float(m.t))
    relative = s / m.usual_weight  # so that the curve does not depend on the unit of the weights
    error = relative * (p - (1.0 if positive else 0.0))
    v = relative * p * (1.0 - p)
    kept = 1.0 - 1.0 / min(CALIBRATION_MEMORY, FIRST_MEMORY + 0.25 * m.t)
    m.slope_slope = kept * m.slope_slope + v * r * r
    m.slope_offset = kept * m.slope_offset + v * r
    m.offset_offset = kept * m.offset_offset + v
    # A prior of one holds the first steps back.
    ss, so, oo = 1.0 + m.slope_slope, m.slope_offset, 1.0 + m.offset_offset
    determinant = ss * oo - so * so
    if determinant > 0.0:  # weights some 1e16 apart may leave nothing of it
        slope, offset = error * (oo * r - so) / determinant, error * (ss - so * r) / determinant
        # Where p is near 0 or 1 the loss is nearly straight, and a Newton step for a heavy sample would go far too far.
        shorter = LONGEST_TURN / max(LONGEST_TURN, abs(slope * r + offset))
        m.slope -= shorter * slope
        m.offset -= shorter * offset
    m.margin_square += (margin * margin - m.margin_square) / min(float(m.t), SIZE_MEMORY)


@merged_part
def count_answer(m, p, says, positive, s):
    """Count a right or a wrong answer, after fading those before it where the settings ask for that."""
    fade = p.fading if 0.0 < p.fading < 1.0 else 1.0
    if p.discount:
        fade *= (m.t - 1.0) / m.t
    m.tp *= fade
    m.fp *= fade
    m.tn *= fade
    m.fn *= fade
    if says:
        if positive:
            m.tp += s
        else:
            m.fp += s
    elif positive:
        m.fn += s
    else:
        m.tn += s


@inlined
def share_of_one(samples):
    """The share of one more sample in a mean over about the last thousand."""
    return 1.0 / min(samples, SIZE_MEMORY)


@inlined
def next_size(size_square, margin, share):
    """The mean square of the margins after one more, which gets this share."""
    square = margin * margin
    return square if size_square == 0.0 else size_square + (square - size_square) * share


@inlined
def next_mean_size(mean_size, size_square, t):
    """The mean of √size_square over t samples, the last included; samples before the first call count as that one."""
    size = math.sqrt(size_square)
    return size if mean_size == 0.0 else mean_size + (size - mean_size) / t


@inlined
def in_unit(size_square, margin):
    """A margin as reported: where only directions matter, in units of the usual size of the margins."""
    return margin / math.sqrt(size_square) if size_square > 0.0 else margin


@merged_part
def note(m, p, margin, positive, s, g):
    """Count a sample of importance s, or s·g in units of the past, and the prediction made for it."""
    m.t += 1
    if positive:
        m.seen_pos += s * g
    else:
        m.seen_neg += s * g
    if p.watch:
        count_answer(m, p, margin >= 0.0, positive, s)
    if p.sized:
        bounded = min(LARGEST_MARGIN, max(-LARGEST_MARGIN, margin))
        m.size_square = next_size(m.size_square, bounded, share_of_one(float(m.t)))
        if p.average:
            m.mean_size = next_mean_size(m.mean_size, m.size_square, float(m.t))
    if p.calibrate:
        calibrate(m, margin, positive, s)
