"""A pipeline of scikit-learn transformers that can learn from a stream, which scikit-learn's own Pipeline cannot.

Knows scikit-learn, what a label is, `steps`, `growth`, and `warm_up`, where rows are held back.
"""

from __future__ import annotations

import os
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from ..models.labels import as_labels
from .available import Condition, available_unless
from .base import LinearClassifier
from .growth import check_steps, make_room, tell_levels, with_columns_moved
from .inputs import one_column
from .mergeable import check_type
from .steps import Steps, all_or_nothing, check_sense, copied, learn, params_of, passed_on
from .table_encoder import TableEncoder
from .table_inputs import weighing
from .warm_up import WarmUp, is_warming_up, weights_of


def _last_has(name: str) -> Condition:
    """Whether the last step has this method; otherwise the error says why it does not."""

    def why_not(self: Any) -> str | None:
        try:
            getattr(self.steps[-1][1], name)
        except AttributeError as error:
            return f"of its last step, {self.steps[-1][0]!r}: {error}"
        return None

    return available_unless(why_not)


class OnlinePipeline(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Transformers and a classifier, one after the other, with `partial_fit`.

    In `partial_fit`, each transformer that has a `partial_fit` of its own first learns from the batch, then transforms
    it for the next step; one without is assumed to need no learning (FeatureHasher, HashingVectorizer, a fitted
    scaler). A `pater.preprocessing.TableEncoder` as the first step encodes each row from the rows up to it; it holds
    back the first rows until it knows how to encode them. Predictions made meanwhile are as if the stream ended there.

    Parameters
    ----------
    steps : list of (name, estimator)
        The last is the classifier, which must have `partial_fit`.

    Attributes
    ----------
    classes_
        The labels of the classifier.
    n_features_in_, feature_names_in_
        Those of the first step.
    named_steps : dict
        The steps by name.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pater import PATERClassifier
    >>> from pater.stream import OnlinePipeline
    >>> X = np.random.default_rng(0).standard_normal((400, 3)) * [1, 10, 100]
    >>> y = X[:, 1] > 5
    >>> model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())])
    >>> for start in range(0, 400, 100):
    ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> round(model.score(X, y), 2)
    0.9
    """

    _warm_up: WarmUp | None

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        self.steps = steps

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Forget everything and fit all steps on X, without rows of weight 0; parameters as in `partial_fit`."""
        check_sense(self.steps)
        X, y, params = weighing(X, y, passed_on(self.steps, sample_weight, params), some=True)
        steps = [(name, clone(step)) for name, step in self.steps]
        for _, step in steps[:-1]:
            X = step.fit(X, y).transform(X)
            if isinstance(step, TableEncoder):
                step._stream.settle()  # the classifier learns from these rows: none is held back for later
        tell_levels(steps, X)
        steps[-1][1].fit(X, y, **params)
        self.steps, self._warm_up = steps, None
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Learn from some more rows: each step from the output of the one before it.

        Rows with a `sample_weight` of 0 are left out. Further parameters are those of the classifier's `partial_fit`.
        """
        check_sense(self.steps)
        X, y, params = weighing(X, y, passed_on(self.steps, sample_weight, params))
        if not np.size(params.get("sample_weight", 1.0)):
            return self
        if isinstance(self.steps[0][1], TableEncoder):
            self._learn_table(X, as_labels(one_column(y)), classes, params)
        else:
            with all_or_nothing(self.steps):
                learn(self.steps, X, y, classes, params)
        return self

    def _learn_table(self, X: Any, labels: Any, classes: Any, params: dict[str, Any]) -> None:
        if params.keys() - {"sample_weight"}:
            raise TypeError(f"behind a TableEncoder, only sample_weight can be passed on, got {sorted(params)}.")
        encoder, rest, warm_up = self.steps[0][1], self.steps[1:], None
        weights = params.get("sample_weight")
        if is_warming_up(encoder):
            known = vars(self).get("_warm_up") if "_stream" in vars(encoder) else None
            warm_up, labels = (known or WarmUp()).with_labels(rest[-1][1], labels, classes)
            classes = warm_up.named
            weights = np.ones(labels.size) if weights is None else weights
        with all_or_nothing(self.steps[:1]):
            pieces = encoder.partial_fit_transform(X, labels, weights)
            with all_or_nothing(rest, in_parts=len(pieces) > 1):
                for rows, of_rows, their_weights in pieces:
                    tell_levels(self.steps, rows)
                    learn(rest, rows, of_rows, classes, weights_of(their_weights))
        self._warm_up = None if pieces else warm_up

    def merge(self, other: Self) -> Self:
        """Add what another pipeline of a TableEncoder and an online learner has learned from other rows.

        Both must have begun with the same rows: let one learn the first ones (`warm_up`), copy it, and let each copy
        learn from a shard. Categories that only one of them has seen are added.

        Parameters
        ----------
        other : OnlinePipeline
            With the same steps and settings; an error names the first difference.

        Returns
        -------
        self
            The pipeline. `other` does not change; after an error, neither does this one.
        """
        check_type(self, other)
        steps, others = self.steps, other.steps
        check_steps(others, steps)
        encoder, columns = steps[0][1].placing(others[0][1])
        last, width = copy(steps[1][1]), len(encoder.get_feature_names_out())
        make_room(last, width, steps[1][0])
        last.merge(with_columns_moved(others[1][1], columns, width))
        self.steps = [(steps[0][0], encoder), (steps[1][0], last)]
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a pipeline of a TableEncoder and an online learner to a model file, as `pater train` does for a table.

        `pater.load` restores it to the bit, with the steps called "table" and "model"; `pater predict`, `explain`,
        `inspect` and `merge` read it, too. Other pipelines are an error, and so is saving while rows are held back.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        from .pipeline_file import save  # which knows every estimator

        save(self.steps, path)

    def _speaking(self) -> Steps:
        """The steps that predict: while rows are held back, copies that have also learned from these."""
        warm_up: WarmUp | None = vars(self).get("_warm_up")
        return self.steps if warm_up is None else warm_up.said(self.steps)

    def _transformed(self, X: Any) -> tuple[Any, Any]:
        """The classifier, and the transformed rows."""
        steps = self._speaking()
        for _, step in steps[:-1]:
            X = step.transform(X)
        return steps[-1][1], X

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        last, X = self._transformed(X)
        return last.predict(X)

    @_last_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """The margins of the classifier for each row."""
        last, X = self._transformed(X)
        return last.decision_function(X)

    @_last_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""
        last, X = self._transformed(X)
        return last.predict_proba(X)

    @_last_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        last, X = self._transformed(X)
        return last.predict_log_proba(X)

    def explain(self, X: Any) -> Any:
        """What each column adds to the margin of each row, compared with the average row.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        pandas DataFrame
            A line for each row; with more than two classes, one for each row and class. A column for each raw column of
            the table, and for each cross of two; then "(base)", the margin of the average row, and "(rounding)". The
            sum of a line from left to right is the margin that `decision_function` returns, to the bit. Behind
            transformers other than a `TableEncoder`, a column for each feature that the classifier sees.
        """
        from .explaining import described_by, explanation_frame

        last, rows = self._transformed(X)
        if not isinstance(last, LinearClassifier):
            raise TypeError(f"{type(last).__name__} is not a learner of pater and cannot be explained.")
        encoder = self._speaking()[0][1]
        is_table = isinstance(encoder, TableEncoder) and len(self.steps) == 2
        described = described_by(encoder, last._fitted_model().n_features) if is_table else None
        return explanation_frame(last, rows, described, X)

    def effect_curves(self) -> Any:
        """What each value of each raw column of the table adds to the margin.

        Effects are differences from the average row, so the effects of all columns and the margin of the average row
        add up to the margin. A cross of two columns has a curve of its own.

        Returns
        -------
        pandas DataFrame
            A line for each value or range of each column, with the columns that matter most first: `column`, `part`
            (for dates, "hour", "weekday" or "month"), `value`, for numbers and dates the range from `low` to below
            `high`, how many `rows` had it, its `effect` (of a range, at its middle) and its `standard_error`, NaN where
            the model has no estimate. With more than two classes, the first column is the `class` of the margin.
        """
        from .explaining import curves_frame

        return curves_frame(self._speaking())

    @property
    def named_steps(self) -> dict[str, Any]:
        """The steps by name; while rows are held back, as if the stream ended here."""
        return dict(self._speaking())

    @property
    def classes_(self) -> Any:
        """The labels, sorted."""
        return self._speaking()[-1][1].classes_

    @property
    def n_features_in_(self) -> int:
        """How many columns the first step has learned from."""
        return int(self.steps[0][1].n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Their names, where the first step knows them."""
        return self.steps[0][1].feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return vars(self).get("_warm_up") is not None or hasattr(self.steps[-1][1], "classes_")

    def __copy__(self) -> Self:
        """A copy that learns by itself."""
        result = type(self).__new__(type(self))
        result.__dict__.update(self.__dict__)
        result.steps = [(name, copied(step)) for name, step in self.steps]
        if vars(self).get("_warm_up") is not None:
            result._warm_up = copy(self._warm_up)  # without the steps that this one keeps for predictions
        return result

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The steps, and with `deep` the parameters of each as name__parameter."""
        return {"steps": self.steps, **(params_of(self.steps) if deep else {})}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the steps by name__parameter, or a step by its name."""
        if "steps" in params:
            self.steps = params.pop("steps")
        for name in [name for name, _ in self.steps if name in params]:
            value = params.pop(name)
            self.steps = [(each, value if each == name else step) for each, step in self.steps]
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in dict(self.steps) or not rest:
                raise ValueError(f"there is no parameter {key!r}; choose from {sorted(self.get_params())}.")
            dict(self.steps)[name].set_params(**{rest: value})
        return self
