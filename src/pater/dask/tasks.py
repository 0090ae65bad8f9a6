"""What is done where a block is: it is learned from, models are taken into one another.

Knows estimators and bytes; knows nothing of Dask but the name of a worker. Models come and go as bytes of model files.
What is wrong with a block is said with its number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

import pater

from ..estimators.load import load
from ..estimators.pipeline import OnlinePipeline
from ..estimators.shards import begun_bytes, starting_from, together, without_begun
from ..files.in_bytes import from_bytes, to_bytes
from ..models.shards import rows_to_begin_with

Batch = tuple[Any, Any, Any]  # rows, labels, importances or None
Numbered = tuple[int, Batch]
State = bytes | list[Numbered]  # a model; or rows of a table that are fewer than an encoder begins with
NO_ROWS = b""  # the model of a block without rows
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


class BlockError(ValueError):
    """Something is wrong with a block."""


class OtherVersionError(RuntimeError):
    """A worker has another version of pater or Python."""


class Plan:
    """What all tasks of a call share: the estimator, which has learned nothing, all classes if known, and versions."""

    def __init__(self, estimator: Any, classes: Any = None) -> None:
        self.estimator, self.classes = estimator, classes
        self.versions = versions()

    @property
    def warm_up(self) -> int:
        """How many rows of a table an encoder begins with; 0 where there is none."""
        return int(self.estimator.steps[0][1].warm_up) if isinstance(self.estimator, OnlinePipeline) else 0

    @property
    def beginning(self) -> int:
        """How many rows all blocks of a table begin with."""
        return rows_to_begin_with(self.warm_up)

    def check(self) -> None:
        """An error if this process is not like the one that has made the plan."""
        check_versions(self.versions)


def versions() -> tuple[str, str]:
    """Those that all processes must share: of pater and of Python."""
    return pater.__version__, PYTHON


def check_versions(wanted: tuple[str, str]) -> None:
    """An error if this process has others."""
    if versions() != wanted:
        raise OtherVersionError(other_versions(_where(), versions(), wanted))


def other_versions(worker: str, found: tuple[str | None, str], wanted: tuple[str, str]) -> str:
    """What to say of a worker that has others."""
    has = "no pater" if found[0] is None else f"pater {found[0]}"
    return (
        f"the worker {worker} has {has} on Python {found[1]}; the client has pater {wanted[0]} on Python {wanted[1]}. "
        "Install the same on both."
    )


def _where() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "of this process"


def learn(plan: Plan, number: int, begun: bytes | None, *batch: Any) -> bytes:
    """The model of a block by itself; of a table, from what all blocks begin with."""
    plan.check()
    with said_of(number):
        X, y, weights = batch_of(batch)
        if not n_rows(X):
            return NO_ROWS
        if begun is None:
            return model_bytes(_learn(clone(plan.estimator), plan, X, y, weights))
        model = _learn(starting_from(begun, plan.estimator), plan, X, y, weights)
        return model_bytes(without_begun(begun, model))


def merge(plan: Plan, number: int, before: bytes, block: bytes) -> bytes:
    """The model of all blocks up to this one."""
    plan.check()
    if not before or not block:
        return before or block
    try:
        return model_bytes(model_of(before).merge(model_of(block)))
    except (ValueError, TypeError) as error:
        raise BlockError(f"what was learned from block {number} does not go with the blocks before: {error}") from None


def go_on(plan: Plan, number: int, state: State, *batch: Any) -> State:
    """The model after one more block, of a stream in one pass."""
    plan.check()
    with said_of(number):
        some = batch_of(batch)
    if not n_rows(some[0]):
        return state
    if isinstance(state, bytes) and state != NO_ROWS:
        return model_bytes(_learn_all(model_of(state), plan, [(number, some)]))
    held = [*(state if isinstance(state, list) else []), (number, some)]
    if sum(n_rows(X) for _, (X, _, _) in held) < plan.warm_up:
        return held
    return model_bytes(_learn_all(clone(plan.estimator), plan, held))


def finish(plan: Plan, state: State) -> bytes:
    """The model at the end of a stream, however short."""
    plan.check()
    if isinstance(state, bytes):
        return state
    model = _learn_all(clone(plan.estimator), plan, state)
    with said_of(state[-1][0]):
        steps = model._speaking()
        steps[0][1]._stream.settle()
        return model_bytes(OnlinePipeline(steps))


def learn_together(plan: Plan, *batches: Any) -> bytes:
    """The model of a table of few rows, all blocks in one stream."""
    state: State = NO_ROWS
    for number, batch in enumerate(batches):
        state = go_on(plan, number, state, batch)
    return finish(plan, state)


def taken(plan: Plan, number: int, *batch: Any) -> Batch:
    """A batch as it is, to be kept where it is."""
    plan.check()
    with said_of(number):
        return batch_of(batch)


def count(plan: Plan, number: int, *batch: Any) -> int:
    """The rows of a block."""
    plan.check()
    with said_of(number):
        return n_rows(batch_of(batch)[0])


def first_rows(plan: Plan, n: int, *batch: Any) -> Batch:
    """Some rows that all blocks begin with."""
    plan.check()
    X, y, weights = batch_of(batch)
    if hasattr(X, "iloc"):
        X = X.iloc[:n]
    else:
        X = {name: column[:n] for name, column in X.items()} if isinstance(X, dict) else X[:n]
    return X, y[:n], None if weights is None else weights[:n]


def begin(plan: Plan, *samples: Any) -> bytes:
    """The encoder and the model that all blocks begin with."""
    plan.check()
    try:
        return begun_bytes(plan.estimator, list(samples), plan.classes)
    except (ValueError, TypeError) as error:
        raise BlockError(f"the first rows of some blocks: {error}") from None


def batch_of(parts: tuple[Any, ...]) -> Batch:
    """Rows, labels and importances, as they are or all in one; a ValueError if they are not as many of each."""
    batch = parts[0] if len(parts) == 1 else parts
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise ValueError(f"a batch is (X, y) or (X, y, sample_weight), not {_kind(batch)}.")
    X, y, weights = (*batch, None)[:3]
    X = as_rows(X)
    y = _labels(y)
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n_rows(X):
            raise ValueError(f"X has {n_rows(X)} rows, {name} has {len(values)}.")
    return X, y, weights if weights is None else np.asarray(weights)


def as_rows(X: Any) -> Any:
    """Rows as an estimator takes them: blocks of the package `sparse` become SciPy's."""
    return X.to_scipy_sparse().tocsr() if hasattr(X, "to_scipy_sparse") else X


