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

if TYPE_CHECKING:
    from .model import Model

MANY_CLASSES = 100
LOOKED_AT = 2_000  # of the last rows
ENOUGH = 20  # of them of a class, for it not to be chance that hardly any is predicted
HARDLY_EVER = 0.05  # of the share that a class has


class ManyClassesWarning(UserWarning):
    """There are so many classes that the label column may be wrong."""


class OneClassWarning(UserWarning):
    """A model with class weights has come to predict hardly anything but one class."""


def warn_of_many(before: int, after: int) -> None:
    if before < MANY_CLASSES <= after:
        warnings.warn(
            f"there are {after} classes so far. Each has a model of its own: time and memory grow with their number. "
            "If the labels are numbers to estimate, or ids of rows, they are not classes.",
            ManyClassesWarning,
            stacklevel=2,
        )


def warn_of_one_class(model: Model, rows: Rows, labels: NDArray[Any]) -> None:
    """Warn if a model with class weights predicts one class for nearly all of the last rows, although both occur.

    Without class weights nothing is checked, so it costs nothing.
    """
    spec = model.specs[0]
    if not isinstance(spec.class_weight, tuple) or len(model.specs) > 1 or model.classes.size != 2:
        return
    given = dict(spec.class_weight)
    if given.get(model.classes[0], 1.0) == given.get(model.classes[1], 1.0):  # weights of labels that never came, say
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
