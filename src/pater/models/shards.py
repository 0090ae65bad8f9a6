"""Shards of a stream that start from one model: what each starts from, and what it has learned since.

Knows `model`, `batch`, `pool` and `covariance_merge`. A model that has begun with some rows of the whole stream is a
far better place to start from than nothing: rows that it says right are passed by from the first, as they would be in
one pass. These rows come again, each in its shard, so what the beginning had counted is taken out at the end of each
shard. Then merging counts every row once. Derived in docs/algorithms.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.covariance_merge import metric_since
from ..kernels.memory import POINT_V, S_NEG, S_POS, U, V
from ..kernels.state import State
from .batch import BatchModel
from .history import History
from .model import Model
from .pool import Pool
from .pool_operations import counts_of
from .race import stretch

BEGINNING = 10_000  # rows from all over a table that shards of it begin with
MOST_LASTING, MOST_PASSING = 1, 2  # teams that go on in shards, beside the common candidate
_COUNTED = ("t", "updates", "entered", "tp", "fp", "tn", "fn", "told", "brier", "log_loss", "seen_pos", "seen_neg")


def rows_to_begin_with(warm_up: int) -> int:
    """How many rows shards of a table begin with, if its encoder wants so many; fewer in all are one stream."""
    return max(BEGINNING, warm_up)


def start(begun: Model | Pool) -> Model | Pool:
    """What a shard starts from.

    Of a pool, these are the best of the candidates that forget nothing, as shards have no common order in time. They
    are the same for all shards, so none stops for being behind.
    """
    if isinstance(begun, BatchModel):  # of which rows are never taken out
        return begun.emptied()
    if not isinstance(begun, Pool):
        return begun.copy()
    models = {k: begun.models[k].copy() for k in _going_on(begun)}
    scores = begun.board.scores(begun.scoring, begun.scoring_settings)
    return replace(
        begun,
        models=models,
        leader=max(models, key=lambda k: scores[k]),
        made=np.zeros_like(begun.made),
        adjustments={k: -counts_of(model) for k, model in models.items()},
        board=begun.board.of_shard(),
        rows=0,
        next_decision=stretch(0),
        history=History(),
        spent=np.zeros_like(begun.spent),
        in_shards=True,
    )


def _going_on(pool: Pool) -> list[int]:
    """The common candidate and the best teams of those that last and of those that do not, by their answers so far."""
    entered, scores = pool.entered, pool.board.scores(pool.scoring, pool.scoring_settings)
    least = min(entered.forgets[k] for k in pool.models)
    awake = [k for k in pool.models if entered.forgets[k] == least]
    staying = {entered.common}
    for heat, most in ((entered.lasting, MOST_LASTING), (entered.passing, MOST_PASSING)):
        those = sorted((k for k in awake if k in heat), key=lambda k: (-scores[k], k))
        staying.update(those[:most])
    return sorted(staying)


def since(shard: Model | Pool, begun: Model | Pool) -> Model | Pool:
    """What a shard, which started from `begun`, has learned of its own, to be merged with others of the kind."""
    if isinstance(shard, BatchModel):
        return shard
    if isinstance(shard, Pool):
        assert isinstance(begun, Pool)
        models = {k: _model_since(model, begun.models[k]) for k, model in shard.models.items()}
        adjustments = {k: shard.since(k) - counts_of(model) for k, model in models.items()}
        return replace(shard, models=models, adjustments=adjustments)
    assert isinstance(begun, Model)
    return _model_since(shard, begun)


def ended(merged: Model | Pool) -> Model | Pool:
    """What all shards have learned, to go on by itself: the candidates race again."""
    return replace(merged, in_shards=False) if isinstance(merged, Pool) else merged


def _model_since(model: Model, begun: Model) -> Model:
    result, first = model.copy(), begun.copy()
    first.add_classes(_newcomers(model, first))
    first.resize(model.n_features)
    if any(spec.forgetting < 1 for spec in model.specs):  # whose beginning fades of itself
        return result
    average = any(spec.average for spec in model.specs)
    result.state = _state_since(model.state, first.state, model.settings(), average=average)
    if result.seen is not None and first.seen is not None:
        result.seen = result.seen.since(first.seen)
    if result.history is not None:
        result.history = History.after(int(result.state.scalars["t"].max(initial=0)))
    return result


def _newcomers(model: Model, begun: Model) -> NDArray[Any]:
    """The classes that came since; after a single one, first that which came next, whose model has learned its rows."""
    new = np.setdiff1d(model.classes, begun.classes)
    if begun.classes.size != 1 or new.size < 2:
        return new
    seen = model.state.scalars["t"].reshape(model.classes.size, -1).max(axis=1)
    return new[np.argsort(-seen[np.isin(model.classes, new)], kind="stable")]


def _state_since(state: State, begun: State, settings: NDArray[np.void], *, average: bool) -> State:
    """Class sums, counts and Σ⁻¹ are those of the rows since; weights that are no function of them stay as they are."""
    result, first = state.copy(), begun.copy()
    for each in (result, first):
        each.arrange("split")
    m, was = result.scalars, first.scalars
    w, bias = result.own_weights()
    if average:  # that of the samples since
        (mean_w, mean_bias), (their_w, their_bias) = (each.own_weights(average=True) for each in (result, first))
        share, shift = was["t"] / np.maximum(m["t"] - was["t"], 1), was["exponent"] - m["exponent"]
        mean_w = mean_w + share[:, None] * (mean_w - np.ldexp(their_w, shift[:, None]))
        mean_bias = mean_bias + share * (mean_bias - np.ldexp(their_bias, shift))
    for name in _COUNTED:
        m[name] -= was[name]
    result.vectors[:, U], m["bias"] = w, bias
    m["scale"], m["scales"] = 1.0, 0.0
    if result.has_means:
        result.vectors[:, S_POS : S_NEG + 1] -= first.vectors[:, S_POS : S_NEG + 1]
        for name in ("n_pos", "n_neg"):
            m[name] = np.maximum(m[name] - was[name], 0.0)
        for name in ("loss_pos", "loss_neg"):  # in the unit of the weights of the time
            m[name] = np.maximum(m[name] - np.ldexp(was[name], was["exponent"] - m["exponent"]), 0.0)
        for name in ("A_pos", "A_neg", "B_pos", "B_neg"):
            m[name] = 0.0
        m["products_known"] = 0
    if result.metric != "none":
        if result.second is not None:
            result.second = np.zeros_like(result.second)
        metric_since(result, state, begun, settings)
    if average:
        w, bias, t = *result.own_weights(), np.maximum(m["t"], 1)
        result.vectors[:, V if result.has_means else POINT_V] = w - t[:, None] * (mean_w - w)
        m["bias_steps"] = bias - t * (mean_bias - bias)
    return result