def n_rows(X: Any) -> int:
    if isinstance(X, dict):
        return min(map(len, X.values()), default=0)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def model_bytes(model: Any) -> bytes:
    """A model as a file would hold it."""
    return to_bytes(model.save)


def model_of(content: bytes) -> Any:
    return from_bytes(content, load)


def final_model_of(content: bytes) -> Any:
    """The model of all blocks, to go on by itself."""
    model = model_of(content)
    return together(model) if isinstance(model, OnlinePipeline) else model


def _labels(y: Any) -> Any:
    if y is None:
        raise ValueError("y is None: every row needs a label.")
    if hasattr(y, "isna"):
        missing = np.asarray(y.isna())
        if missing.any():
            raise ValueError(f"y has no label in row {int(np.argmax(missing))}: every row needs one.")
    return np.asarray(y)


def _learn(model: Any, plan: Plan, X: Any, y: Any, weights: Any) -> Any:
    more = {} if weights is None else {"sample_weight": weights}
    return model.partial_fit(X, y, classes=plan.classes, **more)


def _learn_all(model: Any, plan: Plan, batches: Iterable[Numbered]) -> Any:
    for number, (X, y, weights) in batches:
        with said_of(number):
            model = _learn(model, plan, X, y, weights)
    return model


@contextmanager
def said_of(number: int) -> Iterator[None]:
    """Say of an error in which block it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise BlockError(f"block {number} (the first is block 0): {error}") from None


def _kind(value: Any) -> str:
    return (
        f"a {type(value).__name__} of {len(value)}" if isinstance(value, tuple | list) else f"a {type(value).__name__}"
    )
