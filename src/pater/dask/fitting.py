"""Fit an estimator to blocks, where they are: each by itself and merged in order, or one after the other.

Knows blocks, tasks and the engine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..estimators.blocks import LOOKED_AT, Plan, final, model_of, shares, spread
from . import tasks
from .blocks import Blocks
from .engine import Engine
from .tasks import NO_ROWS


def fitted(engine: Engine, plan: Plan, batches: Blocks, *, sequential: bool) -> Any:
    """The estimator that has learned from all blocks."""
    begun: bytes | None = None
    if sequential:
        content = _in_sequence(engine, plan, batches)
    elif plan.warm_up:
        content, begun = _tables(engine, plan, batches)
    else:
        (content,) = engine.results(_merged(engine, plan, batches, None))
    if content == NO_ROWS:
        raise ValueError("X has no rows: there is nothing to learn from.")
    return final(plan, model_of(bytes(content)), begun)


def _merged(engine: Engine, plan: Plan, batches: Blocks, begun: Any) -> Any:
    """Merge the model of each block into those before it as soon as both exist, so that only the order matters."""
    models = [engine.task(partial(tasks.learn, plan, k), k, begun, *batch) for k, batch in enumerate(batches)]
    return engine.chain(lambda number: partial(tasks.merge, plan, number), models)


def _in_sequence(engine: Engine, plan: Plan, batches: Blocks) -> bytes:
    def step(number: int, state: Any) -> Any:
        return engine.task(partial(tasks.go_on, plan, number), number, state, *batches[number])

    state = engine.in_sequence(step, len(batches), NO_ROWS)
    (content,) = engine.results(engine.task(partial(tasks.finish, plan), 0, state))
    return bytes(content)


def _tables(engine: Engine, plan: Plan, batches: Blocks) -> tuple[bytes, bytes | None]:
    """Learn blocks of a table: some rows decide the encoding and start the model, and each block continues by itself.

    Returns the model of all blocks, and the model that they started from; the latter is None if there are so few rows
    that all are learned together.
    """
    batches, rows = list(batches), dict[int, int]()
    n_wanted = LOOKED_AT
    while sum(rows.values()) < plan.beginning and len(rows) < len(batches):
        numbers = [number for number in spread(len(batches), n_wanted) if number not in rows]
        looked_at = [engine.task(partial(tasks.taken, plan, number), number, *batches[number]) for number in numbers]
        for number, batch in zip(numbers, engine.kept(*looked_at), strict=True):
            batches[number] = (batch,)  # so that it is not read again
        counts = [engine.task(partial(tasks.count, plan, number), number, *batches[number]) for number in numbers]
        rows |= dict(zip(numbers, engine.results(*counts), strict=True))
        n_wanted *= 2
    if sum(rows.values()) < plan.beginning:
        (content,) = engine.results(
            engine.task(partial(tasks.learn_together, plan), 0, *(batch for (batch,) in batches))
        )
        return bytes(content), None
    samples = [
        engine.task(partial(tasks.first_rows, plan, n), number, *batches[number])
        for number, n in sorted(shares(rows, plan.beginning).items())
    ]
    begun = engine.task(partial(tasks.begin, plan), 0, *samples)
    content, first = engine.results(_merged(engine, plan, batches, begun), begun)
    return bytes(content), bytes(first)
