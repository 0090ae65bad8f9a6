"""A pipeline of scikit-learn transformers that can learn from a stream, which scikit-learn's own Pipeline cannot.

Knows scikit-learn; knows no learner of this package.
"""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if


def _last_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.steps[-1][1], name))


class OnlinePipeline(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Transformers and a classifier, one after the other, with `partial_fit`.

    In `partial_fit` each transformer that has a `partial_fit` of its own first learns from the batch, then transforms
    it for the next step; one without is taken to need no learning (FeatureHasher, HashingVectorizer, a fitted scaler).

    Parameters
    ----------
    steps : list of (name, estimator)
        The last is the classifier, and has `partial_fit`.

    Attributes
    ----------
    classes_
        Of the classifier.
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

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        self.steps = steps

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Forget everything, fit each step on all of X, and the classifier on what comes out."""
        self._check()
        self.steps = [(name, clone(step)) for name, step in self.steps]
        for _, step in self.steps[:-1]:
            X = step.fit(X, y).transform(X)
        self.steps[-1][1].fit(X, y, **params)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **params: Any) -> Self:
        """Learn from some more rows: each step from what comes out of the one before it."""
        self._check()
        for _, step in self.steps[:-1]:
            if hasattr(step, "partial_fit"):
                step.partial_fit(X, y)
            X = step.transform(X)
        if classes is not None:
            params["classes"] = classes
        self.steps[-1][1].partial_fit(X, y, **params)
        return self

    def _check(self) -> None:
        names = [name for name, _ in self.steps]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"steps must have names of their own, got {names}.")
        for name, step in self.steps[:-1]:
            if not hasattr(step, "transform"):
                raise TypeError(f"step {name!r} cannot transform: {step!r}.")
        name, last = self.steps[-1]
        if not hasattr(last, "partial_fit"):
            raise TypeError(f"the last step, {name!r}, has no partial_fit: {last!r}.")

    def _transformed(self, X: Any) -> Any:
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return X

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        return self.steps[-1][1].predict(self._transformed(X))

    @_last_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """What the classifier says of each row."""
        return self.steps[-1][1].decision_function(self._transformed(X))

    @_last_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""
        return self.steps[-1][1].predict_proba(self._transformed(X))

    @property
    def named_steps(self) -> dict[str, Any]:
        """The steps by name."""
        return dict(self.steps)

    @property
    def classes_(self) -> Any:
        """The labels, sorted."""
        return self.steps[-1][1].classes_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.steps[-1][1], "classes_")

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
            if name not in self.named_steps or not rest:
                raise ValueError(f"there is no parameter {key!r}; there are {sorted(self.get_params())}.")
            self.named_steps[name].set_params(**{rest: value})
        return self
