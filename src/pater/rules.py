"""The algorithms, one small pure function each: how far to step for one sample.

Knows no data and no state: a pass (`passes.py`) brings the numbers, a rule answers with the step τ, and the pass moves
the weights. Equation numbers are those of Jang, "Online Passive-Aggressive Total-Error-Rate Minimization".

There are two families, by the direction in which they move:

- *point* rules move along the sample itself, w ← w + τ·y·x. They see the signed margin y·f(x) and ‖x‖² (the
  intercept's constant 1 included).
- *mean* rules move along the difference of the weighted class means, w ← w + τ·z with z = α⁺z⁺ − α⁻z⁻. They see the
  loss of the sample itself, the loss accumulated over the classes, and ‖z‖² (the intercept included).
"""

from __future__ import annotations

from typing import NamedTuple

from ._compile import exact_part

PERCEPTRON, PA, PA_I, PA_II, PATER_I, PATER_II = range(6)
FIRST_MEAN_RULE = PATER_I

LARGEST_ROW = 1e206  # of ‖x‖²: beyond it, a product of weights and a row could overflow


class Rule(NamedTuple):
    """What the rest of the package needs to know of an algorithm."""

    code: int
    label: str
    moves_along_means: bool
    grows_without_end: bool = False  # on data that no plane separates: only the direction of its weights has a meaning


RULES = {
    "perceptron": Rule(PERCEPTRON, "Perceptron", False),
    "pa": Rule(PA, "PA", False),
    "pa-i": Rule(PA_I, "PA-I", False),
    "pa-ii": Rule(PA_II, "PA-II", False),
    "pater-i": Rule(PATER_I, "PATER-I", True),
    "pater-ii": Rule(PATER_II, "PATER-II", True, True),
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
