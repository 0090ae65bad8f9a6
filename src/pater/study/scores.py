"""How good predictions are: the five scores of a row of the study."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Scores(NamedTuple):
    """Shares between 0 and 1, but `ter`, the sum of two of them."""

    accuracy: float
    balanced_accuracy: float
    fpr: float
    fnr: float
    ter: float


def scores(predicted_positive: NDArray[np.bool_], positive: NDArray[np.bool_]) -> Scores:
    """The scores of predictions on rows of both classes."""
    n_pos = int(np.count_nonzero(positive))
    n_neg = positive.size - n_pos
    hits = int(np.count_nonzero(predicted_positive & positive))
    false_alarms = int(np.count_nonzero(predicted_positive)) - hits
    fpr, fnr = false_alarms / n_neg, (n_pos - hits) / n_pos
    accuracy = (hits + n_neg - false_alarms) / positive.size
    return Scores(accuracy, 1 - (fpr + fnr) / 2, fpr, fnr, fpr + fnr)
