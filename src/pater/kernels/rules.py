"""The algorithms, one small pure function each: how far to step for one sample.

Knows no data and no state: a pass (`run.py`) brings the numbers, a rule answers with the step τ, and the pass moves
the weights. Equation numbers are those of Jang, "Online Passive-Aggressive Total-Error-Rate Minimization".

There are two families of first order, by the direction in which they move:

- *point* rules move along the sample itself, w ← w + τ·y·x. They see the signed margin y·f(x) and ‖x‖² (the
  intercept's constant 1 included).
- *mean* rules move along the difference of the weighted class means, w ← w + τ·z with z = α⁺z⁺ − α⁻z⁻. They see the
  loss of the sample itself, the loss accumulated over the classes, and ‖z‖² (the intercept included).

Each has its second-order kin, which move under the metric of a covariance Σ, along Σx or Σz, and let samples into it:
Σ⁻¹ ← Σ⁻¹ + κ·x·xᵀ, from Σ = I. Where a first-order rule sees ‖x‖² or ‖z‖², they see xᵀΣx, the confidence c, or zᵀΣz.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .compile import exact_part

PERCEPTRON, PA, PA_I, PA_II, ALMA, SO_PERCEPTRON, AROW, CW, SCW_I, SCW_II = range(10)
PATER_I, PATER_II, SO_PATER_I, SO_PATER_II = range(10, 14)
FIRST_MEAN_RULE = PATER_I

LARGEST_ROW = 1e206  # of ‖x‖²: beyond it, a product of weights and a row could overflow


class Rule(NamedTuple):
    """What the rest of the package needs to know of an algorithm."""

    code: int
    label: str
    moves_along_means: bool
    grows_without_end: bool = False  # on data that no plane separates: only the direction of its weights has a meaning
    second_order: bool = False


RULES = {
    "perceptron": Rule(PERCEPTRON, "Perceptron", False),
    "pa": Rule(PA, "PA", False),
    "pa-i": Rule(PA_I, "PA-I", False),
    "pa-ii": Rule(PA_II, "PA-II", False),
    "pater-i": Rule(PATER_I, "PATER-I", True),
    "pater-ii": Rule(PATER_II, "PATER-II", True, True),
    "alma": Rule(ALMA, "ALMA", False),
    "so-perceptron": Rule(SO_PERCEPTRON, "SO-Perceptron", False, second_order=True),
    "arow": Rule(AROW, "AROW", False, second_order=True),
    "cw": Rule(CW, "CW", False, second_order=True),
    "scw-i": Rule(SCW_I, "SCW-I", False, second_order=True),
    "scw-ii": Rule(SCW_II, "SCW-II", False, second_order=True),
    "so-pater-i": Rule(SO_PATER_I, "SO-PATER-I", True, second_order=True),
    "so-pater-ii": Rule(SO_PATER_II, "SO-PATER-II", True, True, True),
}


@exact_part
def hinge(margin, unit=1.0):
    """ℓ = max(0, 1 − y·f(x)), eq. 2, in units of `unit`.

    Clipped everywhere, although the paper's pseudo-code prints it unclipped.
    """
    return max(0.0, unit - margin)


@exact_part
def perceptron(margin):
    """A step of 1 on a mistake; a sample on the boundary counts as one (Rosenblatt, 1958)."""
    return 1.0 if margin <= 0.0 else 0.0


@exact_part
def pa(margin, xx):
    """τ = ℓ/‖x‖²: the smallest step after which y·f(x) = 1, eq. 4 (Crammer et al., 2006)."""
    return hinge(margin) / xx if xx > 0.0 else 0.0


@exact_part
def pa_i(margin, xx, C):
    """τ = min(C, ℓ/‖x‖²): no sample moves w by more than C·‖x‖ (Crammer et al., 2006)."""
    return min(C, pa(margin, xx))


@exact_part
def pa_ii(margin, xx, C):
    """τ = ℓ/(‖x‖² + 1/(2C)): the loss is squared in the objective (Crammer et al., 2006)."""
    return hinge(margin) / (xx + 0.5 / C) if xx > 0.0 else 0.0


@exact_part
def pater_i(own_loss, zz):
    """τ = (α^c·ℓ/n^c)/‖z‖², the loss of this sample alone, eqs. 22 and 35."""
    return own_loss / zz


@exact_part
def pater_ii(accumulated_loss, zz):
    """τ = (α⁻k⁻ + α⁺k⁺)/‖z‖², the mean losses so far, eqs. 23 and 36."""
    return accumulated_loss / zz


@exact_part
def point_step(rule, margin, xx, C):
    """τ of the point rule with this code."""
    if rule == PERCEPTRON:
        return perceptron(margin)
    if rule == PA:
        return pa(margin, xx)
    if rule == PA_I:
        return pa_i(margin, xx, C)
    return pa_ii(margin, xx, C)


@exact_part
def mean_step(rule, own_loss, accumulated_loss, zz):
    """τ of the mean rule with this code."""
    if rule == PATER_I:
        return pater_i(own_loss, zz)
    return pater_ii(accumulated_loss, zz)


@exact_part
def alma(margin, k, approximation):
    """η = √2/√k where y·f(x̂) ≤ (1 − α)/(α√k), for the k-th mistake, x̂ of norm 1 (Gentile, 2001; p = 2)."""
    root = math.sqrt(k)
    return math.sqrt(2.0) / root if margin <= (1.0 - approximation) / (approximation * root) else 0.0


@exact_part
def violates(rule, margin):
    """Does a row enter Σ? The second-order perceptron (Cesa-Bianchi et al., 2005) learns from mistakes, AROW
    (Crammer et al., 2009) from rows inside the margin. What they then do is the same.
    """
    return margin <= 0.0 if rule == SO_PERCEPTRON else margin < 1.0


@exact_part
def ridge_step(y, f, noise_and_confidence):
    """The step along Σx of the second-order perceptron and of AROW, κ = 1/r: (y − f(x))/(r + c).

    It is that of recursive least squares with labels for targets, on the rows that count.
    """
    return (y - f) / noise_and_confidence


@exact_part
def confident_step(rule, margin, c, phi, C):
    """The step along Σx of CW, SCW-I and SCW-II, after which y·f(x) = φ·√(xᵀΣx), as far as C allows.

    CW in its exact convex form (Crammer, Dredze and Kulesza, 2008); SCW-I caps the step at C, SCW-II softens it as
    PA-II does (Wang, Zhao and Hoi, 2012).
    """
    pp = phi * phi
    if rule == SCW_II:
        n = c + 0.5 / C
        root = phi * math.hypot(phi * margin * c, 2.0 * math.sqrt(n * c * (n + c * pp)))
        return max(0.0, (root - margin * (2.0 * n + pp * c)) / (2.0 * (n * n + n * c * pp)))
    root = math.hypot(0.5 * margin * pp, phi * math.sqrt(c * (1.0 + pp)))
    step = max(0.0, (root - margin * (1.0 + 0.5 * pp)) / (c * (1.0 + pp)))
    return min(C, step) if rule == SCW_I else step


@exact_part
def confident_gain(step, c, phi):
    """κ = αφ/√u for a step of α, where u = xᵀΣx of afterwards."""
    pull = step * c * phi  # √u = (√(pull² + 4c) − pull)/2, written so that nothing cancels
    return step * phi * (math.hypot(pull, 2.0 * math.sqrt(c)) + pull) / (2.0 * c)
