"""Any number of models made one.

Knows what can be merged by its `merge` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, TypeVar

T = TypeVar("T")


def merge_all(models: Iterable[T]) -> T:
    """One model of what all have learned, each from rows of its own; they stay as they are.

    Models are taken one by one in the order given, so that an iterator needs memory for two. Any other order or
    grouping gives the same to rounding.

    Parameters
    ----------
    models : iterable of estimators, pipelines or encoders
        Fitted, with the same settings, on the same features.

    Returns
    -------
    estimator
        A new one.
    """
    result: Any = None
    for model in models:
        result = deepcopy(model) if result is None else result.merge(model)
    if result is None:
        raise ValueError("merge_all wants at least one model.")
    return result  # type: ignore[no-any-return]
