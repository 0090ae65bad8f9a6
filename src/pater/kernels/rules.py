"""The algorithms, one small pure function each, and the table of them.

Plain Python, independent of data, state and compiler: a pass supplies the numbers, a rule returns the step τ, and the
pass moves the weights; `steps.py` compiles the rules. A rule's parameters name what it needs. Equation numbers are
those of Jang, "Online Passive-Aggressive Total-Error-Rate Minimization".

There are two families of first order, by the direction in which they move:

- *point* rules move along the sample itself, w ← w + τ·y·x. They see the signed margin y·f(x) as `margin`, ‖x‖² (the
  intercept's constant 1 included) as `xx`, the number of the step as `k`, and their settings.
- *mean* rules move along the difference of the weighted class means, w ← w + τ·z with z = α⁺z⁺ − α⁻z⁻. A step of τ
  takes τ·‖z‖² off the loss, and this is what they return. They see the loss of the sample itself, `own_loss`, and the
  one accumulated over the classes with it, `accumulated_loss`, both divided by the samples of each class.

Each has a second-order counterpart, which moves in the metric of a covariance Σ, along Σx or Σz, and adds samples to
it: Σ⁻¹ ← Σ⁻¹ + κ·x·xᵀ, from Σ = I. In place of ‖x‖² or ‖z‖² it sees xᵀΣx, the confidence c, or zᵀΣz.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

LARGEST_ROW = 1e206  # of ‖x‖²: beyond it, a product of weights and a row could overflow
LARGEST_WEIGHT = 1e20  # of a sample or a class; the smallest is 1/1e20. Products with the largest row do not overflow


def hinge(margin, unit=1.0):
    """ℓ = max(0, 1 − y·f(x)), eq. 2, in units of `unit`.

    Clipped everywhere, although the paper's pseudo-code prints it unclipped.
    """
    return max(0.0, unit - margin)


def perceptron(margin):
    """A step of 1 on a mistake; a sample on the boundary counts as one (Rosenblatt, 1958)."""
    return 1.0 if margin <= 0.0 else 0.0


def pa(margin, xx):
    """τ = ℓ/‖x‖²: the smallest step after which y·f(x) = 1, eq. 4 (Crammer et al., 2006)."""
    return hinge(margin) / xx if xx > 0.0 else 0.0


def pa_i(margin, xx, C):
    """τ = min(C, ℓ/‖x‖²): no sample moves w by more than C·‖x‖ (Crammer et al., 2006)."""
    return min(C, pa(margin, xx))


def pa_ii(margin, xx, C):
    """τ = ℓ/(‖x‖² + 1/(2C)): the loss is squared in the objective (Crammer et al., 2006)."""
    return hinge(margin) / (xx + 0.5 / C) if xx > 0.0 else 0.0


def pater_i(own_loss):
    """τ·‖z‖² = α^c·ℓ/n^c, the loss of this sample alone, eqs. 22 and 35."""
    return own_loss


def pater_ii(accumulated_loss):
    """τ·‖z‖² = α⁻k⁻ + α⁺k⁺, the mean losses so far, eqs. 23 and 36."""
    return accumulated_loss


def alma(margin, xx, k, approximation):
    """η = √2/√k along x̂ = x/‖x‖ where y·f(x̂) ≤ (1 − α)/(α√k), for the k-th mistake (Gentile, 2001; p = 2)."""
    norm, root = math.sqrt(xx), math.sqrt(k)
    if norm > 0.0 and margin / norm <= (1.0 - approximation) / (approximation * root):
        return math.sqrt(2.0) / root / norm
    return 0.0


def is_mistake(margin):
    """The second-order perceptron learns from mistakes (Cesa-Bianchi et al., 2005), by `ridge_step`."""
    return margin <= 0.0


def is_inside_margin(margin):
    """AROW learns from rows inside the margin (Crammer et al., 2009), by `ridge_step`."""
    return margin < 1.0


def ridge_step(y, f, noise_and_confidence):
    """(y − f(x))/(r + c): the step along Σx of the second-order perceptron and of AROW, with κ = 1/r.

    This is recursive least squares with the labels as targets, on the rows that enter.
    """
    return (y - f) / noise_and_confidence


def cw(margin, c, phi):
    """The step along Σx after which y·f(x) = φ·√(xᵀΣx), exact and convex (Crammer, Dredze and Kulesza, 2008)."""
    pp = phi * phi
    root = math.hypot(0.5 * margin * pp, phi * math.sqrt(c * (1.0 + pp)))
    return max(0.0, (root - margin * (1.0 + 0.5 * pp)) / (c * (1.0 + pp)))


def scw_i(margin, c, phi, C):
    """The step of CW, at most C (Wang, Zhao and Hoi, 2012)."""
    return min(C, cw(margin, c, phi))


def scw_ii(margin, c, phi, C):
    """The step of CW where the loss is squared in the objective, as in PA-II (Wang, Zhao and Hoi, 2012)."""
    pp, n = phi * phi, c + 0.5 / C
    root = phi * math.hypot(phi * margin * c, 2.0 * math.sqrt(n * c * (n + c * pp)))
    return max(0.0, (root - margin * (2.0 * n + pp * c)) / (2.0 * (n * n + n * c * pp)))


def confident_gain(step, c, phi):
    """κ = αφ/√u for a step of α, where u is xᵀΣx after the step."""
    pull = step * c * phi  # √u = (√(pull² + 4c) − pull)/2, written so that nothing cancels
    return step * phi * (math.hypot(pull, 2.0 * math.sqrt(c)) + pull) / (2.0 * c)


class Rule(NamedTuple):
    """An algorithm's function, settings and traits."""

    label: str
    step: Callable[..., Any]
    settings: tuple[str, ...] = ()  # names in `models/settings.py`
    moves_along_means: bool = False
    second_order: bool = False
    passive: bool = True  # a sample without loss is skipped
    grows_without_end: bool = False  # on data that no plane separates; only the direction of its weights means anything
    stays_in_ball: bool = False  # its weights are brought back into the unit ball after each step
    fits_labels: bool = False  # of second order: recursive least squares on the rows that `step` lets in
    sums_labels: bool = False  # and its weights are Σ·(sum of κ·y·x) even with a diagonal Σ
    evidence_adds: bool = False  # and merging models adds Σ⁻¹w, where others are averaged

    @property
    def code(self) -> int:
        """Its number in the compiled passes: its place in the table, which has no other meaning."""
        return next(code for code, rule in enumerate(RULES.values()) if rule is self)


