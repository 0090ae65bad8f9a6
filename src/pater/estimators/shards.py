"""Pipelines with a `TableEncoder` that learn shards of a table: what each starts from, and what it has learned since.

Knows `table_encoder`, `pipeline` and `models/shards.py`. All shards start from one pipeline, which has begun with some
rows of the whole, so that they can be merged. Pipelines are passed as bytes of model files.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from ..files.in_bytes import from_bytes, to_bytes
from ..models.shards import ended, since, start
from ..preprocessing.settings import RESOLUTIONS
from ..preprocessing.shard_encodings import begun_with, without
from ..preprocessing.stream_encoder import StreamEncoder
from .growth import make_room, tell_levels
from .load import load
from .parameters import one_of
from .pipeline import OnlinePipeline
from .table_encoder import TableEncoder
from .table_inputs import table_like

Batch = tuple[Any, Any, Any]  # rows, labels, importances or None


def begun_bytes(estimator: OnlinePipeline, batches: Sequence[Batch], classes: Any = None) -> bytes:
    """A pipeline with these settings that has begun with some rows, as bytes from which shards start.

    Empty batches are ignored.
    """
    result: OnlinePipeline = clone(estimator)
    table, (name, classifier) = result.steps[0][1], result.steps[1]
    one_of("resolution", table.resolution, tuple(RESOLUTIONS))
    some = [batch for batch in batches if len(batch[1])]
    encoding = begun_with([table_like(X, None, type(table).__name__) for X, _, _ in some], table._wanted())
    _take_stream(table, StreamEncoder(encoding.settings, encoding))
    for X, y, weights in some:
        rows = table.transform(X)
        tell_levels(result.steps, rows)
        make_room(classifier, rows.shape[1], name)
        more = {} if weights is None else {"sample_weight": weights}
        classifier.partial_fit(rows, y, **more, **({} if classes is None else {"classes": classes}))
    return to_bytes(result.save)


def starting_from(content: bytes, estimator: OnlinePipeline) -> OnlinePipeline:
    """A pipeline with these settings for a shard, starting from these bytes."""
    begun = from_bytes(content, load)
    table, classifier = (step for _, step in begun.steps)
    _take_stream(table, StreamEncoder.of_shard(table.encoding_))
    classifier._model = start(classifier._model)
    begun.steps = [(name, step) for (name, _), step in zip(estimator.steps, (table, classifier), strict=True)]
    return begun  # type: ignore[no-any-return]


def without_begun(content: bytes, pipeline: OnlinePipeline) -> OnlinePipeline:
    """What a pipeline that started from these bytes has counted and learned from its own shard."""
    begun = from_bytes(content, load)
    result = copy(pipeline)
    table, classifier = (step for _, step in result.steps)
    encoding = without(table.encoding_, begun.steps[0][1].encoding_)
    table._stream = StreamEncoder(encoding.settings, encoding)
    classifier._model = since(classifier._model, begun.steps[1][1]._model)
    return result


def together(content: bytes, pipeline: OnlinePipeline) -> OnlinePipeline:
    """The final pipeline of merged shards that started from these bytes, ready to continue."""
    begun = from_bytes(content, load)
    classifier = pipeline.steps[1][1]
    classifier._model = ended(classifier._model, begun.steps[1][1]._model)
    return pipeline


def _take_stream(table: TableEncoder, stream: StreamEncoder) -> None:
    table._stream = stream
    encoding = table.encoding_
    table.n_features_in_, table.feature_names_in_ = len(encoding.names), np.array(encoding.names, object)
