"""Which of several models predicts a class: the best by its progressive score.

Knows `metrics` only. Estimators and the command line choose in the same way, and model files store the choice, so that
every reader gets the same predictions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .metrics import SCORES, Confusion

ScoringSettings = dict[str, float] | None
JudgedBy = tuple[str, ScoringSettings, float | None]
"""The score by which learners are chosen, its settings, and how predictions fade in it; None is the default."""


class Stored(NamedTuple):
    """The choice stored in a model file, and the score by which it was made. It is valid until more is learned."""

    models: tuple[int, ...]
    scoring: str
    settings: ScoringSettings


def score(counts: Confusion, scoring: str, settings: ScoringSettings = None) -> NDArray[np.float64]:
    """The scores of counts, by the name of the score; whether higher is better is in `metrics.SCORES`."""
    return SCORES[scoring].of(counts, **(settings or {}))


def best(counts: Confusion, scoring: str, settings: ScoringSettings = None) -> NDArray[np.intp]:
    """The best spec in each problem; in a tie the first, so the simplest should come first."""
    values = score(counts, scoring, settings)
    return np.asarray(np.argmax(values if SCORES[scoring].more_is_better else -values, axis=1))
