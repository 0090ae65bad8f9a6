"""Classifiers behind an encoder: what its columns are, room for new ones, and moving those that exist.

Knows `online`, `auto`, `ter` and `placement`.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.placement import with_columns_at
from .auto import AutoPATERClassifier
from .online import OnlineClassifier
from .table_encoder import TableEncoder
from .ter import TERClassifier

Growing = OnlineClassifier | TERClassifier


def make_room(classifier: Any, n_features: int, name: str) -> None:
    """Let a classifier, the step of this name, take rows with more columns, which were 0 in all rows so far."""
    known = getattr(classifier, "n_features_in_", n_features)
    if n_features <= known:
        return
    if not isinstance(classifier, Growing):
        raise ValueError(
            f"the step {name!r} has learned from {known} columns and there are {n_features} now, but "
            f"{type(classifier).__name__} cannot take more. Use an online learner of pater, which can."
        )
    model = classifier._fitted_model().copy()
    model.resize(n_features)
    classifier._model, classifier.n_features_in_ = model, n_features


def tell_levels(steps: list[tuple[str, Any]], X: Any) -> None:
    """Tell a classifier directly behind an encoder, before its first rows, how much detail each column adds."""
    if len(steps) == 2 and isinstance(steps[0][1], TableEncoder) and isinstance(steps[1][1], AutoPATERClassifier):
        encoder, classifier = steps[0][1], steps[1][1]
        if "_model" not in vars(classifier):
            classifier._levels = encoder._stream.first_levels(encoder.resolution)[: X.shape[1]]


def check_steps(others: list[tuple[str, Any]], steps: list[tuple[str, Any]]) -> None:
    """Raise a TypeError if these are not the same steps of two pipelines, an encoder and an online learner."""
    kinds = [[type(step).__name__ for _, step in some] for some in (others, steps)]
    mergeable = len(steps) == 2 and isinstance(steps[0][1], TableEncoder) and isinstance(steps[1][1], Growing)
    if kinds[0] != kinds[1] or not mergeable:
        raise TypeError(
            "pipelines of a TableEncoder and an online learner of pater can be merged, with the same steps; the other "
            f"has {' and '.join(kinds[0])}, this one has {' and '.join(kinds[1])}."
        )


def with_columns_moved(classifier: Growing, columns: NDArray[np.int64], n_features: int) -> Growing:
    """A copy of a classifier in which column j moves to `columns[j]`, or is dropped where that is −1."""
    result = copy(classifier)
    result._model = with_columns_at(classifier._fitted_model(), columns, n_features)
    result.n_features_in_ = n_features
    return result
