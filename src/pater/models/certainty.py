"""How sure a second-order learner is of a sum of weights, by its covariance.

Knows `model`, `pool` and `contributions`. Without its prior, Σ of a rule that fits labels by least squares is r times
the inverse of the weighted moments of the rows, XᵀVX. About a fit, labels of ±1 vary at most as they do about their
mean, by 4π⁺π⁻ for weighted shares π of the classes, and rows of weights v are worth as many as Kish's effective size
says: the variance of w is at most about 4π⁺π⁻·(Σv²/Σv)·Σ/r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.memory import POINT_Q
from ..kernels.rules import RULES
from ..kernels.state import State
from .contributions import places_in
from .model import Model
from .pool import Pool
from .spec import Spec

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Certainty:
    """Variances of sums of weights, in the units in which weights are reported."""

    model: Model | Pool
    state: State
    spec: Spec
    settings: NDArray[np.void]

    @classmethod
    def of(cls, model: Model | Pool) -> Certainty | None:
        """The certainty of the models that predict; None if there is no estimate.

        First-order rules have no Σ. The weights of second-order PATER have the length of a fit only as the leader of a
        full covariance: otherwise there is nothing to compare Σ with.
        """
        speaker = model.speaker if isinstance(model, Pool) else model
        state, spec = speaker.state, speaker.spec
        if state.metric == "none" or (spec.family[0] and (spec.form == "step" or state.metric == "diagonal")):
            return None
        return cls(model, state, spec, speaker.settings())

    def deviations(self, model: int, columns: NDArray[np.int64], sums: Reals) -> Reals:
        """The standard error of the product of each row of `sums`, (sums, columns), with the weights."""
        gain = max(1.0, float(self.state.scalars["gain_pos"][model]))
        places = places_in(self.model, columns)
        seen = places >= 0  # the weights of others are 0 for sure
        root = self._root(model, places[seen], gain)
        return np.asarray(np.sqrt(self._noise(model) * np.square(sums[:, seen] @ root).sum(axis=1)))

    def _root(self, model: int, columns: NDArray[np.int64], gain: float) -> Reals:
        """A root of Σ in these columns."""
        state = self.state
        if state.metric == "diagonal":
            q = state.kinds()[model, POINT_Q, columns]
            return np.diag(np.sqrt(gain / np.maximum(1.0 + q, gain)))
        assert state.second is not None
        triangle, width = state.second[model], int(state.scalars["width"][model])
        starts = np.arange(width) * np.arange(1, width + 1) // 2
        root = np.zeros((columns.size, width + columns.size))
        for row, column in enumerate((columns + 1).tolist()):  # the intercept comes first
            if column >= width:
                root[row, width + row] = 1.0  # which no row has reached
            else:
                root[row, column:width] = triangle[starts[column:] + column]
                root[row, column] = 1.0
        root[:, :width] *= np.sqrt(gain * triangle[starts + np.arange(width)])
        return root

    def _noise(self, model: int) -> float:
        """The factor of Σ: the noise variance of a label, times how unequal the weights are."""
        if RULES[self.spec.rule].fits_labels or self.spec.family[0]:
            m, p = self.state.scalars[model], self.settings[model]
            seen = np.array([m["seen_neg"], m["seen_pos"]], np.float64)
            v = np.array([p["alpha_neg"], p["alpha_pos"]], np.float64)
            if not ((seen > 0).all() and (v > 0).all()):
                return 1.0 / self.spec.r
            if p["balanced"]:
                v = seen.sum() / (2.0 * seen)
            elif self.spec.family[0]:
                v = v / v.sum() * seen.sum() / seen
            shares = v * seen / float(v @ seen)
            unequal = float(v**2 @ seen) / float(v @ seen)
            gamma = float(self.spec.forgetting)
            faded = (1.0 + gamma ** float(m["t"])) / (1.0 + gamma)  # Σγ²ᵏ/Σγᵏ: old rows weigh less, too
            return float(4.0 * shares.prod() * unequal * faded / self.spec.r)
        return 1.0
