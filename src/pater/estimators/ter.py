"""The batch solution that the online learners approach: weighted least squares, in closed form.

Knows `base`, NumPy and SciPy; and `state`, where the solution is kept as any other model is.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..files.model_file import BATCH_RULE
from ..kernels.memory import POINT_U
from ..kernels.state import State
from ..models.errors import BadRowError
from ..models.labels import classes_and_codes
from ..models.matrices import first_bad_row, matrix_of
from ..models.model import Model
from ..models.pool import Pool
from ..models.settings import SETTINGS
from ..models.spec import Spec, Specs
from .base import LinearClassifier, at_least_two
from .inputs import check_labels, check_sample_weight, not_all_zero, take_rows
from .parameters import OF_SOLVING

Floats = NDArray[np.float64]

SMALL = 1 << 25  # numbers: up to here a sparse system is filled in and solved directly
OUT_OF_STEPS = 7  # what LSMR calls it


def solve(X: Any, y: Floats, v: Floats, *, ridge: float, intercept: bool) -> tuple[Floats, float]:
    """The w and b that minimise Σ vᵢ(yᵢ − w·xᵢ − b)² + ridge·‖w‖²; the shortest such w where there are many.

    The intercept is not penalised: rows and labels are centred on their weighted means, and b follows. Dense systems
    are solved by a singular value decomposition, sparse ones by LSMR, which never fills them in. Neither squares the
    condition of X, as the normal equations of eq. 9 would.
    """
    root = np.sqrt(v)
    d = X.shape[1]
    x_mean, y_mean = np.zeros(d), 0.0
    if intercept:
        x_mean, y_mean = np.asarray(v @ X).ravel() / v.sum(), float(v @ y) / v.sum()
    target = root * (y - y_mean)
    if sp.issparse(X) and X.shape[0] * d <= SMALL:
        X = X.toarray()
    if sp.issparse(X):
        size = np.sqrt(np.asarray(X.multiply(X).T @ v).ravel() + ridge)  # columns of like size: fewer steps
        size[size == 0] = 1.0
        system = scipy.sparse.linalg.LinearOperator(
            X.shape,
            matvec=lambda u: root * (X @ (u.ravel() / size) - x_mean @ (u.ravel() / size)),
            rmatvec=lambda r: (X.T @ (root * r.ravel()) - x_mean * (root @ r.ravel())) / size,
            dtype=np.float64,
        )
        if ridge > 0:  # the penalty is on w, not on what is solved for
            system = _stacked(system, math.sqrt(ridge) / size)
            target = np.concatenate([target, np.zeros(d)])
        u, stopped, *_ = scipy.sparse.linalg.lsmr(
            system, target, atol=1e-13, btol=1e-13, conlim=0, maxiter=20 * d + 100
        )
        if stopped == OUT_OF_STEPS:
            warnings.warn("TERClassifier did not converge: scale the columns, or add a ridge.", ConvergenceWarning, 2)
        w = u / size
    else:
        A = root[:, None] * (X - x_mean)
        if ridge > 0:
            A, target = np.vstack([A, math.sqrt(ridge) * np.eye(d)]), np.concatenate([target, np.zeros(d)])
        rounding = np.finfo(np.float64).eps * max(A.shape)
        w = scipy.linalg.lstsq(A, target, cond=rounding, overwrite_a=True, check_finite=False)[0]
    return w, y_mean - float(x_mean @ w)


def _stacked(top: Any, diagonal: Floats) -> Any:
    """The operator `top` over the matrix with this diagonal."""
    n, d = top.shape
    return scipy.sparse.linalg.LinearOperator(
        (n + d, d),
        matvec=lambda u: np.concatenate([top.matvec(u.ravel()), diagonal * u.ravel()]),
        rmatvec=lambda r: top.rmatvec(r.ravel()[:n]) + diagonal * r.ravel()[n:],
        dtype=np.float64,
    )


class TERClassifier(LinearClassifier):
    """The batch total-error-rate solution: least squares in which each class weighs the same, however many it has.

    Parameters
    ----------
    ridge : float, default=0.0
        Penalty on ‖w‖², beside squared errors that sum to about one for each class.
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
        SETTINGS["class_weight"].checked(self.class_weight, "class_weight")
        self._validate_params()
        rows = take_rows(self, X, reset=True)
        labels, s = check_labels(y, rows), check_sample_weight(sample_weight, rows)
        bad = first_bad_row(rows)
        if bad >= 0:
            raise BadRowError(rows, bad)
        classes, codes = classes_and_codes(labels)
        at_least_two(classes)
        self._check_weighted_classes(classes)
        s = s if s.size else np.ones(labels.size)
        not_all_zero(s)
        matrix = matrix_of(rows, int(self.n_features_in_))
        positives = [1] if classes.size == 2 else range(classes.size)
        solutions = [self._one_against_rest(matrix, codes == k, s, classes, k) for k in positives]
        state = State.new(len(solutions), int(self.n_features_in_), means=False)
        for k, (w, b) in enumerate(solutions):
            state.vectors[k, POINT_U], state.scalars["bias"][k] = w, b
        state.scalars["t"] = 1  # a state that has seen nothing counts as empty
        self._model = Model(classes, state, self._specs(), fixed=True)

    def _specs(self) -> Specs:
        weight = SETTINGS["class_weight"].checked(self.class_weight, "class_weight")
        return (Spec(BATCH_RULE, class_weight=weight, intercept=bool(self.fit_intercept)),)

    def _one_against_rest(
        self, X: Any, positive: NDArray[np.bool_], s: Floats, classes: NDArray[Any], k: int
    ) -> tuple[Floats, float]:
        n_pos, n_neg = float(s[positive].sum()), float(s[~positive].sum())
        if n_pos == 0 or n_neg == 0:
            raise ValueError(
                f"sample_weight leaves no sample on one side of class {classes[k]!r}: nothing to separate."
            )
        alpha_pos = alpha_neg = 1.0
        if isinstance(self.class_weight, dict):
            weight = [self.class_weight.get(label, 1.0) for label in classes.tolist()]
            alpha_pos, alpha_neg = weight[k], weight[0] if classes.size == 2 else 1.0
        v = s * np.where(positive, alpha_pos / n_pos, alpha_neg / n_neg)
        return solve(X, np.where(positive, 1.0, -1.0), v, ridge=self.ridge, intercept=self.fit_intercept)

    def _to_save(self) -> Model:
        model = self._fitted_model()
        assert isinstance(model, Model)
        model = replace(model, specs=self._specs())
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError("coef_ or intercept_ is not finite: scale the columns, fit again, then save.")
        return model

    def _take_over(self, model: Model | Pool) -> None:
        if [spec.rule for spec in model.specs] != [BATCH_RULE]:
            raise ValueError("its settings are not those of its estimator")
        self._model = model
