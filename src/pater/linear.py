"""The online learners as scikit-learn estimators.

Knows scikit-learn, `base` and `model`; holds no mathematics: it checks what the caller hands over, lets `model` learn,
and shows what was learned.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from .base import LinearClassifier, at_least_two
from .batch import number_of_rows
from .inputs import check_labels, check_sample_weight, not_all_zero, take_rows
from .labels import encode
from .model import Model, Spec, UnknownLabelError
from .passes import IN_ORDER, Rows, available_threads
from .predictions import margins_of


class _OnlineClassifier(LinearClassifier):
    """What all online learners share. A subclass says which rule its parameters name."""

    _model: Model

    def __init__(
        self,
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.average = average
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rule(self) -> tuple[str, float]:
        """The rule's name in the table of rules, and C."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, in order, `n_passes` times.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Importance of each sample; a sample of weight 0 is skipped.

        Returns
        -------
        self
            The estimator.
        """
        return self._all_or_nothing(self._fit, X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        spec = self._spec()
        go_on = self.warm_start and self.__sklearn_is_fitted__()
        rows = take_rows(self, X, reset=not go_on)
        labels = check_labels(y, rows)
        weights = check_sample_weight(sample_weight, rows)
        not_all_zero(weights)
        n_features = int(self.n_features_in_)
        model = self._model.copy() if go_on else Model.new(np.empty(0, labels.dtype), n_features, spec.rule)
        encoded = encode(labels, model.classes)
        if model.fixed and encoded.new.size:
            raise UnknownLabelError(encoded.new[0], int(encoded.first_rows[0]), model.classes)
        found = np.concatenate([model.classes, encoded.new]) if model.classes.size else encoded.new
        at_least_two(found)
        self._check_weighted_classes(found)
        rank = np.argsort(np.argsort(found, kind="stable"), kind="stable")
        codes = encoded.codes if (rank == np.arange(rank.size)).all() else rank[encoded.codes]
        if go_on:
            for label in encoded.new:
                model.add_class(label)
        else:
            model = Model.new(np.sort(found), n_features, spec.rule)
        random = check_random_state(self.random_state) if self.shuffle else None
        for _ in range(self.n_passes):
            order = IN_ORDER if random is None else random.permutation(number_of_rows(rows)).astype(np.int64)
            model.learn_all(rows, codes, spec, weights=weights, order=order, threads=self._threads())
        self._model = model

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, once and in order.

        The result does not depend on how a stream is cut into calls.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of labels, optional
            All classes there will be. With it, a label outside is an error; without it, a class that turns up later is
            added, and its one-vs-rest model starts at the row that brings it.
        sample_weight : array-like of shape (n_samples,), optional
            Importance of each sample; a sample of weight 0 is skipped.

        Returns
        -------
        self
            The estimator.
        """
        return self._all_or_nothing(self._partial_fit, X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        spec = self._spec()
        model: Model | None = vars(self).get("_model")
        rows = take_rows(self, X, reset=model is None)
        labels = check_labels(y, rows)
        weights = check_sample_weight(sample_weight, rows)
        if classes is not None:
            model = self._with_fixed_classes(model, classes, spec.rule)
        elif model is None:
            model = Model.new(np.empty(0, labels.dtype), self.n_features_in_, spec.rule)
        model.learn(rows, labels, spec, weights=weights, threads=self._threads())
        self._model = model

    def _with_fixed_classes(self, model: Model | None, classes: Any, rule: str) -> Model:
        wanted = np.unique(np.asarray(classes))
        if wanted.size < 2:
            raise ValueError(f"classes must name at least two labels, got {wanted.tolist()}.")
        if model is None:
            self._check_weighted_classes(wanted)
            return Model.new(wanted, self.n_features_in_, rule, fixed=True)
        if not np.array_equal(wanted, model.classes):
            if model.fixed or not np.isin(model.classes, wanted).all():
                raise ValueError(
                    f"`classes={wanted.tolist()}` is not the same as on the last call to partial_fit, was: "
                    f"{model.classes.tolist()}."
                )
            model = model.copy()
            for label in np.setdiff1d(wanted, model.classes):
                model.add_class(label)
        model.fixed = True
        return model

    def merge(self, other: Self) -> Self:
        """Take in what `other` has learned from other rows of the same kind.

        Class sums and counts add exactly. The weights become the average of both, by the number of samples each has
        seen.

        Parameters
        ----------
        other : estimator of the same class
            Fitted on the same features, with the same rule.

        Returns
        -------
        self
            The estimator.
        """
        mine = self._fitted_model()
        if type(other) is not type(self):
            raise TypeError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        theirs, spec = other._fitted_model(), self._spec()
        if other._spec() != spec:
            raise ValueError(f"cannot merge models of different settings: {spec} and {other._spec()}.")
        if mine.state.n_features != theirs.state.n_features:
            raise ValueError(
                f"cannot merge models of {mine.state.n_features} and of {theirs.state.n_features} features."
            )
        names, other_names = self._names(), other._names()
        if names is not None and other_names is not None and not np.array_equal(names, other_names):
            raise ValueError("cannot merge models of different features: feature_names_in_ differ.")
        self._model = mine.merge(theirs, average=spec.average)
        return self

    def _margins(self, rows: Rows) -> NDArray[np.float64]:
        return margins_of(rows, number_of_rows(rows), self._model.state, average=self.average)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._fitted_model().classes

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights, (1, n_features) for two classes, else (n_classes, n_features). Made when asked for."""
        return self._fitted_model().state.weights(average=self.average)[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept of each model."""
        return self._fitted_model().state.weights(average=self.average)[1]

    @property
    def t_(self) -> int:
        """How many samples the model has seen."""
        return int(self._fitted_model().state.scalars["t"].max())

    def _fitted_model(self) -> Model:
        model: Model | None = vars(self).get("_model")
        if model is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one pass over the few hundred rows of scikit-learn's checks
        return tags

    def _threads(self) -> int:
        return available_threads() if self.n_jobs is None or self.n_jobs < 0 else int(self.n_jobs)

    def _spec(self) -> Spec:
        """The settings that the parameters say, checked."""
        rule, C = self._rule()
        weight = self.class_weight
        if isinstance(weight, dict):
            weight = tuple(weight.items())
        spec = Spec(rule, C, weight, bool(self.fit_intercept), bool(self.average))
        key = (spec, self.n_passes, self.n_jobs)
        if vars(self).get("_checked") != key:
            self._check(spec)
            self._checked = key
        return spec

    def _check(self, spec: Spec) -> None:
        if not (isinstance(spec.C, int | float | np.number) and spec.C > 0):
            raise ValueError(f"C must be a positive number, got {spec.C!r}.")
        self._check_class_weight()
        if not (isinstance(self.n_passes, int | np.integer) and self.n_passes >= 1):
            raise ValueError(f"n_passes must be a whole number of at least 1, got {self.n_passes!r}.")
        if self.n_jobs is not None and not (isinstance(self.n_jobs, int | np.integer) and self.n_jobs != 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}.")


class PATERClassifier(_OnlineClassifier):
    """Passive-aggressive minimisation of the total error rate, the sum of false-positive and false-negative rates.

    Each step moves the weights along the difference of the class means, by as much as the loss asks for. With
    `class_weight` it is the weighted form, wPATER, whose α⁻ and α⁺ are the weights of the classes.

    Parameters
    ----------
    variant : {"I", "II"}, default="I"
        "I" learns from samples inside the margin only, by the loss of each; "II" learns from every sample, by the mean
        loss so far.
    class_weight : dict of label: weight, "balanced" or None, default=None
        "balanced" is n/(2·n_c) of the samples seen so far, in `partial_fit` as in `fit`.
    fit_intercept : bool, default=True
        Whether there is a constant feature 1. It takes part in the class means.
    n_passes : int, default=1
        How often `fit` passes over the data.
    shuffle : bool, default=False
        Whether each pass of `fit` takes the rows in a new random order.
    average : bool, default=False
        Whether predictions use the average of the weights after each sample.
    warm_start : bool, default=False
        Whether `fit` goes on from what was learned before.
    random_state : int, RandomState or None, default=None
        For `shuffle`.
    n_jobs : int or None, default=None
        Threads that share the classes of a multiclass problem; None for one on each processor.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn; `coef_` and `intercept_` are made when asked for.
    t_ : int
        Samples seen.

    References
    ----------
    Se-In Jang, "Online Passive-Aggressive Total-Error-Rate Minimization".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from pater import PATERClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PATERClassifier().fit(scale(X), y)
    >>> round(model.score(scale(X), y), 3)
    0.963

    """

    def __init__(
        self,
        variant: str = "I",
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weight=class_weight,
            fit_intercept=fit_intercept,
            n_passes=n_passes,
            shuffle=shuffle,
            average=average,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.variant = variant

    def _rule(self) -> tuple[str, float]:
        if self.variant not in ("I", "II"):
            raise ValueError(f"variant must be 'I' or 'II', got {self.variant!r}.")
        return f"pater-{self.variant.lower()}", 1.0


class PassiveAggressiveClassifier(_OnlineClassifier):
    """Passive-aggressive learning: the smallest step after which a sample is right by a margin of 1.

    Unlike in scikit-learn and River, the intercept's constant 1 is part of ‖x‖², so that an uncapped step ends exactly
    on the margin.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA" always goes all the way; "PA-I" goes at most `C`; "PA-II" goes less far, the smaller `C` is.
    C : float, default=1.0
        Aggressiveness. Not used by "PA".
    class_weight, sample_weight
        Multiply the step.
    fit_intercept, n_passes, shuffle, average, warm_start, random_state, n_jobs
        As in :class:`PATERClassifier`.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online Passive-Aggressive Algorithms", JMLR 7 (2006).

    Examples
    --------
    >>> from pater import PassiveAggressiveClassifier
    >>> model = PassiveAggressiveClassifier("PA").partial_fit([[2.0, 0.0]], [1], classes=[0, 1])
    >>> model.decision_function([[2.0, 0.0]])
    array([1.])

    """

    def __init__(
        self,
        variant: str = "PA-I",
        C: float = 1.0,
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            class_weight=class_weight,
            fit_intercept=fit_intercept,
            n_passes=n_passes,
            shuffle=shuffle,
            average=average,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.variant = variant
        self.C = C

    def _rule(self) -> tuple[str, float]:
        if self.variant not in ("PA", "PA-I", "PA-II"):
            raise ValueError(f"variant must be 'PA', 'PA-I' or 'PA-II', got {self.variant!r}.")
        return self.variant.lower(), self.C


class Perceptron(_OnlineClassifier):
    """Rosenblatt's rule: a mistake adds the sample to the weights, or takes it away.

    Parameters
    ----------
    class_weight, fit_intercept, n_passes, shuffle, average, warm_start, random_state, n_jobs
        As in :class:`PATERClassifier`; weights multiply the step.

    Examples
    --------
    >>> from pater import Perceptron
    >>> Perceptron().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]).predict([[-1.0], [4.0]])
    array(['no', 'yes'], dtype='<U3')

    """

    def _rule(self) -> tuple[str, float]:
        return "perceptron", 1.0
