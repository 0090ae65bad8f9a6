"""The plain description of how a model scores a row, in JSON's types.

Knows `speaker` and the forms of rows.
"""

from __future__ import annotations

from typing import Any

from .. import __version__
from ..estimators.base import LinearClassifier
from ..estimators.pipeline import OnlinePipeline
from ..estimators.table_encoder import TableEncoder
from ..formats.columns import HASHED, TABLE
from ..stream.learner import Learner
from .errors import ExportError
from .hashed import hashed
from .numbers import NO_SCALE, numbers, scale_along, scale_of
from .speaker import Speaker
from .table import table

FORM = 1
"""The version number of the form of documents."""


def document(model: Any) -> dict[str, Any]:
    """Describe how a model scores a row: complete, and in JSON's types only.

    The margins of a row are the intercepts plus what each value of the row adds. Everything needed for that is in the
    document: how raw columns are encoded or scaled, the weights that predict (of the chosen candidate, averaged where
    the average predicts), the threshold, and how margins become probabilities. docs/export.md says what each field
    means, and has a page of plain Python that scores rows with it.

    Parameters
    ----------
    model : estimator, OnlinePipeline or stream.Learner
        A fitted model. A pipeline consists of a TableEncoder or a scikit-learn scaler, and a classifier of pater.

    Returns
    -------
    dict
        It contains only dicts, lists, strings, numbers, booleans and None.

    Examples
    --------
    >>> from pater import Perceptron
    >>> from pater.export import document
    >>> told = document(Perceptron().fit([[0.0], [3.0]], ["no", "yes"]))
    >>> told["classes"], told["threshold"], told["input"]["weights"]
    (['no', 'yes'], 0.0, [[3.0]])
    """
    if isinstance(model, Learner):
        speaker = Speaker.of_learner(model)
        return _document(speaker, _input_of_learner(model, speaker))
    if isinstance(model, OnlinePipeline) or type(model).__name__ == "Pipeline":
        return _of_pipeline(model)
    if isinstance(model, LinearClassifier):
        speaker = Speaker.of_estimator(model)
        return _document(speaker, numbers(speaker, names=model._names()))
    if type(model).__module__.startswith("pater.river"):
        raise ExportError("a classifier of River is exported as an estimator: document(pater.river.from_river(model)).")
    raise ExportError(
        f"a {type(model).__name__} cannot be exported: give a fitted estimator of pater, a pipeline with one, or what "
        "stream.load gives."
    )


def _document(speaker: Speaker, input: dict[str, Any]) -> dict[str, Any]:
    classes = speaker.classes
    of_models = classes[1:] if len(classes) == 2 else classes
    return {
        "form": FORM,
        "pater": __version__,
        "classes": classes,
        "threshold": speaker.threshold,
        "operating_point": speaker.operating_point,
        "models": [
            {
                "class": label,
                "rule": speaker.rules[k],
                "intercept": float(speaker.intercepts[k]),
                "probability": speaker.probabilities[k] if speaker.probabilities else None,
            }
            for k, label in enumerate(of_models)
        ],
        "input": input,
    }


def _of_pipeline(pipeline: Any) -> dict[str, Any]:
    steps = pipeline._speaking() if isinstance(pipeline, OnlinePipeline) else pipeline.steps
    last = steps[-1][1]
    if not isinstance(last, LinearClassifier):
        raise ExportError(f"the pipeline ends with a {type(last).__name__}, not with a classifier of pater.")
    if len(steps) > 2:
        raise ExportError(
            f"a pipeline of {len(steps)} steps cannot be exported: at most one may come before the classifier."
        )
    speaker = Speaker.of_estimator(last)
    if len(steps) == 1:
        return _document(speaker, numbers(speaker, names=last._names()))
    first = steps[0][1]
    if isinstance(first, TableEncoder):
        return _document(speaker, table(speaker, first.encoding_, first.resolution))
    scale, names = scale_of(first), getattr(first, "feature_names_in_", None)
    return _document(speaker, numbers(speaker, scale, names=names))


def _input_of_learner(learner: Learner, speaker: Speaker) -> dict[str, Any]:
    columns, scaler, encoder = learner.columns, learner.scaler, learner.encoder
    if encoder is not None:
        return table(speaker, encoder.encoding, encoder.resolution)
    if columns is None:
        if scaler is not None:
            raise ExportError("the model scales its rows, but it is not known whether they are sparse.")
        return numbers(speaker)
    if columns.kind == TABLE:
        names = [name for name, _ in columns.table]
        if scaler is None:
            return numbers(speaker, names=names, missing="nothing")
        scale = scale_along(scaler, dense=True)
        return numbers(speaker.only(scaler.square > 0), scale, names=names, missing="nothing")
    scale = NO_SCALE if scaler is None else scale_along(scaler, dense=False)
    return hashed(speaker, columns, scale) if columns.kind == HASHED else numbers(speaker, scale, others="ignored")
