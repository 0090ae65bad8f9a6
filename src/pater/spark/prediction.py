"""Predictions of a model for rows of a DataFrame, as a Spark function.

Knows Spark's Arrow functions and bytes of models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import LinearClassifier
from ..estimators.blocks import model_bytes, model_of
from ..estimators.pipeline import OnlinePipeline
from .columns import numbers
from .tasks import loader

METHODS = {"predict": "predict", "probability": "predict_proba", "margin": "decision_function"}
TYPES = {"long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string()}
STRUCT = "give the columns as one struct, predict_udf(model)(struct('*'))"


def answers(model: Any, kind: str) -> Any:
    """The Spark function that returns predictions of a model."""
    if kind not in METHODS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, METHODS))}, got {kind!r}.")
    if not isinstance(model, LinearClassifier | OnlinePipeline):
        raise TypeError(f"model must be a fitted learner of pater or an OnlinePipeline, got {model!r}.")
    check_is_fitted(model)
    learner = model.steps[-1][1] if isinstance(model, OnlinePipeline) else model
    try:
        getattr(learner, METHODS[kind])
    except AttributeError as error:
        raise AttributeError(str(error.__cause__ or error)) from None
    many = kind != "predict" and model.classes_.size > 2
    of = _kind_of(model.classes_) if kind == "predict" else "double"
    say = sent(Answer(model_bytes(model), kind, of, many=many))
    return arrow_udf(say, f"array<{of}>" if many else of)


def sent(answer: Answer) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `arrow_udf` that returns the answers."""
    load = loader(answer)

    def say(several: Iterator[pa.Array]) -> Iterator[pa.Array]:  # sent by value; Spark goes by these types
        answer = load()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        yield from answer(several)

    return say


class Answer:
    """Predicts batches of rows with a model."""

    def __init__(self, content: bytes, kind: str, of: str, *, many: bool) -> None:
        self.content, self.kind, self.of, self.many = content, kind, of, many

    def __call__(self, several: Iterator[Any]) -> Iterator[Any]:
        model = model_of(self.content)
        kind = pa.list_(TYPES[self.of]) if self.many else TYPES[self.of]
        for array in several:
            said = self._said(model, array) if len(array) else np.empty(0)
            yield pa.array(list(said) if self.many else said.tolist(), kind)

    def _said(self, model: Any, array: Any) -> Any:
        said = getattr(model, METHODS[self.kind])(_rows(model, array))
        return said[:, 1] if self.kind == "probability" and not self.many else said


def _kind_of(classes: Any) -> str:
    if classes.dtype.kind in "iu":
        return "long"
    if classes.dtype.kind in "fb":
        return {"f": "double", "b": "boolean"}[classes.dtype.kind]
    if not all(isinstance(each, str) for each in classes):
        raise TypeError(f"labels of several types cannot be a column: {classes.tolist()}.")
    return "string"


def _rows(model: Any, array: Any) -> Any:
    """The features of a model from a struct of columns, or from a column of arrays."""
    if isinstance(array, tuple):
        raise ValueError(f"{STRUCT}.")
    is_struct = pa.types.is_struct(array.type)
    table = pa.Table.from_struct_array(array) if is_struct else pa.table({"features": array})
    known = model.steps[0][1] if isinstance(model, OnlinePipeline) else model
    names = getattr(known, "feature_names_in_", None)
    if names is not None:
        absent = [name for name in names if name not in table.column_names]
        if absent:
            has = (
                f"the struct has {table.column_names}"
                if is_struct
                else "give a struct: predict_udf(model)(struct('*'))"
            )
            raise ValueError(f"the model needs the column {absent[0]!r}; {has}.")
        table = table.select(list(names))
    return table if isinstance(model, OnlinePipeline) else numbers(table)
