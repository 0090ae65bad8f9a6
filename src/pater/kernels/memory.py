"""A learner's memory by name: the places of its vectors, and the record of its scalars. `state.py` explains them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

U, S_POS, S_NEG, V = range(4)  # the vectors of a mean rule
P_POS, P_NEG = 4, 5  # with a full metric
Q = 4  # with a diagonal one
ROW = 4  # beside the vectors, where dense rows are learned without one: room for a row
POINT_U, POINT_V, POINT_Q = range(3)  # and of a point rule

SCALARS = np.dtype(
    [
        ("bias", "f8"),  # the intercept's weight, never lazy
        ("bias_steps", "f8"),  # the intercept's part of Σ t·δₜ
        ("A_pos", "f8"),
        ("A_neg", "f8"),
        ("B_pos", "f8"),
        ("B_neg", "f8"),
        ("n_pos", "f8"),  # importance of the samples in the class sums: the intercept's part of the sums, too
        ("n_neg", "f8"),
        ("loss_pos", "f8"),  # their importance times their hinge loss: n·k in the paper's letters
        ("loss_neg", "f8"),
        ("seen_pos", "f8"),  # importance of all samples, passive ones included; second order: in units of the gain
        ("seen_neg", "f8"),
        ("pp", "f8"),  # ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻, kept by the lazy pass, each with what working precision cuts off
        ("pp_low", "f8"),
        ("nn", "f8"),
        ("nn_low", "f8"),
        ("pn", "f8"),
        ("pn_low", "f8"),
        ("largest", "f8"),  # largest ‖x‖² that entered a class sum
        ("entered", "i8"),  # rows in the class sums
        ("products_known", "i8"),  # 1 if pp, nn and pn are up to date
        ("careful", "i8"),  # 1 if they are kept in twice the working precision
        ("careful_work", "i8"),  # numbers added to the class sums since then
        ("work_since_fold", "i8"),  # numbers added to the class sums since the last fold
        ("exponent", "i8"),  # weights and margins are in units of 2^exponent
        ("unit", "f8"),  # 2^−exponent, the margin to reach
        ("t", "i8"),  # samples seen
        ("updates", "i8"),  # steps taken
        ("gain_pos", "f8"),  # with forgetting: the weight of a sample of the class now, in units of its first
        ("gain_neg", "f8"),  # second order: both are the same, as the past fades with time
        ("tp", "f8"),  # importance of samples by what was predicted before learning from them, when watched
        ("fp", "f8"),
        ("tn", "f8"),
        ("fn", "f8"),
        ("margin_square", "f8"),  # running mean square of the margins, when calibrated
        ("usual_weight", "f8"),  # of about the last thousand samples, when calibrated
        ("slope", "f8"),  # the probability of +1 is σ(slope·r + offset), r the margin over its running size
        ("offset", "f8"),
        ("slope_slope", "f8"),  # second derivatives of the logistic loss in the two
        ("slope_offset", "f8"),
        ("offset_offset", "f8"),
        ("P_pos", "f8"),  # the intercept's part of P⁺ and P⁻
        ("P_neg", "f8"),
        ("bias_Q", "f8"),  # and of Q
        ("width", "i8"),  # columns that rows have reached; in a full metric, the intercept's included
        ("scale", "f8"),  # weights are `scale` times U, so that they shrink in one step
        ("pp_peak", "f8"),  # the largest pp and nn since last computed from the vectors: they bound the rounding
        ("nn_peak", "f8"),
        ("scales", "f8"),  # 1 + the sum of `scale` after each sample, for averaging; 0 where scale is always 1
        ("size_square", "f8"),  # running mean square of the margins, where its root is their unit; 0 elsewhere
        ("told", "f8"),  # importance of the samples given a probability before they were learned from
        ("brier", "f8"),  # their squared errors and their log losses
        ("log_loss", "f8"),
        ("mean_size", "f8"),  # with averaging: the mean of √size_square over all samples
    ]
)


class Home(NamedTuple):
    """Where the passes find the vectors of some models.

    And, with a full metric, its triangles and scratch space for a row, (models, 4, features + 1).
    """

    vectors: Any
    triangles: Any = None
    rooms: Any = None


COUNTS = ("tp", "fp", "tn", "fn")

RESCALE_BITS = 600

# Steps beyond these mean that scales some 1e200 apart were mixed. They are not taken, so that no state overflows.
LONGEST_TAU = 1e280
LONGEST_STEP = 1e300  # of the square
