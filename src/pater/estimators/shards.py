"""Pipelines behind a `TableEncoder` that learn shards of a table: what each starts from, and what it has counted.

Knows `table_encoder`, `pipeline` and `stream`. All shards start from one encoder, which has begun with some rows of the
whole, so that they can be merged; no classifier has learned from those.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from ..preprocessing.begun import begun_with, without
from ..preprocessing.settings import RESOLUTIONS
from ..preprocessing.stream_encoder import StreamEncoder
from ..stream.begun import encoder_from_bytes, encoder_to_bytes
from ..stream.encoder import Encoder
from .parameters import one_of
from .pipeline import OnlinePipeline
from .table_encoder import TableEncoder
from .table_inputs import table_like


def begun_bytes(table: TableEncoder, samples: Sequence[Any]) -> bytes:
    """What an encoder of these settings decides from some rows, frame by frame, as bytes to start shards from.

    Frames without rows say nothing.
    """
    one_of("resolution", table.resolution, tuple(RESOLUTIONS))
    tables = [table_like(X, None, type(table).__name__) for X in samples if len(X)]
    stream = StreamEncoder.of_shard(begun_with(tables, table._wanted()))
    return encoder_to_bytes(Encoder(stream, table.resolution))


def starting_from(content: bytes, estimator: OnlinePipeline) -> OnlinePipeline:
    """A pipeline of these settings for a shard: the encoder of `begun_bytes`, and a classifier that knows nothing."""
    result: OnlinePipeline = clone(estimator)
    table = result.steps[0][1]
    assert isinstance(table, TableEncoder)
    table._stream = encoder_from_bytes(content)._stream
    encoding = table.encoding_
    table.n_features_in_, table.feature_names_in_ = len(encoding.names), np.array(encoding.names, object)
    return result


def without_begun(content: bytes, pipeline: OnlinePipeline) -> OnlinePipeline:
    """A pipeline that has learned a shard, with an encoder that has counted the rows of the shard only."""
    result = copy(pipeline)
    name, table = pipeline.steps[0]
    own = copy(table)
    encoding = without(table.encoding_, encoder_from_bytes(content).encoding)
    own._stream = StreamEncoder(encoding.settings, encoding)
    result.steps = [(name, own), *pipeline.steps[1:]]
    return result
