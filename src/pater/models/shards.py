"""Shards of a stream that start from one model: what each starts from, and what it has learned since.

Knows `model`, `pool` and `covariance_merge`. Starting from a model that has learned some rows of the whole stream is
far better than starting from scratch: rows that it gets right are skipped from the first, as they would be in one pass.
These rows occur again in their shards, so what the beginning had counted and learned is subtracted at the end of each
shard, and merging counts every row once. But a rule that skips rows it gets right does not learn from them again. What
it had learned from the beginning is therefore added back, once, when all shards are merged. docs/algorithms.md derives
this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.memory import COUNTS, S_NEG, S_POS, U
from ..kernels.rules import RULES
from ..kernels.state import State
from .batch import BatchModel
from .covariance_merge import metric_since
from .history import History
from .model import Model
from .operating_points import seen_by
from .pool import Pool
from .pool_operations import counts_of
from .race import stretch
from .state_operations import set_average

BEGINNING = 10_000  # rows from all over a table, with which its shards begin
MOST_LASTING, MOST_PASSING = 1, 2  # teams that go on in shards, beside the common candidate
_COUNTED = ("t", "updates", "entered", "told", "brier", "log_loss")
_SEEN = ("seen_pos", "seen_neg")

Floats = NDArray[np.float64]


def rows_to_begin_with(warm_up: int) -> int:
    """How many rows the common beginning has, given what the encoder needs; shorter tables are one stream."""
    return max(BEGINNING, warm_up)


def start(begun: Model | Pool) -> Model | Pool:
    """The model that a shard starts from.

    For a pool, it holds the best of the candidates that forget nothing, as shards have no common order in time. They
    are the same for all shards, so none stops for trailing.
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
    """The common candidate and the best teams of those that last and of those that do not, by predictions so far."""
    entered, scores = pool.entered, pool.board.scores(pool.scoring, pool.scoring_settings)
    least = min(entered.forgets[k] for k in pool.models)
    awake = [k for k in pool.models if entered.forgets[k] == least]
    staying = {entered.common}
    for heat, most in ((entered.lasting, MOST_LASTING), (entered.passing, MOST_PASSING)):
        those = sorted((k for k in awake if k in heat), key=lambda k: (-scores[k], k))
        staying.update(those[:most])
    return sorted(staying)


def since(shard: Model | Pool, begun: Model | Pool) -> Model | Pool:
    """What a shard that started from `begun` has learned itself, to be merged with other such shards."""
    if isinstance(shard, BatchModel):
        return shard
    if isinstance(shard, Pool):
        assert isinstance(begun, Pool)
        models = {k: _model_since(model, begun.models[k]) for k, model in shard.models.items()}
        adjustments = {k: shard.since(k) - counts_of(model) for k, model in models.items()}
        return replace(shard, models=models, adjustments=adjustments)
    assert isinstance(begun, Model)
    return _model_since(shard, begun)


def ended(merged: Model | Pool, begun: Model | Pool) -> Model | Pool:
    """The final model of all shards that started from `begun`, ready to continue: the candidates compete again."""
    if isinstance(merged, BatchModel):
        return merged
    first = start(begun)
    if isinstance(first, Pool):
        models = {k: _without_rows(model) for k, model in first.models.items()}
        nothing = {k: -counts_of(model) for k, model in models.items()}
        first = replace(first, models=models, adjustments=nothing, board=first.board.without_answers())
    else:
        first = _without_rows(first)
    first.resize(merged.n_features)
    both = merged.merge(first)  # type: ignore[arg-type]  # they are of one kind
    return replace(both, in_shards=False) if isinstance(both, Pool) else both


def _without_rows(model: Model) -> Model:
    """What a model has learned that shards do not learn again, with no rows counted; nothing unless it skips rows."""
    result = model.copy()
    result.state = model.state.empty(model.state.n_models)
    if all(RULES[spec.rule].passive and spec.forgetting == 1 for spec in model.specs):
        result.state = model.state.copy()
        for name in (*_COUNTED, *_SEEN, *COUNTS):
            if name != "entered":  # rows are in its sums, though none is counted
                result.state.scalars[name] = 0
    result.seen = seen_by(model.specs, model.classes.size, model.state.n_models)
    result.history = None if model.history is None else History()
    return result


def _model_since(model: Model, begun: Model) -> Model:
    result, first = model.copy(), begun.copy()
    first.add_classes(_newcomers(model, first))
    first.resize(model.n_features)
    fades = any(spec.forgetting < 1 for spec in model.specs)  # then the beginning fades by itself
    average = any(spec.average for spec in model.specs)
    result.state = _counted_since(model.state, first.state, average=average)
    if not fades:
        _take_out(result.state, model.state, first.state, model.settings())
    if average:
        set_average(result.state, *_average_since(model.state, first.state))
    if result.seen is not None and first.seen is not None:
        result.seen = result.seen.since(first.seen)
    if result.history is not None:
        result.history = History.after(int(result.state.scalars["t"].max(initial=0)))
    return result


def _newcomers(model: Model, begun: Model) -> NDArray[Any]:
    """The classes added since; after a single one, first the class that came next, whose model has learned its rows."""
    new = np.setdiff1d(model.classes, begun.classes)
    if begun.classes.size != 1 or new.size < 2:
        return new
    seen = model.state.scalars["t"].reshape(model.classes.size, -1).max(axis=1)
    return new[np.argsort(-seen[np.isin(model.classes, new)], kind="stable")]


def _counted_since(state: State, begun: State, *, average: bool) -> State:
    """The same models, counting only the rows since. Predictions that count by their place or fade stay as they are.

    Weights reported by the usual size of their averaged margins go by that of the samples since.
    """
    result = state.copy()
    result.arrange("split")
    m, was = result.scalars, begun.scalars
    answers = [m[name] - was[name] for name in COUNTS]
    if all((left >= 0).all() for left in answers):
        for name, left in zip(COUNTS, answers, strict=True):
            m[name] = left
    if average:
        share, shift = was["t"] / np.maximum(m["t"] - was["t"], 1), was["exponent"] - m["exponent"]
        size = m["mean_size"] + share * (m["mean_size"] - np.ldexp(was["mean_size"], shift))
        changed = np.divide(size, m["mean_size"], out=np.ones_like(size), where=(size > 0) & (m["mean_size"] > 0))
        m["mean_size"] *= changed
        m["margin_square"] *= changed * changed  # of the averaged margins that probabilities were fitted to
    for name in _COUNTED:
        m[name] -= was[name]
    return result


def _average_since(state: State, begun: State) -> tuple[Floats, Floats]:
    """The average of the weights over the samples since, and of the intercepts."""
    m, was = state.scalars, begun.scalars
    (mean_w, mean_bias), (their_w, their_bias) = (each.own_weights(average=True) for each in (state, begun))
    share, shift = was["t"] / np.maximum(m["t"] - was["t"], 1), was["exponent"] - m["exponent"]
    mean_w = mean_w + share[:, None] * (mean_w - np.ldexp(their_w, shift[:, None]))
    return mean_w, mean_bias + share * (mean_bias - np.ldexp(their_bias, shift))


def _take_out(result: State, state: State, begun: State, settings: NDArray[np.void]) -> None:
    """Reduce class sums and Σ⁻¹ to those of the rows since; weights that do not follow from them stay as they are."""
    first = begun.copy()
    first.arrange("split")
    m, was = result.scalars, first.scalars
    result.vectors[:, U], m["bias"] = state.own_weights()
    m["scale"], m["scales"] = 1.0, 0.0
    for name in _SEEN:
        m[name] = np.maximum(m[name] - was[name], 0.0)
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
