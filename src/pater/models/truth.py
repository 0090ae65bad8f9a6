"""Booleans as labels: True and False are one class each, however they are written.

Knows NumPy only. If classes are text, the first spelling is kept. Nothing is guessed: a boolean is never the text "1",
and is a number only where the classes are booleans, or 0 and 1.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMES = ("False", "True")
"""The names of truth values that were read from a file as text."""

_WORDS = {"false": False, "true": True}


def truth_in(label: Any) -> bool | None:
    """The truth value that a label is, or names, in letters of any case; else None."""
    if isinstance(label, bool | np.bool):
        return bool(label)
    return _WORDS.get(label.lower()) if isinstance(label, str) and len(label) <= 5 else None


def named(label: Any) -> Any:
    """The label itself, or the name of the truth value that it is or names."""
    truth = truth_in(label)
    return label if truth is None else NAMES[truth]


def text_named(label: Any) -> Any:
    """A label as it is read today, if it was stored with another spelling of a truth value."""
    return named(label) if isinstance(label, str) else label


def as_spelled(label: Any, known: Collection[Any]) -> Any:
    """A label, with a truth value spelled as among the known labels, which are of the same type."""
    truth = truth_in(label) if isinstance(label, str) and label not in known else None
    return label if truth is None else next((each for each in known if truth_in(each) is truth), label)


def are_truths(classes: NDArray[Any]) -> bool:
    """Whether these classes, which are not text, are truth values: by their type, or because they are 0 and 1."""
    found = classes.tolist()
    return bool(found) and (all(isinstance(label, bool | np.bool) for label in found) or found == [0, 1])


def are_no_truths(classes: NDArray[Any]) -> bool:
    """Whether 1 among these classes, which are numbers, means something other than True."""
    found = set(classes.tolist())
    return not (found <= {0, 1} or found >= {0, 1})


def spelled_alike(labels: NDArray[Any], known: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Labels, with each truth value as it was first written; `new` are those not among the `known`."""
    first: dict[bool, Any] = {}
    for label in known.tolist():
        truth = truth_in(label)
        if truth is not None:
            first.setdefault(truth, label)
    result = labels
    for label in new.tolist():
        truth = truth_in(label)
        if truth is not None and first.setdefault(truth, label) != label:
            result = labels.copy() if result is labels else result
            result[labels == label] = first[truth]
    return result


def as_known(labels: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Labels read from a file, with truth values as the classes of a model spell them if they are text."""
    others = {label for label in known.tolist() if isinstance(label, str) and named(label) != label}
    return spelled_alike(labels, known, np.setdiff1d(NAMES, known)) if others else labels


def of_the_kind(labels: NDArray[Any], known: NDArray[Any], *, text: bool) -> NDArray[Any] | None:
    """Truth values in the type of the known classes, text or numbers, where labels have the other; None for others."""
    truths = [truth_in(label) for label in labels.tolist()]
    if None in truths:
        return None
    if not text:
        return np.array(truths, np.bool_) if are_truths(known) else None
    spelled = {truth_in(label): label for label in reversed(known.tolist())}
    names = [spelled.get(truth, NAMES[truth]) for truth in (False, True)]
    return np.array(names, object)[np.array(truths, np.int64)] if spelled.keys() & {False, True} else None


def classes_as_spelled(theirs: NDArray[Any], mine: NDArray[Any]) -> NDArray[Any]:
    """Classes with truth values as another model's spell them; out of order if the words sort differently."""
    known, found = mine.tolist(), theirs.tolist()
    spelled = [as_spelled(label, known) for label in found]
    return theirs if spelled == found else np.array(spelled, object if theirs.dtype.kind == "O" else None)
