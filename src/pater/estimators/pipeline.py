"""A pipeline of scikit-learn transformers that can learn from a stream, which scikit-learn's own Pipeline cannot.

Knows scikit-learn, what a label is, and `growth`.
"""

from __future__ import annotations

import os
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from ..models.labels import as_labels
from .alike import check_type
from .base import LinearClassifier
from .growth import check_steps, make_room, tell_levels, with_columns_moved
from .table_encoder import TableEncoder
from .table_inputs import weighing


def _last_has(name: str) -> Any:
    """Whether the last step has this method; otherwise the error says why it does not."""
    return available_if(lambda self: callable(getattr(self.steps[-1][1], name)))


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

    _ended: list[tuple[str, Any]] | None
    _holds: bool
    _classes: Any

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        self.steps = steps

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Forget everything and fit all steps on X, without rows of weight 0."""
        self._check()
        X, y, params = weighing(X, y, params)
        self.steps = [(name, clone(step)) for name, step in self.steps]
        self._holds, self._classes, self._ended = False, None, None
        for _, step in self.steps[:-1]:
            X = step.fit(X, y).transform(X)
            if isinstance(step, TableEncoder):
                step._stream.settle()  # the classifier learns from these rows: none is held back for later
        tell_levels(self.steps, X)
        self.steps[-1][1].fit(X, y, **params)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **params: Any) -> Self:
        """Learn from some more rows: each step from the output of the one before it.

        Further parameters are those of the classifier's `partial_fit`; rows with a `sample_weight` of 0 are left out.
        """
        self._check()
        X, y, params = weighing(X, y, params)
        if not np.size(params.get("sample_weight", 1.0)):
            return self
        first = self.steps[0][1]
        if not hasattr(first, "partial_fit_transform"):
            _learn(self.steps, X, y, classes, params)
            return self
        if params.keys() - {"sample_weight"}:
            raise TypeError(f"behind a TableEncoder, only sample_weight can be passed on, got {sorted(params)}.")
        weights, before = params.get("sample_weight"), copy(first)
        labels = as_labels(y)  # while rows are held back, nobody else looks at them
        pieces = first.partial_fit_transform(X, labels, None if weights is None else np.asarray(weights))
        rest = self.steps[1:]
        kept = [(step, deepcopy(vars(step)) if len(pieces) > 1 else dict(vars(step))) for _, step in rest]
        try:
            for rows, of_rows, their_weights in pieces:
                tell_levels(self.steps, rows)
                _learn(rest, rows, of_rows, *self._more(classes, their_weights))
        except BaseException:
            for step, attributes in [(first, vars(before)), *kept]:
                step.__dict__.clear()
                step.__dict__.update(attributes)
            raise
        self._classes = classes if classes is not None else vars(self).get("_classes")
        self._holds, self._ended = not pieces, None
        return self

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

    def _more(self, classes: Any, weights: Any) -> tuple[Any, dict[str, Any]]:
        """Further arguments for the classifier: the classes, if any call has named them, and weights."""
        classes = classes if classes is not None else vars(self).get("_classes")
        return classes, {} if weights is None else {"sample_weight": weights}

    def _speaking(self) -> list[tuple[str, Any]]:
        """The steps that predict: while rows are held back, copies that have also learned from these."""
        if not vars(self).get("_holds"):
            return self.steps
        if self._ended is None:
            rest = deepcopy(self.steps[1:])
            for rows, labels, weights in self.steps[0][1].held_back():
                tell_levels([self.steps[0], *rest], rows)
                _learn(rest, rows, labels, *self._more(None, weights))
            self._ended = [self.steps[0], *rest]
        return self._ended

    def _check(self) -> None:
        names = [name for name, _ in self.steps]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"steps must have different names, got {names}.")
        for name, step in self.steps[:-1]:
            if not hasattr(step, "transform"):
                raise TypeError(f"step {name!r} cannot transform: {step!r}.")
        name, last = self.steps[-1]
        if not hasattr(last, "partial_fit"):
            raise TypeError(f"the last step, {name!r}, has no partial_fit: {last!r}.")

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

    @_last_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The margins of the classifier for each row."""
        last, X = self._transformed(X)
        return last.decision_function(X)

    @_last_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""
        last, X = self._transformed(X)
        return last.predict_proba(X)

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

    def __sklearn_is_fitted__(self) -> bool:
        return bool(vars(self).get("_holds")) or hasattr(self.steps[-1][1], "classes_")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The steps, and with `deep` the parameters of each as name__parameter."""
        params: dict[str, Any] = {"steps": self.steps}
        if deep:
            for name, step in self.steps:
                params[name] = step
                params |= {f"{name}__{key}": value for key, value in step.get_params(deep=True).items()}
        return params

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
                raise ValueError(f"there is no parameter {key!r}; there are {sorted(self.get_params())}.")
            dict(self.steps)[name].set_params(**{rest: value})
        return self


def _learn(steps: list[tuple[str, Any]], X: Any, y: Any, classes: Any, params: dict[str, Any]) -> None:
    """Let each step learn from the output of the one before it."""
    for _, step in steps[:-1]:
        if hasattr(step, "partial_fit"):
            step.partial_fit(X, y)
        X = step.transform(X)
    name, last = steps[-1]
    make_room(last, X.shape[1], name)
    last.partial_fit(X, y, **params, **({} if classes is None else {"classes": classes}))
