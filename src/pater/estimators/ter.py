"""The batch solution that the online learners approach: weighted least squares, in closed form.

Knows `base`; `batch`, which keeps the solution and the moments that it is computed from; and `least_squares`, for
solutions without moments.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..files.model_file import BATCH_RULE
from ..kernels.run import Rows
from ..models.batch import Asked, BatchModel, solved_without_moments
from ..models.differences import check_classes
from ..models.errors import BadRowError
from ..models.labels import classes_and_codes
from ..models.matrices import first_bad_row, matrix_of, number_of_rows
from ..models.model import Model
from ..models.moments import is_too_wide
from ..models.pool import Pool
from ..models.settings import SETTINGS
from ..models.spec import Spec, Specs
from .base import LinearClassifier, at_least_two, wanted_classes
from .inputs import check_labels, check_sample_weight, not_all_zero, take_rows
from .least_squares import SMALL, solve
from .mergeable import check_features, check_type
from .parameters import OF_SOLVING

Floats = NDArray[np.float64]


class TERClassifier(LinearClassifier):
    """The batch total-error-rate solution: least squares in which each class weighs the same, however many rows it has.

    It can also be learned in parts, by `partial_fit` or shard by shard (`merge`), and is then the solution for all rows
    up to rounding, whatever the parts and their order. For that it keeps, for each class, the number of rows, their
    mean and a triangle of their second moments, from which `solve` can compute another solution at any time.

    Parameters
    ----------
    ridge : float, default=0.0
        Penalty on ‖w‖², relative to squared errors that sum to about one for each class.
    class_weight : dict of label: weight, "balanced" or None, default=None
        The α⁻ and α⁺ of the weighted total error rate. Without it the classes weigh the same, so "balanced" changes
        nothing.
    fit_intercept : bool, default=True
        Whether there is an intercept. It is not penalised.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn. More than two classes are learned one against the rest.

    References
    ----------
    Toh, "Deterministic neural classification", Neural Computation 20 (2008); eq. 9 in Jang's paper.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pater import TERClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(TERClassifier().fit(X, y).score(X, y), 3)
    0.974

    """

    _parameter_constraints: ClassVar = OF_SOLVING

    def __init__(self, ridge: float = 0.0, *, class_weight: Any = None, fit_intercept: bool = True) -> None:
        self.ridge = ridge
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for all rows at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Importance of each row; a row of weight 0 is left out.

        Returns
        -------
        self
            The estimator.
        """
        return self._all_or_nothing(self._fit, X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        asked = self._asked()
        rows, labels, s = self._checked(X, y, sample_weight, reset=True)
        classes, codes = classes_and_codes(labels)
        at_least_two(classes)
        self._check_weighted_classes(classes)
        not_all_zero(s)
        s = s if s.size else np.ones(labels.size)
        _on_both_sides(np.bincount(codes, s, classes.size), classes)
        width = int(self.n_features_in_)
        filled_in = len(rows) == 1 or number_of_rows(rows) * width <= SMALL
        if filled_in and not is_too_wide(classes.size, width):
            model = BatchModel.begun(classes, width, asked).learned(rows, labels, s)
            model.solve()
        else:
            matrix = matrix_of(rows, width)
            positives = [1] if classes.size == 2 else range(classes.size)
            solutions = [self._one_against_rest(matrix, codes == k, s, classes, k) for k in positives]
            model = solved_without_moments(classes, width, solutions, asked)
        self._model = model

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows. The solution is that of all rows so far, and is computed when needed.

        Up to rounding, it does not depend on how rows are split into calls. Changed parameters apply from now on, to
        all rows. Sparse rows are made dense, some at a time; with d columns, moments take up to 2·d² numbers for each
        class, and 4 GiB in total at most.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of labels, optional
            All classes. If given, any other label is an error; if not, a class that appears later is added, as if it
            had been known from the start. As long as there are rows of only one class, that class is predicted.
        sample_weight : array-like of shape (n_samples,), optional
            Importance of each row; a row of weight 0 is left out.

        Returns
        -------
        self
            The estimator.
        """
        return self._all_or_nothing(self._partial_fit, X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        asked = self._asked()
        model: BatchModel | None = vars(self).get("_model")
        rows, labels, s = self._checked(X, y, sample_weight, reset=model is None)
        wanted = None if classes is None else wanted_classes(classes, model)
        if model is None:
            if wanted is not None:
                self._check_weighted_classes(wanted)
            known = np.empty(0, labels.dtype) if wanted is None else wanted
            model = BatchModel.begun(known, int(self.n_features_in_), asked)
        model = model.solved(asked)
        if wanted is not None:
            model = model.with_classes(wanted)
            model.fixed = True
        self._check_weights_to_learn(model, labels)
        self._model = model.learned(rows, labels, s)

    def merge(self, other: Self) -> Self:
        """Add what `other` has learned from other rows: the solution is that of the rows of both, up to rounding.

        The current parameters of this estimator apply.

        Parameters
        ----------
        other : TERClassifier
            Fitted on the same features. Its parameters and classes may differ.

        Returns
        -------
        self
            The estimator.
        """
        asked, mine = self._asked(), self._batch()
        check_type(self, other)
        theirs = other._batch()
        check_features(self, other)
        check_classes(theirs.classes, mine.classes)
        both = mine.solved(asked).merge(theirs)
        self._check_weights_to_learn(both, both.classes)
        self._model = both
        return self

    def solve(self) -> Self:
        """Solve again, without data, with the current parameters: another `ridge`, for example, or `class_weight`.

        Returns
        -------
        self
            The estimator.
        """
        model = self._batch().solved(self._asked())
        self._check_weighted_classes(model.classes)
        self._model = model
        return self

    @property
    def t_(self) -> int:
        """The number of rows of positive weight in the moments."""
        moments = self._batch().moments
        if moments is None:
            raise AttributeError("t_ is not known: only the solution was kept.")
        return moments.rows

    def _batch(self) -> BatchModel:
        model = self._fitted_model()
        assert isinstance(model, BatchModel)
        return model

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, NDArray[Any], Floats]:
        """Checked rows, their labels, and their weights, if there are any."""
        rows = take_rows(self, X, reset=reset)
        labels, s = check_labels(y, rows), check_sample_weight(sample_weight, rows)
        bad = first_bad_row(rows)
        if bad >= 0:
            raise BadRowError(rows, bad)
        return rows, labels, s

    def _asked(self) -> Asked:
        """The settings from the parameters."""
        self._validate_params()
        return Asked(float(self.ridge), self._specs())

    def _specs(self) -> Specs:
        weight = SETTINGS["class_weight"].checked(self.class_weight, "class_weight")
        return (Spec(BATCH_RULE, class_weight=weight, intercept=bool(self.fit_intercept)),)

    def _one_against_rest(
        self, X: Any, positive: NDArray[np.bool_], s: Floats, classes: NDArray[Any], k: int
    ) -> tuple[Floats, float]:
        n_pos, n_neg = float(s[positive].sum()), float(s[~positive].sum())
        alpha_pos = alpha_neg = 1.0
        if isinstance(self.class_weight, dict):
            weight = [self.class_weight.get(label, 1.0) for label in classes.tolist()]
            alpha_pos, alpha_neg = weight[k], weight[0] if classes.size == 2 else 1.0
        v = s * np.where(positive, alpha_pos / n_pos, alpha_neg / n_neg)
        return solve(X, np.where(positive, 1.0, -1.0), v, ridge=self.ridge, intercept=self.fit_intercept)

    def _to_save(self) -> Model:
        model = self._batch().with_specs(self._specs())
        model.ridge = float(self.ridge)
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError("coef_ or intercept_ is not finite: scale the columns, fit again, then save.")
        return model

    def _take_over(self, model: Model | Pool) -> None:
        if not isinstance(model, BatchModel):
            raise ValueError("its settings are not those of its estimator")
        self._model = model


def _on_both_sides(weights: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise an error if one class has no weight, or all of it."""
    for k in [1] if classes.size == 2 else range(classes.size):
        if weights[k] == 0 or weights.sum() == weights[k]:
            raise ValueError(
                f"sample_weight leaves no sample on one side of class {classes[k]!r}: nothing to separate."
            )
