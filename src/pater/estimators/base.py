"""What all estimators share: they hold a model, predict with it, and are saved as model files.

Knows scikit-learn, `inputs`, `model`, `predict` and `model_file`. A failed call changes nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from ..files import model_file as modelfile
from ..models.errors import BadRowError
from ..models.labels import as_labels, check_exact, kind_of, kind_of_label
from ..models.matrices import bad_row_message
from ..models.model import Model
from ..models.pool import Pool
from ..models.predict import labels_of
from . import parameters
from .inputs import take_rows


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base of all estimators; a subclass learns."""

    _model: Model | Pool
    class_weight: Any

    def _scored_by(self) -> tuple[str, dict[str, float] | None]:
        """The progressive score by which the best of several models is chosen, and its settings."""
        return "balanced_accuracy", None

    def _chosen(self, model: Model | Pool) -> list[int]:
        """The index of the model that predicts for each class (with two classes, for both)."""
        return model.chosen(*self._scored_by())

    def _average_of(self, model: Model | Pool) -> bool:
        """Whether the averaged weights predict."""
        return model.spec.average

    def _threshold(self, model: Model | Pool) -> float:
        """The margin from which the second of two classes is predicted."""
        return 0.0

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._fitted_model().classes

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights, (1, n_features) for two classes, else (n_classes, n_features). Computed on access."""
        return self._weights()[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept of each model."""
        return self._weights()[1]

    def _weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        model = self._fitted_model()
        return model.weights(self._scored_by(), average=self._average_of(model))

    def _fitted_model(self) -> Model | Pool:
        model: Model | Pool | None = vars(self).get("_model")
        if model is None:
            how = "'fit' or 'partial_fit'" if hasattr(self, "partial_fit") else "'fit'"
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call {how} first.")
        return model

    def _speaking_model(self) -> Model | Pool:
        """The model, if it can predict; an error if all rows so far were of weight 0."""
        model = self._fitted_model()
        if not model.classes.size:
            raise NotFittedError(f"This {type(self).__name__} instance has not learned from any row: all had weight 0.")
        return model

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Margins: for two classes one number per row, positive for the second class; else one for each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The margins.

        """
        margins = self._checked_margins(X)
        return margins if margins.shape[1] > 1 else margins[:, 0]

    def _checked_margins(self, X: Any) -> NDArray[np.float64]:
        """Margins (rows, models); if one is not finite, an error says what is wrong with its row."""
        model = self._speaking_model()
        rows = take_rows(self, X, reset=False)
        margins = model.margins(rows, self._scored_by(), average=self._average_of(model))
        if not math.isfinite(float(margins.sum())):
            finite = np.isfinite(margins).all(axis=1)
            if not finite.all():
                raise ValueError(bad_row_message(rows, int(np.argmin(finite)), self._names()))
        return margins

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: of two, the second from the threshold up (usually 0); else that of the largest margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.

        """
        threshold = self._threshold(self._fitted_model())
        return labels_of(self._checked_margins(X), self._model.classes, threshold)

    def explain(self, X: Any) -> Any:
        """What each feature adds to the margin of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        pandas DataFrame
            A line for each row; with more than two classes, one for each row and class. A column for each feature (for
            a sparse matrix, for each that occurs in a row), then "(base)", the intercept, and "(rounding)". The sum of
            a line from left to right is the margin that `decision_function` returns, to the bit.
        """
        from .explaining import explanation_frame

        return explanation_frame(self, X, None, X)

    def effect_curves(self) -> Any:
        """Available behind a `TableEncoder` in an `OnlinePipeline`: see there. A plain estimator raises a TypeError."""
        from .explaining import NEEDS_ENCODER

        raise TypeError(NEEDS_ENCODER)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to a model file, from which `pater.load` restores it to the bit.

        The file is written completely or not at all, and is read back first: after an error, the previous file is
        still there. A link is followed. The file holds numbers and JSON, no code; `pater predict`, `inspect` and
        `merge` read it, too.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        from .load import ESTIMATORS, estimator_of  # which knows every estimator

        self._speaking_model()
        model, names = self._to_save(), self._names()
        described = parameters.to_json(self, ESTIMATORS)
        saved = modelfile.Saved(
            model,
            scoring=described["params"].get("scoring", "balanced_accuracy"),
            scoring_settings=described["params"].get("scoring_settings"),
            feature_names=None if names is None else [str(name) for name in names],
            counts={"rows": self.t_} if hasattr(self, "t_") else {},
            estimator=described,
        )
        modelfile.save(path, saved, accept=estimator_of)

    def _to_save(self) -> Model | Pool:
        """What was learned; a ValueError if it does not match the parameters."""
        raise NotImplementedError

    def _take_over(self, model: Model | Pool) -> None:
        """Take over a saved model; a ValueError if it does not match the parameters."""
        raise NotImplementedError

    def _all_or_nothing(self, learn: Callable[..., None], *arguments: Any) -> Self:
        """Call `learn`; after an error every attribute is as it was before."""
        before = dict(vars(self))
        try:
            learn(*arguments)
        except BaseException as error:
            message = bad_row_message(error.rows, error.row, self._names()) if isinstance(error, BadRowError) else None
            self.__dict__.clear()
            self.__dict__.update(before)
            if message is not None:
                raise ValueError(message) from None
            raise
        return self

    def _names(self) -> NDArray[Any] | None:
        return vars(self).get("feature_names_in_")

    def _check_weighted_classes(self, classes: NDArray[Any]) -> None:
        """Raise an error for a weight of a class that does not exist."""
        if isinstance(self.class_weight, dict):
            known = set(classes.tolist())
            unknown = [label for label in self.class_weight if label not in known]
            if unknown:
                raise ValueError(f"class_weight names {unknown}, which are not among the classes {classes.tolist()}.")

    def _check_weights_to_learn(self, model: Known, labels: NDArray[Any]) -> None:
        """Raise an error for a weight that can never apply: of no class, if these are fixed, or of another kind."""
        if not isinstance(self.class_weight, dict):
            return
        if model.fixed:
            self._check_weighted_classes(model.classes)
        known = model.classes if model.classes.size else labels
        if known.size:
            kind = kind_of(known)
            spelled = (bool, np.bool_)  # which text may stand for
            others = [k for k in self.class_weight if not isinstance(k, spelled) and kind_of_label(k) != kind]
            if others:
                raise ValueError(
                    f"class_weight names {others}, but the labels are {kind}, such as {known[:1].tolist()[0]!r}: "
                    "name the classes as y does."
                )

    def __copy__(self) -> Self:
        """An independent copy."""
        result = type(self).__new__(type(self))
        result.__dict__.update(self.__dict__)
        if "_model" in vars(self):
            result._model = self._model.copy()
        return result

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Known(Protocol):
    """Known classes, and whether there can be no others."""

    @property
    def classes(self) -> NDArray[Any]: ...

    @property
    def fixed(self) -> bool: ...


def wanted_classes(classes: Any, model: Known | None) -> NDArray[Any]:
    """The given classes, sorted; an error if the model already has others."""
    wanted = np.unique(as_labels(classes, "classes"))
    if wanted.size < 2:
        raise ValueError(f"classes must name at least two labels, got {wanted.tolist()}.")
    if (
        model is not None
        and not np.array_equal(wanted, model.classes)
        and (model.fixed or not set(model.classes.tolist()) <= set(wanted.tolist()))
    ):
        raise ValueError(
            f"`classes={wanted.tolist()}` is not the same as on the last call to partial_fit, was: "
            f"{model.classes.tolist()}."
        )
    if model is not None:
        check_exact(wanted, model.classes, "classes")
    return wanted


def at_least_two(classes: NDArray[Any]) -> None:
    if classes.size < 2:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}); fit needs at least two classes. For a stream that "
            "begins with one class, use an online learner's partial_fit."
        )
