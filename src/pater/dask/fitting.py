"""An estimator learned from blocks, wherever they are: each by itself and merged in order, or one after the other.

Knows blocks, tasks and the engine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..estimators import parameters
from ..estimators.base import LinearClassifier, at_least_two
from ..estimators.load import ESTIMATORS
from ..estimators.online import OnlineClassifier
from ..estimators.pipeline import OnlinePipeline
from ..estimators.table_encoder import TableEncoder
from . import tasks
from .blocks import Blocks
from .engine import Engine
from .tasks import NO_ROWS, Plan

LOOKED_AT = 8  # blocks, spread over all, whose first rows a table begins with; more if they are short


def check_estimator(estimator: Any) -> None:
    """An error if blocks of an estimator could not be merged, or if it asks for more than one pass in order."""
    if isinstance(estimator, OnlinePipeline):
        kinds = [type(step) for _, step in estimator.steps]
        if len(kinds) != 2 or kinds[0] is not TableEncoder or not issubclass(kinds[1], OnlineClassifier):
            raise TypeError(
                "of pipelines, those of a TableEncoder and an online learner of pater can be learned in blocks, not "
                f"{', '.join(kind.__name__ for kind in kinds)}."
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


def fitted(engine: Engine, plan: Plan, batches: Blocks, *, sequential: bool) -> Any:
    """The estimator that has learned from all blocks."""
    if sequential:
        content = _in_sequence(engine, plan, batches)
    elif plan.warm_up:
        content = _tables(engine, plan, batches)
    else:
        content = _merged(engine, plan, batches, None)
    if content == NO_ROWS:
        raise ValueError("X has no rows: there is nothing to learn from.")
    return _as_given(tasks.final_model_of(content), plan)


def _as_given(model: Any, plan: Plan) -> Any:
    """With the names of the steps as they were given; an error if it is no classifier that `fit` would have made."""
    if isinstance(model, OnlinePipeline):
        model.steps = [(name, step) for (name, _), (_, step) in zip(plan.estimator.steps, model.steps, strict=True)]
    learner = model.steps[-1][1] if isinstance(model, OnlinePipeline) else model
    at_least_two(model.classes_)
    learner._check_weighted_classes(model.classes_)
    return model


def _merged(engine: Engine, plan: Plan, batches: Blocks, begun: Any) -> bytes:
    """Each block is merged into those before it as soon as both are there, so that nothing but their order counts."""
    models = [engine.task(partial(tasks.learn, plan, k), k, begun, *batch) for k, batch in enumerate(batches)]
    (content,) = engine.results(engine.chain(lambda number: partial(tasks.merge, plan, number), models))
    return bytes(content)


def _in_sequence(engine: Engine, plan: Plan, batches: Blocks) -> bytes:
    def step(number: int, state: Any) -> Any:
        return engine.task(partial(tasks.go_on, plan, number), number, state, *batches[number])

    state = engine.in_sequence(step, len(batches), NO_ROWS)
    (content,) = engine.results(engine.task(partial(tasks.finish, plan), 0, state))
    return bytes(content)


def _tables(engine: Engine, plan: Plan, batches: Blocks) -> bytes:
    """Blocks of a table: first some rows decide how all are encoded and begin to learn, then each goes on by itself."""
    batches, rows = list(batches), dict[int, int]()
    n_wanted = LOOKED_AT
    while sum(rows.values()) < plan.beginning and len(rows) < len(batches):
        numbers = [number for number in spread(len(batches), n_wanted) if number not in rows]
        looked_at = [engine.task(partial(tasks.taken, plan, number), number, *batches[number]) for number in numbers]
        for number, batch in zip(numbers, engine.kept(*looked_at), strict=True):
            batches[number] = (batch,)  # what was read for this is not read again
        counts = [engine.task(partial(tasks.count, plan, number), number, *batches[number]) for number in numbers]
        rows |= dict(zip(numbers, engine.results(*counts), strict=True))
        n_wanted *= 2
    if sum(rows.values()) < plan.beginning:
        (content,) = engine.results(
            engine.task(partial(tasks.learn_together, plan), 0, *(batch for (batch,) in batches))
        )
        return bytes(content)
    samples = [
        engine.task(partial(tasks.first_rows, plan, n), number, *batches[number])
        for number, n in sorted(shares(rows, plan.beginning).items())
    ]
    return _merged(engine, plan, batches, engine.task(partial(tasks.begin, plan), 0, *samples))


def spread(n: int, m: int) -> list[int]:
    """About `m` of the numbers below `n`, evenly spread; all of them are among those for twice as many."""
    return list(range(n)) if m >= n else sorted({k * n // m for k in range(m)})


def shares(rows: dict[int, int], total: int) -> dict[int, int]:
    """How many rows each block gives to a total: as many as the others, or all that it has."""
    taken, left = dict[int, int](), total
    in_turn = sorted(rows, key=lambda number: (rows[number], number))
    for k, number in enumerate(in_turn):
        taken[number] = min(rows[number], -(-left // (len(in_turn) - k)))
        left -= taken[number]
    return {number: n for number, n in taken.items() if n}
