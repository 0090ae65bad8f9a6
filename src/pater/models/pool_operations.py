"""Changes to a whole pool other than learning: one more class, other columns, merging two pools.

Knows `model`, `board` and `race`, and what a pool is made of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.memory import COUNTS, SCALARS
from .board import other_counts, with_class
from .entrants import entrants
from .history import History
from .labels import ranks
from .model import Model
from .race import stretch
from .truth import classes_as_spelled

if TYPE_CHECKING:
    from .pool import Pool

_NUMBERS = SCALARS.itemsize // 8
_COUNTS = [dict(SCALARS.fields or {})[name][1] // 8 for name in COUNTS]  # their places among the numbers of a model


def counts_of(model: Model) -> NDArray[np.float64]:
    """The counts of a model of two classes, (problems, 4); zeros for more, where it cannot tell the predicted class."""
    if model.classes.size > 2:
        return np.zeros((model.state.n_models, 4))
    if model.seen is not None:
        return np.concatenate(model.confusion(), axis=1)
    return np.asarray(model.state.scalars.view(np.float64).reshape(model.state.n_models, _NUMBERS)[:, _COUNTS])


def add_class(pool: Pool, label: Any) -> None:
    """Make room for one more class, and convert the counts so far to one class more."""
    n_classes, since = pool.classes.size, {k: pool.since(k) for k in pool.models}
    place = int(ranks(np.append(pool.classes, np.asarray([label])))[-1])
    for model in pool.models.values():
        model.add_class(label)
    pool.board = pool.board.with_class(n_classes, place)
    pool.made, *more = (
        with_class(each, n_classes, place, mirrored=other_counts) for each in (pool.made, *since.values())
    )
    pool.adjustments = {k: each - counts_of(pool.models[k]) for k, each in zip(since, more, strict=True)}


def resized(pool: Pool, n_features: int) -> Pool:
    """The pool with more columns, or without the last. Where a full covariance becomes too expensive, others begin."""
    views = pool.views.resized(n_features)
    entered = entrants(pool.specs, views, more_may_come=pool.more_may_come)
    models = {k: replace(model) for k, model in pool.models.items() if entered.fits[k]}
    if not models:
        own = {k: (pool.specs[k % len(pool.specs)],) for k in entered.places}
        models = {
            k: Model.new(pool.classes, views.width(pool.level(k)), specs, fixed=pool.fixed) for k, specs in own.items()
        }
    for k, model in models.items():
        model.resize(views.width(pool.level(k)))
    leader = pool.leader if pool.leader in models else min(models)
    result = replace(pool, views=views, models=models, leader=leader, _entered=entered)
    result.adjustments = {k: pool.adjustments.get(k, np.zeros_like(pool.made)) for k in models}
    if leader != pool.leader:
        result.made = pool.made + pool.since(pool.leader) - result.since(leader)  # past predictions keep their counts
    return result


def merged(one: Pool, other: Pool) -> Pool:
    """A pool of what both have seen: the candidates that learn in both, which at least one always does."""
    if not np.array_equal(one.views.levels, other.views.levels):
        raise ValueError("cannot merge models of tables that were encoded differently in the beginning.")
    a, b = one.copy(), other.copy()
    spelled = classes_as_spelled(b.classes, a.classes)
    for model in b.models.values():
        model.classes = spelled
    for mine, theirs in ((a, b), (b, a)):
        mine.add_classes(np.setdiff1d(theirs.classes, mine.classes))
    models = {k: model.merge(b.models[k]) for k, model in a.models.items() if k in b.models}
    made = np.stack(a.progressive(), axis=1) + np.stack(b.progressive(), axis=1)
    rows = a.rows + b.rows
    return replace(
        a,
        models=models,
        leader=min(models),
        made=made,
        adjustments={k: -counts_of(model) for k, model in models.items()},
        board=a.board.merged(b.board),
        rows=rows,
        spent=a.spent + b.spent,
        next_decision=rows + stretch(rows),
        history=History.after(rows),
    )
