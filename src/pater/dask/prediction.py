"""Predictions of a model for the rows of a collection, block by block and lazily.

Knows Dask's collections and bytes of models. The graph holds the model once, for all blocks.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import LinearClassifier
from ..estimators.blocks import model_bytes, model_of, said_of, versions
from ..estimators.pipeline import OnlinePipeline
from .blocks import check_rows
from .tasks import as_rows, check_versions, n_rows

_kept = threading.local()  # the model that a thread has used last


def said_of_blocks(model: Any, method: str, X: Any) -> Any:
    """The results of a method of a model: an array for an array; for a frame, a Series or a frame with its index."""
    if not isinstance(model, LinearClassifier | OnlinePipeline):
        raise TypeError(f"model must be a fitted learner of pater or an OnlinePipeline, got {model!r}.")
    check_is_fitted(model)
    check_rows(X, is_table=isinstance(model, OnlinePipeline))
    _check_width(model, X)
    empty, content = _nothing(model, method), model_bytes(model)
    sent = delayed(_sent)(content, dask_key_name=f"model-{tokenize(content)}")
    answer = partial(_answer, method=method, empty=empty, wanted=versions())
    if not isinstance(X, dd.DataFrame):
        return _array(X, sent, answer, empty)
    meta = _like_frame(X._meta.iloc[:0], empty, model.classes_)
    told = partial(_frame_answer, answer=answer, classes=model.classes_)
    return X.map_partitions(_numbered, sent, told=told, meta=meta, transform_divisions=False)


def _check_width(model: Any, X: Any) -> None:
    wanted = getattr(model, "n_features_in_", None)
    if isinstance(X, da.Array) and wanted is not None and X.shape[1] != wanted and not np.isnan(X.shape[1]):
        name = type(model).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {wanted} features as input.")


def _nothing(model: Any, method: str) -> Any:
    """The result of a method for no rows."""
    learner = model.steps[-1][1] if isinstance(model, OnlinePipeline) else model
    try:
        getattr(learner, method)
    except AttributeError as error:
        raise AttributeError(str(error.__cause__ or error)) from None
    classes = model.classes_
    if method == "predict":
        return classes[:0]
    return np.empty((0, classes.size) if method == "predict_proba" or classes.size > 2 else 0)


def _array(X: Any, sent: Delayed, answer: Any, empty: Any) -> Any:
    """The results for an array, with one task per chunk, which knows the number of its chunk."""
    name = f"said-{tokenize(X.name, sent.key, answer)}"
    places = (0,) * (empty.ndim - 1)
    tasks = {(name, k, *places): (answer, (X.name, k, 0), sent.key, k) for k in range(X.numblocks[0])}
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[X, sent])
    return da.Array(graph, name, (X.chunks[0], *((n,) for n in empty.shape[1:])), meta=empty)


def _sent(content: bytes) -> bytes:
    return content


def _answer(X: Any, content: bytes, number: int, *, method: str, empty: Any, wanted: tuple[str, str]) -> Any:
    check_versions(wanted)
    with said_of(number):
        return getattr(_model(content), method)(as_rows(X)) if n_rows(X) else empty


def _model(content: bytes) -> Any:
    """The model of these bytes, loaded once per thread, since threads do not share one."""
    if getattr(_kept, "content", None) != content:
        _kept.model, _kept.content = model_of(content), content
    return _kept.model


def _numbered(X: Any, content: bytes, *, told: Any, partition_info: Any = None) -> Any:
    """Call `told` with the number of the partition, which Dask passes as `partition_info`."""
    return told(X, content, partition_info["number"])


def _frame_answer(X: Any, content: bytes, number: int, *, answer: Any, classes: Any) -> Any:
    return _like_frame(X, answer(X, content, number), classes)


def _like_frame(X: Any, answers: Any, classes: Any) -> Any:
    """Results with the index of their rows; if there is one for each class, each class is a column."""
    import pandas as pd

    if answers.ndim > 1:
        return pd.DataFrame(answers, index=X.index, columns=classes)
    kind = pd.Series(classes).dtype if answers.dtype == classes.dtype else answers.dtype  # pandas has its own for text
    return pd.Series(answers, index=X.index, dtype=kind)
