"""Estimators trained on blocks of rows, wherever these are: the part that all engines share.

Knows estimators, `shards` and bytes of model files; knows no engine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

import pater

from ..files.in_bytes import from_bytes, to_bytes
from ..models.labels import as_labels
from ..models.shards import rows_to_begin_with
from . import parameters
from .base import LinearClassifier, at_least_two
from .load import ESTIMATORS, load
from .online import OnlineClassifier
from .pipeline import OnlinePipeline
from .shards import Batch, begun_bytes, starting_from, together, without_begun
from .table_encoder import TableEncoder

Numbered = tuple[int, Batch]
LOOKED_AT = 8  # blocks, spread over all, whose first rows a table begins with; more if they are short
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


class BlockError(ValueError):
    """Something is wrong with a block."""


class OtherVersionError(RuntimeError):
    """A worker has another version of pater or Python."""


class Plan:
    """What all tasks of a call share: the unfitted estimator, all classes if known, and versions.

    `block` is what the engine calls a block of rows.
    """

    def __init__(self, estimator: Any, classes: Any = None, block: str = "block") -> None:
        check_estimator(estimator)
        if classes is not None and np.unique(as_labels(classes, "classes")).size < 2:
            raise ValueError(f"classes must name at least two labels, got {classes!r}.")
        self.estimator, self.classes, self.block = clone(estimator), classes, block
        self.versions = versions()

    @property
    def warm_up(self) -> int:
        """How many rows an encoder needs to begin; 0 without an encoder."""
        return int(self.estimator.steps[0][1].warm_up) if isinstance(self.estimator, OnlinePipeline) else 0

    @property
    def beginning(self) -> int:
        """How many rows the shared beginning of all blocks of a table has."""
        return rows_to_begin_with(self.warm_up)

    def said_of(self, number: int) -> Any:
        """Say of an error in which block it is."""
        return said_of(number, self.block)


def versions() -> tuple[str, str]:
    """The versions of pater and Python, which all processes must share."""
    return pater.__version__, PYTHON


def check_estimator(estimator: Any) -> None:
    """Raise an error if models of blocks could not be merged, or if more than one ordered pass is needed."""
    if isinstance(estimator, OnlinePipeline):
        kinds = [type(step) for _, step in estimator.steps]
        if len(kinds) != 2 or kinds[0] is not TableEncoder or not issubclass(kinds[1], OnlineClassifier):
            raise TypeError(
                "the only pipelines that can be learned in blocks are those of a TableEncoder and an online learner of "
                f"pater; this one has {', '.join(kind.__name__ for kind in kinds)}."
            )
        learner = estimator.steps[1][1]
        estimator.steps[0][1]._wanted()
    else:
        learner = estimator
    if (
        not isinstance(learner, LinearClassifier)
        or not hasattr(learner, "partial_fit")
        or not hasattr(learner, "merge")
    ):
        raise TypeError(f"{type(learner).__name__} cannot be learned in blocks; an online learner of pater can.")
    parameters.to_json(learner, ESTIMATORS)  # or it could not be kept in a model file
    if isinstance(learner, OnlineClassifier):
        learner._checked_specs()
    values = learner.get_params(deep=False)
    if values.get("n_passes", 1) != 1 or values.get("shuffle"):
        raise ValueError("blocks are learned in one pass and in order: leave n_passes at 1 and shuffle at False.")
    if values.get("warm_start") and learner.__sklearn_is_fitted__():
        raise ValueError("warm_start=True, but blocks are learned from the beginning: set warm_start=False.")


def spread(n: int, m: int) -> list[int]:
    """About `m` evenly spread numbers below `n`; doubling `m` keeps all of them."""
    return list(range(n)) if m >= n else sorted({k * n // m for k in range(m)})


def shares(rows: dict[int, int], total: int) -> dict[int, int]:
    """How many rows each block contributes to a total: an equal share, or all that it has."""
    taken, left = dict[int, int](), total
    in_turn = sorted(rows, key=lambda number: (rows[number], number))
    for k, number in enumerate(in_turn):
        taken[number] = min(rows[number], -(-left // (len(in_turn) - k)))
        left -= taken[number]
    return {number: n for number, n in taken.items() if n}


def begun(plan: Plan, samples: list[Batch]) -> bytes:
    """The encoder and the model from which all blocks of a table start."""
    try:
        return begun_bytes(plan.estimator, samples, plan.classes)
    except (ValueError, TypeError) as error:
        raise BlockError(f"the first rows of some {plan.block}s: {error}") from None


def learned(plan: Plan, content: bytes | None, batch: Batch) -> bytes:
    """The model of one block; for a table, starting from the shared beginning."""
    if content is None:
        return model_bytes(_learn(clone(plan.estimator), plan, batch))
    return model_bytes(without_begun(content, _learn(starting_from(content, plan.estimator), plan, batch)))


def go_on(model: Any, plan: Plan, batches: Iterable[Numbered]) -> Any:
    """The model after some more blocks of a stream in one pass."""
    for number, batch in batches:
        with plan.said_of(number):
            model = _learn(model, plan, batch)
    return model


def as_one(plan: Plan, batches: list[Numbered]) -> bytes:
    """The model of a table whose blocks are learned as one stream, however short."""
    model = go_on(clone(plan.estimator), plan, batches)
    with plan.said_of(batches[-1][0]):
        steps = model._speaking()
        steps[0][1]._stream.settle()
        return model_bytes(OnlinePipeline(steps))


def merged(plan: Plan, number: int, before: Any, block: Any) -> Any:
    """The model of all blocks up to this one."""
    try:
        return before.merge(block)
    except (ValueError, TypeError) as error:
        what = f"what was learned from {plan.block} {number} does not go with the {plan.block}s before"
        raise BlockError(f"{what}: {error}") from None


def final(plan: Plan, model: Any, begun: bytes | None) -> Any:
    """The model of all blocks, ready to continue, with the names of the steps as given.

    `begun` is their shared beginning, if any. Raises an error if `fit` would not have made such a classifier.
    """
    learner = model
    if isinstance(model, OnlinePipeline):
        model = model if begun is None else together(begun, model)
        model.steps = [(name, step) for (name, _), (_, step) in zip(plan.estimator.steps, model.steps, strict=True)]
        learner = model.steps[-1][1]
    at_least_two(model.classes_)
    learner._check_weighted_classes(model.classes_)
    return model


def model_bytes(model: Any) -> bytes:
    """The bytes of the model file."""
    return to_bytes(model.save)


def model_of(content: bytes) -> Any:
    return from_bytes(content, load)


def _learn(model: Any, plan: Plan, batch: Batch) -> Any:
    X, y, weights = batch
    more = {} if weights is None else {"sample_weight": weights}
    return model.partial_fit(X, y, classes=plan.classes, **more)


@contextmanager
def said_of(number: int, block: str = "block") -> Iterator[None]:
    """Say of an error in which block it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise BlockError(f"{block} {number} (the first is {block} 0): {error}") from None
