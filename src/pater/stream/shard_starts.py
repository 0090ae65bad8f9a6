"""What shards of a table start from: a learner that has learned some rows of the whole, as bytes of a model file.

Knows `learner`, the model file and `models/shards.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from ..files.in_bytes import from_bytes, to_bytes
from ..formats.raw import RawBatch
from ..models.shards import ended, since, start
from .learner import Learner, load


def begun_bytes(learner: Learner, batches: Sequence[RawBatch]) -> bytes:
    """A new learner after some rows, which decide how columns are encoded and are then learned from."""
    result = deepcopy(learner)
    assert result.encoder is not None
    result.encoder = result.encoder.begun_with([batch.table for batch in batches])
    for batch in batches:
        result.learn(result.encoder.read(batch))
    return to_bytes(result.save)


def starting_from(content: bytes, learner: Learner) -> Learner:
    """A learner with these settings for a shard, starting from these bytes."""
    begun, result = from_bytes(content, load), deepcopy(learner)
    assert begun.encoder is not None
    assert begun.model is not None
    result.model, result.encoder = start(begun.model), begun.encoder.of_shard()
    result.n_features = begun.n_features
    return result


def without_begun(content: bytes, learner: Learner) -> Learner:
    """What a learner that started from these bytes has counted and learned from its own shard."""
    begun = from_bytes(content, load)
    assert begun.encoder is not None
    assert begun.model is not None
    assert learner.encoder is not None
    assert learner.model is not None
    return replace(learner, encoder=learner.encoder.without(begun.encoder), model=since(learner.model, begun.model))


def together(content: bytes, learner: Learner) -> Learner:
    """The final learner of merged shards that started from these bytes, ready to continue."""
    begun = from_bytes(content, load)
    assert begun.model is not None
    assert learner.model is not None
    return replace(learner, model=ended(learner.model, begun.model))
