"""Warnings of learners about inputs that are valid but suspicious.

Knows `predict` and `matrices`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import Rows, number_of_rows
from .matrices import part
from .predict import margins_of
from .truth import truth_in

if TYPE_CHECKING:
    from .model import Model
    from .pool import Pool

MANY_CLASSES = 100
LOOKED_AT = 2_000  # of the last rows
ENOUGH = 20  # of them of a class, so that it is not by chance if hardly any is predicted
HARDLY_EVER = 0.05  # of the share that a class has
KNOWN_BY = 200  # this many rows, which class is the frequent one
MOSTLY = 2 / 3  # of all rows


class ManyClassesWarning(UserWarning):
    """There are so many classes that the label column may be wrong."""


class OneClassWarning(UserWarning):
    """A model with class weights has come to predict hardly anything but one class."""


class PositiveClassWarning(UserWarning):
    """An operating point counts as positive the class that nearly all rows have: the other may have been meant."""


def may_be_errors(model: Model | Pool, n_rows: int) -> bool:
    """Whether there may be a warning after this many rows, and it is raised: then they must not have been learned."""
    spec, crossing = model.specs[0], False
    of_one_class = n_rows >= 2 * ENOUGH and isinstance(spec.class_weight, tuple)
    if spec.operating_point is not None:
        t = model.state.scalars["t"].max(initial=0)
        crossing = t < KNOWN_BY <= t + n_rows
    return (of_one_class or crossing) and any(
        action == "error" and (issubclass(OneClassWarning, kind) or issubclass(PositiveClassWarning, kind))
        for action, _, kind, *_ in warnings.filters
    )


def warn_of_many(n_classes: int) -> None:
    """Warn that there have come to be `MANY_CLASSES` or more."""
    warnings.warn(
        f"there are {n_classes} classes so far. Each has a model of its own: time and memory grow with their number. "
        "If the labels are numbers to estimate, or ids of rows, they are not classes.",
        ManyClassesWarning,
        stacklevel=2,
    )


def warn_of_one_class(model: Model, rows: Rows, labels: NDArray[Any]) -> None:
    """Warn if a model with class weights predicts one class for nearly all of the last rows, although both occur."""
    spec = model.specs[0]
    if not isinstance(spec.class_weight, tuple) or len(model.specs) > 1 or model.classes.size != 2:
        return
    given = dict(spec.class_weight)
    if given.get(model.classes[0], 1.0) == given.get(model.classes[1], 1.0):  # as with labels that never came
        return
    if model.seen is not None:  # an operating point decides elsewhere than at 0
        return
    stop = number_of_rows(rows)
    start = max(0, stop - LOOKED_AT)
    is_second = labels[start:] == model.classes[1]
    if min(np.count_nonzero(is_second), np.count_nonzero(~is_second)) < ENOUGH:
        return
    says_second = margins_of(part(rows, start, stop), model.state, average=spec.average)[:, 0] >= 0
    for never, only, rows_of, says in (
        (*model.classes, ~is_second, ~says_second),
        (*model.classes[::-1], is_second, says_second),
    ):
        if np.mean(says) < HARDLY_EVER * np.mean(rows_of):
            warnings.warn(
                f"the model predicts class {only} nearly always, and hardly ever class {never}, of which there are "
                "many rows: its class weights are too far apart. Bring them closer to 1; for costs, "
                "use second-order PATER.",
                OneClassWarning,
                stacklevel=2,
            )


def warn_of_positive_class(model: Model, n_rows: int) -> None:
    """Warn, once, if an operating point may have been meant the other way round.

    The positive class is the second in the order of letters or numbers, and with names such as fraud and legit that is
    the frequent one. With 0 and 1, −1 and 1, and booleans it is clear which is positive; and nobody bounds the share of
    missed positives, or makes a false alarm more expensive than a miss, unless positives are frequent.
    """
    point = model.specs[0].operating_point
    if model.seen is None or point is None or model.classes.size != 2 or not _looks_for_rare(point):
        return
    m = model.seen.numbers[0]
    negative, positive = model.classes.tolist()
    if not m["t"] - n_rows < KNOWN_BY <= m["t"] or (negative, positive) in ((0, 1), (-1, 1)):
        return
    share = m["share_pos"] / max(m["share_pos"] + m["share_neg"], 1e-300)
    if share < MOSTLY or truth_in(positive) is not None:
        return
    mend = "exchange the costs of a false positive and a false negative"
    if point[0] != "cost":
        mend = f"give max_fnr instead of max_fpr: it bounds the share of {positive} that is called {negative}"
    warnings.warn(
        f"class {positive} is the positive one, as it comes after {negative}, and {share:.0%} of the rows are of it. "
        f"If it is {negative} that you look for, {mend}.",
        PositiveClassWarning,
        stacklevel=2,
    )


def _looks_for_rare(point: tuple[Any, ...]) -> bool:
    """Whether this is the operating point of somebody who looks for a rare class."""
    if point[0] == "cost":
        of_false_positive, of_false_negative = point[1:]
        return bool(of_false_negative > of_false_positive)
    return bool(point[0] == "max_fpr")
