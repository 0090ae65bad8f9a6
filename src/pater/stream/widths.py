"""Splitting batches where more numbered features make a pool drop candidates, and leaving out rows of weight 0.

Knows `candidates` and what a learner has seen. Which candidates take part depends on the number of columns so far; so
that it does not depend on batches, it is decided at the row that adds the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..formats.columns import INDICES
from ..models.candidates import ROWS_FOR_EACH, WIDEST
from ..models.matrices import part
from ..models.spec import Specs

if TYPE_CHECKING:
    from .learner import Learner


def weighing(batch: Batch, learner: Learner) -> Batch:
    """The rows of nonzero weight; others are ignored, and add no columns."""
    kept = batch.that_weighs()
    if kept is not batch and len(batch.rows) == 3 and _is_open(learner):
        kept.n_features = int(_widths(kept)[-1]) if len(kept) else 0
    return kept


def _is_open(learner: Learner) -> bool:
    """Whether a row may add columns by number."""
    return learner.encoder is None and (learner.columns is None or learner.columns.kind == INDICES)


def by_width(batch: Batch, learner: Learner) -> list[Batch]:
    """The batch for a pool, in parts within each of which the same candidates take part."""
    if len(batch.rows) != 3 or not _is_open(learner):
        return [batch]
    bounds, before = _bounds(learner.specs), learner.n_features if learner.model is not None else 0
    if learner.model is not None and _among(bounds, before) == _among(bounds, max(before, batch.n_features)):
        return [batch]
    widths = np.maximum(before, _widths(batch))
    cuts = (np.flatnonzero(np.diff(_among(bounds, widths))) + 1).tolist()
    if not cuts:
        return [batch]
    ends = pairwise([0, *cuts, len(batch)])
    return [replace(piece_of(batch, start, stop), n_features=int(widths[stop - 1])) for start, stop in ends]


@contextmanager
def as_before_an_error(learner: Learner) -> Iterator[None]:
    """Restore the learner to its state before the first part if there is an error in one."""
    before = replace(learner, model=learner.model and learner.model.copy(), scaler=deepcopy(learner.scaler))
    try:
        yield
    except BaseException:
        vars(learner).update(vars(before))
        raise


def _bounds(specs: Specs) -> NDArray[np.int64]:
    """Numbers of columns beyond which other candidates take part; some may change nothing."""
    memories = {1.0 / (1.0 - spec.forgetting) for spec in specs if spec.forgetting < 1.0}
    longest = [int((memory - 1.0) / ROWS_FOR_EACH) for memory in memories]
    return np.array(sorted({WIDEST, *(bound + more for bound in longest for more in (-1, 0, 1))}), np.int64)


def _among(bounds: NDArray[np.int64], widths: NDArray[np.int64] | int) -> NDArray[np.int64]:
    return np.asarray(np.searchsorted(bounds, widths), np.int64)


def _widths(batch: Batch) -> NDArray[np.int64]:
    """The number of columns up to each row."""
    indptr, indices, _ = batch.rows
    starts, stops = indptr[:-1].astype(np.int64), indptr[1:].astype(np.int64)
    last = np.zeros(len(batch), np.int64)
    there = stops > starts
    if there.any():
        last[there] = 1 + np.maximum.reduceat(indices[: stops[-1]], starts[there]).astype(np.int64)
    return np.maximum.accumulate(last)


def piece_of(batch: Batch, start: int, stop: int) -> Batch:
    """Some rows of a batch, without a copy."""
    first, last = start == 0, stop == len(batch)
    return replace(
        batch,
        rows=part(batch.rows, start, stop),
        labels=None if batch.labels is None else batch.labels[start:stop],
        weights=batch.weights[start:stop],
        tags=None if batch.tags is None else batch.tags[start:stop],
        lines=batch.lines[start:stop] if batch.lines.size else np.arange(start + 1, stop + 1),
        faults=batch.faults if first else [],
        missing=batch.missing if first else 0,
        news=batch.news if last else None,
    )
