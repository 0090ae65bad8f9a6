"""Tasks that run where a block is: learn from it, and merge models.

Knows estimators and bytes; of Dask, only the name of a worker. Models are passed as bytes of model files. Errors name
the number of the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..estimators import blocks
from ..estimators.blocks import Numbered, OtherVersionError, Plan, model_bytes, model_of, said_of, versions
from ..estimators.shards import Batch
from ..estimators.table_inputs import that_weigh

State = bytes | list[Numbered]  # a model; or rows of a table, as long as there are too few for an encoder to begin
NO_ROWS = b""  # the model of a block without rows


def check_versions(wanted: tuple[str, str]) -> None:
    """Raise an error if this process has other versions."""
    if versions() != wanted:
        raise OtherVersionError(other_versions(_where(), versions(), wanted))


def other_versions(worker: str, found: tuple[str | None, str], wanted: tuple[str, str]) -> str:
    """The message about a worker that has other versions."""
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
    """The model of a block by itself; for a table, it continues the model that all blocks start from."""
    check_versions(plan.versions)
    with said_of(number):
        X, y, weights = batch_of(batch)
        if not n_rows(X):
            return NO_ROWS
        return blocks.learned(plan, begun, (X, y, weights))


def merge(plan: Plan, number: int, before: bytes, block: bytes) -> bytes:
    """The model of all blocks up to this one."""
    check_versions(plan.versions)
    if not before or not block:
        return before or block
    return model_bytes(blocks.merged(plan, number, model_of(before), model_of(block)))


def go_on(plan: Plan, number: int, state: State, *batch: Any) -> State:
    """The model after one more block of a single stream."""
    check_versions(plan.versions)
    with said_of(number):
        some = batch_of(batch)
    if not n_rows(some[0]):
        return state
    if isinstance(state, bytes) and state != NO_ROWS:
        return model_bytes(blocks.go_on(model_of(state), plan, [(number, some)]))
    held = [*(state if isinstance(state, list) else []), (number, some)]
    if sum(n_rows(X) for _, (X, _, _) in held) < plan.warm_up:
        return held
    return model_bytes(blocks.go_on(clone(plan.estimator), plan, held))


def finish(plan: Plan, state: State) -> bytes:
    """The model at the end of a stream, however short."""
    check_versions(plan.versions)
    return state if isinstance(state, bytes) else blocks.as_one(plan, state)


def learn_together(plan: Plan, *batches: Any) -> bytes:
    """The model of a table with few rows, learned from all blocks as one stream."""
    state: State = NO_ROWS
    for number, batch in enumerate(batches):
        state = go_on(plan, number, state, batch)
    return finish(plan, state)


def taken(plan: Plan, number: int, *batch: Any) -> Batch:
    """A batch, checked and unchanged, to be kept where it is."""
    check_versions(plan.versions)
    with said_of(number):
        return batch_of(batch)


def count(plan: Plan, number: int, *batch: Any) -> int:
    """The number of rows of a block."""
    check_versions(plan.versions)
    with said_of(number):
        return n_rows(batch_of(batch)[0])


def first_rows(plan: Plan, n: int, *batch: Any) -> Batch:
    """The first `n` rows of a block, which help to start all blocks."""
    check_versions(plan.versions)
    X, y, weights = batch_of(batch)
    if hasattr(X, "iloc"):
        X = X.iloc[:n]
    else:
        X = {name: column[:n] for name, column in X.items()} if isinstance(X, dict) else X[:n]
    return X, y[:n], None if weights is None else weights[:n]


def begin(plan: Plan, *samples: Any) -> bytes:
    """The encoder and the model that all blocks start from."""
    check_versions(plan.versions)
    return blocks.begun(plan, list(samples))


def batch_of(parts: tuple[Any, ...]) -> Batch:
    """Rows, labels and importances, from three parts or one batch; a ValueError if their lengths differ."""
    batch = parts[0] if len(parts) == 1 else parts
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise ValueError(f"a batch is (X, y) or (X, y, sample_weight), not {_kind(batch)}.")
    X, y, weights = (*batch, None)[:3]
    X = as_rows(X)
    y = _labels(y)
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n_rows(X):
            raise ValueError(f"X has {n_rows(X)} rows, {name} has {len(values)}.")
    return (X, y, None) if weights is None else that_weigh(X, y, np.asarray(weights))


def as_rows(X: Any) -> Any:
    """Rows as an estimator takes them: blocks of the package `sparse` become SciPy's."""
    return X.to_scipy_sparse().tocsr() if hasattr(X, "to_scipy_sparse") else X


def n_rows(X: Any) -> int:
    if isinstance(X, dict):
        return min(map(len, X.values()), default=0)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _labels(y: Any) -> Any:
    if y is None:
        raise ValueError("y is None: every row needs a label.")
    if hasattr(y, "isna"):
        missing = np.asarray(y.isna())
        if missing.any():
            raise ValueError(f"y has no label in row {int(np.argmax(missing))}: every row needs one.")
    return np.asarray(y)


def _kind(value: Any) -> str:
    return (
        f"a {type(value).__name__} of {len(value)}" if isinstance(value, tuple | list) else f"a {type(value).__name__}"
    )
