"""The base class of all learners as River classifiers.

Knows River, `rows`, `short_path` and the estimators. A classifier holds an estimator; its parameters are the
estimator's. A dict or a frame becomes sparse rows, whose columns are the names seen so far, and the estimator learns
from them; a dict like those before takes a short path to the same kernels, with the same bits.
"""

from __future__ import annotations

import inspect
import warnings
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import to_native_frame, to_native_series

from ..estimators.online import OnlineClassifier
from ..kernels.state import TooWideError, triangle_size
from ..models.labels import as_labels
from ..models.pool import Pool
from ..models.predict import labels_of as labels_of_margins
from ..models.spec import Specs, is_pool
from .rows import Columns, Frame, features_of, labels_of, matrix_of_dict, numbers_of
from .short_path import DETOURS, ShortPath, short_path

OF_FIT = {"n_passes", "shuffle", "warm_start", "random_state", "n_jobs"}  # parameters that one pass has no use for


class RiverClassifier(base.MiniBatchClassifier):  # type: ignore[misc]
    """The methods of all classifiers here; a subclass names its estimator."""

    _kind: ClassVar[type[OnlineClassifier]]

    _estimator: OnlineClassifier
    _columns: Columns
    _path: ShortPath | None = None
    _y_name: Any = None

    def __init_subclass__(cls) -> None:
        """Give the class the parameters of its estimator; a subclass keeps them, or has its own."""
        if "_kind" not in vars(cls):
            return
        signature = inspect.signature(cls._kind.__init__)
        wanted = [each for name, each in signature.parameters.items() if name not in OF_FIT]

        def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
            try:
                given = cls.__init__.__signature__.bind(self, *values, **named).arguments  # type: ignore[attr-defined]
            except TypeError as error:
                raise TypeError(f"{cls.__name__}: {error}") from None
            self._estimator = cls._kind(**{name: value for name, value in given.items() if name != "self"})
            self._estimator._checked_specs()
            self._columns = Columns()

        __init__.__signature__ = signature.replace(parameters=wanted)  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        for name in cls._parameters():
            setattr(cls, name, _parameter(name))

    @classmethod
    def _parameters(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one sample.

        Parameters
        ----------
        x
            Names and numbers. New names become features; names that are missing count as 0.
        y
            The label: a boolean, a whole number or text. A new label becomes a class.
        w
            The importance of the sample; with 0 nothing is learned.
        """
        path = self._path
        if w == 0:
            return
        if path is not None:
            try:
                if path.learn(x, y, w):
                    return
            except DETOURS:
                pass
        numbers = numbers_of(features_of(x))
        with self._columns.with_more(numbers):
            matrix = matrix_of_dict(numbers, self._columns, self._make_room())
            self._estimator.partial_fit(matrix, as_labels([y]), sample_weight=None if w == 1.0 else [w])
        self._path = short_path(self._estimator, self._columns, len(numbers))

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a frame, one after the other: the same as `learn_one` of each, to the bit.

        Parameters
        ----------
        X
            A frame of pandas, polars or another library that River supports. The names of its columns are the features.
        y
            A series of labels.
        w
            The importance of all rows, or a series with one for each.
        """
        frame = Frame(X)
        labels, self._y_name = labels_of(y)
        if not len(frame) and not labels.size:
            return
        with self._columns.with_more(frame.names):
            matrix = frame.matrix(self._columns, self._make_room())
            weights = None if np.isscalar(w) and w == 1.0 else w
            self._estimator.partial_fit(matrix, labels, sample_weight=weights)
        self._path = None

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """The label of a sample; None before anything was learned. Unknown features are ignored.

        Parameters
        ----------
        x
            Names and numbers.
        """
        path = self._path or self._find_path(x)
        if path is not None:
            try:
                if len(path.classes) <= 2:
                    return path.predict(x)
                return path.classes[int(path.margins(x).argmax())]
            except DETOURS:
                pass
        return self._estimator.predict(self._matrix_of(x)).tolist()[0] if self._learned() else None

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """The probability of each class seen so far; an empty dict before anything was learned.

        With `probability=True` they are fitted along the stream. Otherwise they are the logistic function of the margin
        (with more than two classes, the softmax of the margins): they rank samples, but 0.9 does not mean nine times
        out of ten.

        Parameters
        ----------
        x
            Names and numbers.
        """
        margins, path = None, self._path or self._find_path(x)
        if path is not None:
            with suppress(*DETOURS):
                if len(path.classes) == 2:
                    return dict(zip(path.classes, path.probabilities(x), strict=True))
                margins = path.margins(x)
        if margins is None:
            if not self._learned():
                return {}
            margins = self._estimator._checked_margins(self._matrix_of(x))
        classes = self._estimator._model.classes.tolist()
        return dict(zip(classes, self._probabilities(margins)[0].tolist(), strict=True))

    def predict_many(self, X: Any) -> Any:
        """The label of each row of a frame, as a series.

        Parameters
        ----------
        X
            A frame.
        """
        frame = Frame(X)
        labels: Any = [None] * len(frame)
        if self._learned() and len(frame):
            estimator = self._estimator
            margins = estimator._checked_margins(frame.matrix(self._columns, estimator.n_features_in_))
            labels = labels_of_margins(margins, estimator.classes_, estimator.threshold_)
        return to_native_series(labels, name=self._y_name, like=frame.frame)

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of each class for each row of a frame, as a frame; see `predict_proba_one`.

        Parameters
        ----------
        X
            A frame.
        """
        frame = Frame(X)
        if not self._learned() or not len(frame):
            return frame.frame.select([]).to_native()
        estimator = self._estimator
        margins = estimator._checked_margins(frame.matrix(self._columns, estimator.n_features_in_))
        columns = np.ascontiguousarray(self._probabilities(margins).T)
        return to_native_frame(dict(zip(estimator.classes_.tolist(), columns, strict=True)), like=frame.frame)

    def _probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities (rows, classes) from margins (rows, models)."""
        if self._estimator.probability:
            return self._estimator._probabilities_of(margins)
        n_classes = self._estimator._model.classes.size
        if n_classes == 1:
            return np.ones_like(margins)
        if n_classes == 2:
            margins = np.hstack([np.zeros_like(margins), margins])
        powers = np.exp(margins - margins.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def _learned(self) -> bool:
        return "_model" in vars(self._estimator)

    def _find_path(self, x: Any) -> ShortPath | None:
        self._path = short_path(self._estimator, self._columns, len(features_of(x)))
        return self._path

    def _matrix_of(self, x: Any) -> Any:
        """A dict as a matrix of one row, with the features that were learned from."""
        numbers = numbers_of((name, value) for name, value in features_of(x) if name in self._columns)
        return matrix_of_dict(numbers, self._columns, self._estimator.n_features_in_)

    def _make_room(self) -> int:
        """Make sure that the model has room for all columns and some spare ones; return how many."""
        estimator, wanted = self._estimator, max(1, len(self._columns))
        model = vars(estimator).get("_model")
        if model is None or model.n_features < wanted:
            self._path, roomy = None, _with_spare(wanted, estimator._checked_specs())
            if model is None:
                return roomy
            before = model.leader if isinstance(model, Pool) else 0
            model.resize(roomy)
            estimator.n_features_in_ = roomy
            if isinstance(model, Pool) and before not in model.models:
                _warn_of_beginning_anew(wanted)
        return int(model.n_features)

    def __copy__(self) -> Any:
        """An independent copy."""
        return self.clone(include_attributes=True)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _mutable_attributes(self) -> set[str]:
        return set(self._parameters())


def _with_spare(n_features: int, specs: Specs) -> int:
    """The number of columns plus some spare ones, so that not every new name needs more room."""
    if is_pool(specs):  # the candidates that suit it depend on the number of columns
        return n_features
    if specs[0].family[1] != "full":
        return n_features + max(8, n_features)
    roomy = n_features + n_features // 8  # spare columns are expensive in a triangle
    try:
        triangle_size(1, roomy)
    except TooWideError:
        return n_features
    return roomy


def _parameter(name: str) -> property:
    """A parameter of the estimator. A new value applies from the next sample on, if what was learned allows it."""

    def get(self: RiverClassifier) -> Any:
        return getattr(self._estimator, name)

    def set_(self: RiverClassifier, value: Any) -> None:
        estimator, before = self._estimator, getattr(self._estimator, name)
        setattr(estimator, name, value)
        try:
            specs = estimator._checked_specs()
            if self._learned():
                estimator._model = estimator._model.with_specs(specs, estimator._judged_by())
        except BaseException:
            setattr(estimator, name, before)
            raise
        self._path = None

    return property(get, set_)


def _warn_of_beginning_anew(n_features: int) -> None:
    warnings.warn(
        f"there are {n_features} features: from here on the candidates keep a diagonal covariance, and start over.",
        UserWarning,
        stacklevel=4,
    )
