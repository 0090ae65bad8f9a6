"""Merging any number of models into one.

Knows models only by their method `merge`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, TypeVar

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..models.differences import DifferenceError

T = TypeVar("T")


def merge_all(models: Iterable[T]) -> T:
    """Merge models, each trained on different rows, into a new one. The given models do not change, even on an error.

    Models are merged one by one in the order given, so a generator, for example of `pater.load`, needs memory for only
    two. Any other order or grouping gives the same up to rounding.

    Classes that only some models have seen are added to the others; a model that has seen only one class, or no row
    (all of weight 0), contributes what it has. With three or more classes, a model that lacks a class has no negative
    rows for it: pass `classes` to `partial_fit` if shards may lack some, otherwise the order matters. Settings,
    features and the type of the classes must be the same: an error names the first difference and the number of the
    model, counted from 1. A model that is not fitted is an error, too.

    Parameters
    ----------
    models : iterable of estimators, pipelines or encoders
        Fitted, with the same settings, on the same features.

    Returns
    -------
    estimator
        A new one; for a single model, a copy.

    Examples
    --------
    >>> import pater
    >>> shards = [([[0.0], [3.0]], ["no", "yes"]), ([[1.0], [5.0]], ["no", "yes"])]
    >>> model = pater.merge_all(pater.PATERClassifier("II").fit(X, y) for X, y in shards)
    >>> model.t_
    4
    """
    if isinstance(models, str | bytes | os.PathLike) or not isinstance(models, Iterable):
        raise TypeError(f"merge_all expects several models, for example in a list, not {_shown(models)}.")
    result: Any = None
    several, number = iter(models), 0
    while True:
        number += 1
        try:
            result = _with(result, next(several), number)  # nobody holds what was merged while the next is made
        except StopIteration:
            break
    if result is None:
        raise ValueError("merge_all expects at least one model.")
    return result  # type: ignore[no-any-return]


def _with(result: Any, model: Any, number: int) -> Any:
    """Merge one more model into the result so far; an error says which model it was."""
    if not (hasattr(model, "merge") and hasattr(model, "fit")) or isinstance(model, type):
        raise TypeError(f"model {number} is {_shown(model)}, which cannot be merged.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"model {number} is not fitted: {_shown(model)} that has learned nothing.") from None
    if result is None:
        return deepcopy(model)
    if type(model) is not type(result):
        raise TypeError(f"model {number} is {_shown(model)} where model 1 is {_shown(result)}.")
    try:
        return result.merge(model)
    except DifferenceError as error:
        raise ValueError(error.told(f"model {number}", "model 1")) from None
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"model {number} cannot be merged with those before it: {error}") from None


def _shown(value: Any) -> str:
    """What was given instead of models, with a hint if it is a file."""
    if isinstance(value, str | bytes | os.PathLike):
        return f"the name of a file ({os.fspath(value)!r}): use pater.load to get the model in it"
    name = type(value).__name__ if not isinstance(value, type) else f"class {value.__name__}"
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
