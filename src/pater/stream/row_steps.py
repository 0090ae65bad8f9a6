"""Learning a row in steps, so that predictions need not wait until all candidates of a pool have learned it.

Knows `learner` and the passes of a pool. The result is that of `Learner.learn`, to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.batches import Batch
from ..models.pool import Pool
from ..models.pool_pass import row_in_steps
from ..models.row_pass import kind_of
from .learner import Learner
from .refusals import REFUSALS, refused


def learned_in_steps(learner: Learner, batch: Batch) -> Iterator[None]:
    """Learn from a batch; if it is one row of a table for a pool, with pauses in which the learner may predict.

    In a pause some candidates know the row and others do not. After an error in a step the learner is undefined.
    """
    pool = learner.model
    if len(batch) != 1 or learner.encoder is None or not isinstance(pool, Pool) or not _is_ready(pool, batch):
        learner.learn(batch)
        return
    yield
    ready, _ = learner.prepare(batch)
    if not len(ready):
        return
    assert ready.labels is not None
    codes, kind = pool.encoded(ready.labels).codes, kind_of(ready.rows)
    assert kind is not None
    yield
    try:
        yield from row_in_steps(pool, kind, ready.rows, codes, ready.weights)
    except REFUSALS as error:
        raise refused(error, batch) from None
    learner.rows += 1
    pool.warn(ready.rows, ready.labels)


def _is_ready(pool: Pool, batch: Batch) -> bool:
    """Whether a row needs no new column and no new class, and can be passed as it is."""
    if batch.labels is None or batch.n_features > pool.n_features or pool.seen is not None:
        return False
    is_known = batch.labels.dtype == pool.classes.dtype and batch.labels.item() in pool.classes.tolist()
    return is_known and 4 * batch.rows[-1].size <= pool.state.size and kind_of(batch.rows) is not None
