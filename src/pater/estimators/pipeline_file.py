"""A pipeline of a TableEncoder and an online learner as a model file, as `pater train` writes it for a table.

Knows every estimator, `stream`, whose file this is, and `columns`.
"""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..files import model_file as modelfile
from ..formats.columns import ENCODED, NUMBER, TEXT, Columns
from ..models.labels import is_text
from ..preprocessing.column_encoders import ColumnEncoder
from ..preprocessing.stream_encoder import StreamEncoder
from ..stream.encoder import Encoder
from . import parameters
from .load import ESTIMATORS, pipeline_of
from .online import OnlineClassifier
from .table_encoder import TableEncoder
from .ter import TERClassifier


def save(steps: list[tuple[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write these steps to a model file; an error says what cannot be saved."""
    table, classifier = _checked(steps)
    model, described = classifier._to_save(), parameters.to_json(classifier, ESTIMATORS)
    encoding = table.encoding_
    columns = Columns(
        ENCODED,
        table=tuple((column.name, _read_as(column)) for column in encoding.columns),
        numeric_labels=not is_text(model.classes),
    )
    told, arrays = Encoder(StreamEncoder(encoding.settings, encoding), table.resolution).state()
    saved = modelfile.Saved(
        model,
        scoring=described["params"].get("scoring", "balanced_accuracy"),
        scoring_settings=described["params"].get("scoring_settings"),
        columns={**columns.to_json(), "encoder": told},
        counts={"rows": classifier.t_, "features": model.n_features},
        estimator=described,
        arrays=arrays,
    )
    modelfile.save(path, saved, accept=pipeline_of)


def _checked(steps: list[tuple[str, Any]]) -> tuple[TableEncoder, OnlineClassifier | TERClassifier]:
    """The encoder and the learner; an error if there are other steps, or if there is nothing to save yet."""
    fits = (lambda step: type(step) is TableEncoder, lambda step: isinstance(step, OnlineClassifier | TERClassifier))
    others = [
        f"step {name!r} is a {type(step).__name__}"
        for k, (name, step) in enumerate(steps)
        if k >= len(fits) or not fits[k](step)
    ]
    if len(steps) != 2 or others:
        why = others[0] if others else "one of them is not there"
        raise TypeError(f"pipelines of a TableEncoder and an online learner of pater can be saved, but {why}.")
    table, classifier = steps[0][1], steps[1][1]
    check_is_fitted(table)
    stream = table._stream
    if stream.encoding is None:
        raise ValueError(
            f"the encoder holds back the first {stream.settings.warm_up:,} rows (warm_up) before it decides how to "
            f"encode them: learn from {stream.settings.warm_up - stream.n_held:,} more rows first, then save."
        )
    return table, classifier


def _read_as(column: ColumnEncoder) -> str:
    """How a column is read from a file: as numbers, or as text."""
    is_number = column.kind == "number" or getattr(column, "unit", 0.0) > 0  # seconds since 1970, or parts of them
    return NUMBER if is_number and getattr(column, "style", "plain") == "plain" else TEXT
