"""Probabilities of classes, for learners that fit them along the stream.

Knows `base` and `predict`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.errors import OtherModelsError
from ..models.predict import probabilities
from .available import available_unless
from .base import LinearClassifier


def _no_probabilities(estimator: Any) -> str | None:
    return None if estimator.probability else "set probability=True before the first row is learned."


class WithProbabilities(LinearClassifier):
    """A subclass has a parameter `probability`."""

    probability: bool

    @available_unless(_no_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, fitted along the stream to the margins before learning (`probability=True`).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each class, in the order of `classes_`. Of more than two, the one-vs-rest probabilities are
            scaled to sum to 1.
        """
        model = self._fitted_model()
        if not model.spec.calibrate:
            raise OtherModelsError(["probability"])
        return self._probabilities_of(self._checked_margins(X))

    def _probabilities_of(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities (rows, classes) from margins (rows, models)."""
        model = self._fitted_model()
        scalars = model.state.scalars[self._chosen(model)]
        return probabilities(margins, scalars, model.classes.size, average=self._average_of(model))

    @available_unless(_no_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes (`probability=True`).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each class, in the order of `classes_`; −inf where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))  # type: ignore[no-any-return]
