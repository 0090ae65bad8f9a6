"""Tables as the inputs of an ONNX model: texts that ONNX cannot parse are parsed here.

Knows the encoders of columns, and how an exported document describes each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.pipeline import OnlinePipeline
from ..estimators.table_encoder import TableEncoder
from ..estimators.table_inputs import table_like
from ..formats.raw import RawBatch
from ..preprocessing.categories import categories
from ..preprocessing.column_encoders import CategoryEncoder, ColumnEncoder
from ..preprocessing.columns import Column, as_texts
from ..preprocessing.encoding import Encoding
from ..stream.learner import Learner
from .categories import takes_texts
from .tables import input_name, is_asked, list_names

Inputs = dict[str, NDArray[Any]]


def encoding_of(model: Any) -> Encoding:
    """The encoding with which a model reads tables."""
    if isinstance(model, Learner) and model.encoder is not None:
        return model.encoder.encoding
    steps = model._speaking() if isinstance(model, OnlinePipeline) else getattr(model, "steps", [(None, None)])
    if isinstance(steps[0][1], TableEncoder):
        return steps[0][1].encoding_
    given = type(model).__name__
    raise TypeError(f"to feed a table, give the model itself, not a {given}: the model knows how to read texts.")


def of_table(told: dict[str, Any], encoding: Encoding, X: Any) -> Inputs:
    """The inputs for a table, as a document describes its columns."""
    table = X.table if isinstance(X, RawBatch) else table_like(X, encoding.names, "the model")
    encoding.check(table)
    found: Inputs = {}
    for column, encoder in zip(told["columns"], encoding.columns, strict=True):
        if is_asked(column):
            found |= _of_column(column, encoder, table[column["name"]])
    return found


def _of_column(told: dict[str, Any], encoder: ColumnEncoder, column: Column) -> Inputs:
    name = input_name(told["name"])
    if told["kind"] in ("number", "date"):
        values = encoder.values(column)
        assert values is not None
        return {name: values[:, None]}
    if told["kind"] == "text":
        return _of_words(told, encoder, column)
    if isinstance(encoder, CategoryEncoder):
        return {name: (_names(encoder, column) if takes_texts(told) else _places(told, encoder, column))[:, None]}
    return {name: (as_texts(column).codes < 0)[:, None]}


def _names(encoder: CategoryEncoder, column: Column) -> NDArray[Any]:
    """The name of each row's category; an empty text if it is missing."""
    texts = categories(column, encoder.names, encoder.naming)
    return np.array([*texts.names, ""], object)[texts.codes]


def _places(told: dict[str, Any], encoder: CategoryEncoder, column: Column) -> NDArray[np.int64]:
    """The place of each row's category; the encoder's own places leave room for more before the rare ones."""
    places, most = encoder.places(column, None, learn=False)[0].astype(np.int64), encoder.settings.max_categories
    return np.where(places < most, places, places - most + len(told["values"]))


def _of_words(told: dict[str, Any], encoder: ColumnEncoder, column: Column) -> Inputs:
    """The places of the words of each text; a missing text has one place beyond those of words."""
    rows, words, _ = encoder.tokens(column, learn=False)
    missing = np.flatnonzero(as_texts(column).codes < 0)
    rows, words = np.append(rows, missing), np.append(words, np.full(missing.size, encoder.n_tokens()))
    counts = np.bincount(rows, minlength=len(column[0]))
    starts, list_of_words = list_names(told["name"])
    return {starts: np.append(0, np.cumsum(counts)), list_of_words: words[np.argsort(rows, kind="stable")]}