RULES = {
    "perceptron": Rule("Perceptron", perceptron),
    "pa": Rule("PA", pa),
    "pa-i": Rule("PA-I", pa_i, ("C",)),
    "pa-ii": Rule("PA-II", pa_ii, ("C",)),
    "pater-i": Rule("PATER-I", pater_i, moves_along_means=True),
    "pater-ii": Rule("PATER-II", pater_ii, moves_along_means=True, passive=False, grows_without_end=True),
    "alma": Rule("ALMA", alma, ("approximation",), stays_in_ball=True),
    "so-perceptron": Rule(
        "SO-Perceptron", is_mistake, ("covariance", "r"), second_order=True, fits_labels=True, sums_labels=True
    ),
    "arow": Rule(
        "AROW", is_inside_margin, ("covariance", "r"), second_order=True, fits_labels=True, evidence_adds=True
    ),
    "cw": Rule("CW", cw, ("covariance", "eta"), second_order=True),
    "scw-i": Rule("SCW-I", scw_i, ("C", "covariance", "eta"), second_order=True),
    "scw-ii": Rule("SCW-II", scw_ii, ("C", "covariance", "eta"), second_order=True),
    "so-pater-i": Rule("SO-PATER-I", pater_i, ("covariance", "form", "r"), moves_along_means=True, second_order=True),
    "so-pater-ii": Rule(
        "SO-PATER-II",
        pater_ii,
        ("covariance", "form", "r"),
        moves_along_means=True,
        second_order=True,
        passive=False,
        grows_without_end=True,
    ),
}
