"""Any number of models made one.

Knows what can be merged by its `merge` alone.
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
    """One model of what all have learned, each from rows of its own; they stay as they are, after an error, too.

    Models are taken one by one in the order given, so that a generator, for example of `pater.load`, needs memory
    for two. Any other order or grouping gives the same to rounding.

    Classes that only some of them have met are added to the others; a model that has met one class only, or no row
    (all of weight 0), adds what it knows. Of three classes and more, a model that has not met a class has no rows
    against it: give `classes` to `partial_fit` where shards may lack some, or the order matters. Settings, features and
    the type of the classes must be the same: an error names the first difference and the number of the model, from 1
    on. So does one for a model that is not fitted.

    Parameters
    ----------
    models : iterable of estimators, pipelines or encoders
        Fitted, with the same settings, on the same features.

    Returns
    -------
    estimator
        A new one; of a single model, a copy.

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
    """What was merged so far, a new one, with one more model; an error says which."""
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
    """What somebody has given, and what to do about a file."""
    if isinstance(value, str | bytes | os.PathLike):
        return f"the name of a file ({os.fspath(value)!r}): use pater.load to get the model in it"
    name = type(value).__name__ if not isinstance(value, type) else f"class {value.__name__}"
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
