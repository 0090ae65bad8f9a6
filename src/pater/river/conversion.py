"""Conversion between estimators and River classifiers.

Knows `learners` and `models/placement.py`.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from ..models.placement import with_columns_at
from . import learners
from .classifier import RiverClassifier
from .rows import Columns

LEARNERS: dict[type, type[RiverClassifier]] = {
    kind._kind: kind
    for kind in vars(learners).values()
    if isinstance(kind, type) and issubclass(kind, RiverClassifier) and kind is not RiverClassifier
}


def to_river(estimator: Any) -> RiverClassifier:
    """Convert an estimator to a River classifier that continues where it stopped.

    Parameters
    ----------
    estimator
        An online learner of pater, fitted or not. It is not changed.

    Returns
    -------
    A classifier of `pater.river`. Its feature names are those of the estimator, or else the numbers 0, 1, … that
    `river.stream.iter_array` gives to the columns of an array.

    Examples
    --------
    >>> import pater
    >>> from pater.river import to_river
    >>> model = to_river(pater.PATERClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"]))
    >>> model.predict_one({0: 2.0, 1: 0.0})
    'yes'
    """
    kind = LEARNERS.get(type(estimator))
    if kind is None:
        names = ", ".join(sorted(each.__name__ for each in LEARNERS))
        raise TypeError(f"a {type(estimator).__name__} is not one of the online learners: {names}.")
    result = kind()
    result._estimator = copy(estimator) if estimator.__sklearn_is_fitted__() else clone(estimator)
    if estimator.__sklearn_is_fitted__():
        given = result._estimator.__dict__.pop("feature_names_in_", range(estimator.n_features_in_))
        result._columns = Columns((name, column) for column, name in enumerate(given))
    return result


def from_river(model: Any) -> Any:
    """Convert a classifier of `pater.river` to an estimator.

    Parameters
    ----------
    model
        A classifier of `pater.river`. It is not changed.

    Returns
    -------
    An estimator with the same parameters, fitted if anything was learned. Its columns are the features by name, in
    order of appearance; features named 0, 1, … become columns without names, in the order of these numbers.

    Examples
    --------
    >>> from pater.river import PATERClassifier, from_river
    >>> model = PATERClassifier()
    >>> model.learn_one({"a": 1.0, "b": 0.0}, True)
    >>> model.learn_one({"a": 0.0, "b": 1.0}, False)
    >>> from_river(model).feature_names_in_
    array(['a', 'b'], dtype=object)
    """
    if not isinstance(model, RiverClassifier) or type(model) not in LEARNERS.values():
        last = getattr(model, "_last_step", None)
        advice = f" Hand over its last step, {type(last).__name__}." if isinstance(last, RiverClassifier) else ""
        raise TypeError(f"a {type(model).__name__} is not a classifier of pater.river.{advice}")
    if not model._learned():
        return clone(model._estimator)
    names, result = list(model._columns), copy(model._estimator)
    places, n_features = np.arange(len(names)), max(1, len(names))
    if all(type(name) is int for name in names) and sorted(names) == places.tolist():  # type: ignore[type-var]
        places, names = np.array(names, np.int64), []
    learned = result._model
    learned.resize(n_features)
    result._model = with_columns_at(learned, places, n_features).copy()
    result.n_features_in_ = n_features
    if names:
        if len(set(map(str, names))) < len(names):
            raise TypeError(
                "two features have names that are the same as text; an estimator could not tell them apart."
            )
        result.feature_names_in_ = np.array(list(map(str, names)), object)
    return result
