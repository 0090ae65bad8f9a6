"""Labels and importances of JSON rows.

Knows `json_cells`, `labels` and `truth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.run import NOTHING
from ..models.row_weights import NO_WEIGHT, are_weights
from ..models.truth import named, truth_in
from .errors import shortened
from .json_cells import Faults, kind_of, text_of
from .labels import LONGEST_LABEL, label_faults
from .numbers import LARGEST_LABEL
from .plain_rows import note


def labels_of(values: Sequence[Any], numeric: bool, faults: Faults, *, truths: bool = False) -> NDArray[Any]:
    """Labels as learners take them: whole numbers, or text; anything else is a fault.

    Where numbers are known to be truth values, the words for these are read, too.
    """
    kinds = set(map(type, values))
    if numeric and len(values) == 1 and kinds == {int} and abs(values[0]) < LARGEST_LABEL:
        return np.array(values, np.int64)
    if numeric and kinds <= {int, bool, float}:
        try:
            numbers = np.array(values, np.float64)
        except OverflowError:
            numbers = np.array([np.inf])
        if not (label_faults(numbers) | (np.abs(numbers) == LARGEST_LABEL)).any():  # beyond it, floats are not exact
            return numbers.astype(np.int64)
    found: dict[Any, tuple[int | str | None, str | None]] = {}
    labels = np.empty(len(values), np.int64 if numeric else object)
    for r, value in enumerate(values):
        key = type(value), repr(value) if isinstance(value, list | dict) else value
        if key not in found:
            truth = truth_in(value) if numeric and truths else None
            found[key] = label_of(value if truth is None else truth, numeric)
        label, what = found[key]
        labels[r] = label if label is not None else 0 if numeric else ""
        if what:
            faults.setdefault(r, what)
    return labels


def label_of(value: Any, numeric: bool) -> tuple[int | str | None, str | None]:
    """The label that a JSON value stands for, or what is wrong with it."""
    if value is None or value == "" or value != value:
        return None, "there is no label"
    if not isinstance(value, str | bool | int | float):
        return None, f"the label is {kind_of(value)}; it must be a number, text, true or false"
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None, "there is no label"
        if numeric:
            return None, f"the label {shortened(value)!r} is text, but labels here are whole numbers"
        too_long = f"the label has more than {LONGEST_LABEL:,} characters"
        return (None, too_long) if len(value) > LONGEST_LABEL else (named(value), None)
    if not abs(value) <= LARGEST_LABEL or value != int(value):
        return None, f"the label {shortened(repr(value))} is not a whole number of at most 2^53"
    return (int(value) if numeric else text_of(value)), None


def weights_of(values: Sequence[Any], faults: Faults) -> NDArray[np.float64]:
    """Importances; null stands for 1, and if all are null there are none."""
    if set(map(type, values)) <= {type(None)}:
        return NOTHING
    weights = np.ones(len(values))
    for r, value in enumerate(values):
        if type(value) in (int, float):
            weights[r] = value if abs(value) < 1e300 else np.inf
        elif value is not None:
            faults.setdefault(r, f"the weight is {kind_of(value)}; it must be a number")
    sound = are_weights(weights)
    note(faults, ~sound, f"the weight is {NO_WEIGHT}")
    return np.where(sound, weights, 1.0)
