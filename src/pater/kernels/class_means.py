"""Arithmetic on the class means that the passes of the mean rules share."""

import math

from ..compiler.decorators import inlined, part, part_of_callers
from .memory import LONGEST_STEP, LONGEST_TAU, RESCALE_BITS

ROUNDING = 2.0**-52
RESCALE = 2.0**-RESCALE_BITS
TOO_LARGE = 2.0**400  # its square does not overflow, and that of the rescaled number does not vanish
TOO_LARGE_GAIN = 2.0**40


@part_of_callers
def balanced_alpha(seen_pos, seen_neg):
    """α^c = n/(2·n^c) of the samples seen so far; 1 for a class not seen yet."""
    half = 0.5 * (seen_pos + seen_neg)
    return (half / seen_pos if seen_pos > 0.0 else 1.0), (half / seen_neg if seen_neg > 0.0 else 1.0)


@part_of_callers
def rates(m, p):
    """The gain of a sample of each class in Σ⁻¹: v/r, with v^c = α^c·n/((α⁺ + α⁻)·n^c) of the samples seen so far.

    Both classes then weigh in Σ⁻¹ as they do in the total error rate, however rare one is; v is 1 on average. Until
    both have been seen, α⁺ = α⁻ = 1.
    """
    alpha_pos, alpha_neg = p.alpha_pos, p.alpha_neg
    pos, neg = balanced_alpha(m.seen_pos, m.seen_neg)
    if m.seen_pos == 0.0 or m.seen_neg == 0.0:
        alpha_pos = alpha_neg = 1.0
    half = 0.5 * (alpha_pos + alpha_neg) * p.r
    return pos * (alpha_pos / half), neg * (alpha_neg / half)


@inlined
def bias_gap(alpha_pos, alpha_neg, n_pos, n_neg):
    """The intercept's part of z: the mean of its constant 1 is 1 in a class that has samples."""
    return (alpha_pos if n_pos > 0.0 else 0.0) - (alpha_neg if n_neg > 0.0 else 0.0)


@inlined
def parts_of_gap(m, p):
    """The factors of S⁺ and S⁻ in z, α±/n±, and the intercept's part of z."""
    a_pos = p.alpha_pos / m.n_pos if m.n_pos > 0.0 else 0.0
    a_neg = p.alpha_neg / m.n_neg if m.n_neg > 0.0 else 0.0
    return a_pos, a_neg, bias_gap(p.alpha_pos, p.alpha_neg, m.n_pos, m.n_neg) if p.intercept else 0.0


@inlined
def bounded(tau, zz):
    """τ, or 0 for a step too long for any sane scale of the data."""
    return tau if tau < LONGEST_TAU and tau * zz * tau < LONGEST_STEP else 0.0


@inlined
def zero_gap(entered):
    """The share of its terms below which ‖z‖² is zero to working precision, with `entered` rows in the class sums.

    A sum of n numbers may be off by n rounding errors, all in one direction when the numbers are equal.
    """
    share = (8.0 + entered) * ROUNDING
    return share * share


@part
def shrink_vector(vector):
    """Divide a vector in units of a weight by 2^600."""
    for j in range(vector.size):
        vector[j] *= RESCALE


@part
def shrink(m):
    """Divide all scalars that are in units of a weight or a margin by 2^600."""
    m.bias *= RESCALE
    m.bias_steps *= RESCALE
    m.A_pos *= RESCALE
    m.A_neg *= RESCALE
    m.B_pos *= RESCALE
    m.B_neg *= RESCALE
    m.loss_pos *= RESCALE
    m.loss_neg *= RESCALE
    m.margin_square *= RESCALE
    m.margin_square *= RESCALE
    m.size_square *= RESCALE
    m.size_square *= RESCALE
    m.mean_size *= RESCALE
    m.exponent += RESCALE_BITS
    m.unit *= RESCALE


@inlined
def shrink_when_large(m, u, v):
    """Do that for a model and its vectors, where losses are about to grow too large."""
    if m.loss_pos + m.loss_neg > TOO_LARGE:
        shrink(m)
        shrink_vector(u)
        shrink_vector(v)


@inlined
def enter(m, s_pos, s_neg, loss):
    """Count a row that enters its class sum, with its weight there and 0 for the other class."""
    m.n_pos += s_pos
    m.n_neg += s_neg
    m.loss_pos += s_pos * loss
    m.loss_neg += s_neg * loss
    m.entered += 1


@inlined
def lead(m, A_pos, A_neg, bias):
    """Replace the weights of a leader, which are all lazy; Σ t·δₜ follows."""
    m.B_pos += m.t * (A_pos - m.A_pos)
    m.B_neg += m.t * (A_neg - m.A_neg)
    m.bias_steps += m.t * (bias - m.bias)
    m.A_pos, m.A_neg, m.bias = A_pos, A_neg, bias


@inlined
def set_aside(m):
    """Set a leader's lazy weights to 0 until it leads anew; return the lazy part of Σ t·δₜ, which V is to take up."""
    pos, neg = m.B_pos - m.t * m.A_pos, m.B_neg - m.t * m.A_neg
    m.A_pos = m.A_neg = m.B_pos = m.B_neg = 0.0
    return pos, neg


@part
def lower_gain(S_pos, S_neg, m):
    """Take a common factor, a power of two, out of sum, count and loss of a class before they overflow."""
    down_pos = math.ldexp(1.0, -math.frexp(m.gain_pos)[1]) if m.gain_pos > TOO_LARGE_GAIN else 1.0
    down_neg = math.ldexp(1.0, -math.frexp(m.gain_neg)[1]) if m.gain_neg > TOO_LARGE_GAIN else 1.0
    for j in range(S_pos.size):
        S_pos[j] *= down_pos
        S_neg[j] *= down_neg
    m.gain_pos *= down_pos
    m.n_pos *= down_pos
    m.loss_pos *= down_pos
    m.A_pos /= down_pos
    m.B_pos /= down_pos
    m.gain_neg *= down_neg
    m.n_neg *= down_neg
    m.loss_neg *= down_neg
    m.A_neg /= down_neg
    m.B_neg /= down_neg
    m.pp *= down_pos * down_pos
    m.pp_low *= down_pos * down_pos
    m.pp_peak *= down_pos * down_pos
    m.nn *= down_neg * down_neg
    m.nn_low *= down_neg * down_neg
    m.nn_peak *= down_neg * down_neg
    m.pn *= down_pos * down_neg
    m.pn_low *= down_pos * down_neg
