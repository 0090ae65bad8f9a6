"""One model, one pass over the training half, and the processor time for it.

Knows the package's passes; knows nothing of the protocol.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pater.data import DataError
from pater.kernels import run as passes
from pater.kernels.rules import RULES
from pater.kernels.state import State
from pater.models import matrices as batch
from pater.models.spec import Spec, settings_of

from .plan import Model
from .readings import learn_by

TIMED_PASSES = 3


class Trained(NamedTuple):
    """A model after one pass, and its margin for each row before learning from it."""

    w: NDArray[np.float64]
    bias: float
    margins: NDArray[np.float64]
    updates: int
    seconds: float


def train(
    rows: passes.Rows, codes: NDArray[np.int64], model: Model, n_features: int, *, intercept: bool = True
) -> Trained:
    """Pass once over the rows; `seconds` is the processor time of the compiled call alone."""
    state = State.new(1, n_features, means=RULES[model.rule].moves_along_means)
    spec = Spec(model.rule, alphas=(model.alpha_neg, model.alpha_pos), intercept=intercept)
    settings = settings_of((spec,), (0, 1))
    passes.arrange_for(rows, state, settings)
    margins = np.empty((1, len(codes)))
    started = time.thread_time()
    bad = passes.learn(rows, codes, state, settings, margins=margins)
    seconds = time.thread_time() - started
    if bad >= 0:
        raise DataError(f"row {bad} of the training half holds a number that is not finite, or too large to square")
    w, bias = state.own_weights()
    return Trained(w[0], float(bias[0]), margins[0], int(state.scalars["updates"][0]), seconds)


def train_warm(rows: passes.Rows, codes: NDArray[np.int64], model: Model, n_features: int) -> Trained:
    """`train` with the seconds of the fastest of a few equal passes.

    The first pass pays for the compiler and for cold memory, and any of them for other load on the machine.
    """
    tried = [train(rows, codes, model, n_features) for _ in range(TIMED_PASSES)]
    return min(tried, key=lambda one: one.seconds)


def warm_up() -> None:
    """Compile, or load from the cache, everything that a unit calls, so that no measured time includes compilation."""
    from scipy.sparse import csr_array

    X, codes = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]]), np.array([1, 0, 1])
    for rows in (batch.rows_of(X), batch.rows_of(csr_array(X))):
        for rule in ("perceptron", "pater-i"):
            train(rows, codes, Model("", rule), 2)
    learn_by(True, True, True, 1.0, 1.0, X, codes)
