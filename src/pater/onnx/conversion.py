"""Conversion of a model to ONNX.

Knows `export.document`, which describes how a model scores a row, and the parts of the graph that do the same.
"""

from __future__ import annotations

import json
from typing import Any

from onnx import ModelProto

from .. import __version__
from ..export import FORM, ExportError, document
from .answers import answers, give
from .graph import Graph
from .matrices import as_numbers, dense, sparse
from .tables import Table

WHAT = {"table": "a table have an input for each column", "hashed": "hashed names come as lists"}


def to_onnx(model: Any, *, sparse: bool | None = None) -> ModelProto:
    """Convert a model to ONNX, with the same predictions, in double precision.

    Parameters
    ----------
    model : estimator, OnlinePipeline, stream.Learner or dict
        A fitted model, or its `pater.export.document`.
    sparse : bool, optional
        Whether rows are given as the lists `indptr`, `indices` and `data` of a CSR matrix instead of a matrix `X`. By
        default only for models of files with indices or hashed names.

    Returns
    -------
    onnx.ModelProto
        With the outputs `label`, `margin` (the result of `decision_function`) and, if the model has them,
        `probabilities`. `pater.onnx.feed` makes its inputs from rows. A row whose margin is not finite has no label:
        running the model on it is an error, as with `predict`.

    Examples
    --------
    >>> from pater import Perceptron
    >>> from pater.onnx import to_onnx
    >>> model = to_onnx(Perceptron().fit([[0.0], [3.0]], ["no", "yes"]))
    >>> [output.name for output in model.graph.output]
    ['label', 'margin']
    """
    told = told_of(model)
    graph = Graph()
    give(graph, told, answers(graph, told, _margins(graph, told, sparse)))
    rules = sorted({each["rule"] for each in told["models"]})
    metadata = {"classes": json.dumps(told["classes"]), "threshold": repr(told["threshold"]), "rule": ", ".join(rules)}
    return graph.model("A linear classifier of pater.", metadata, __version__)


def _margins(graph: Graph, told: dict[str, Any], as_lists: bool | None) -> str:
    """The margins (rows, models) of input rows, without intercepts."""
    rows = told["input"]
    if takes_lists(rows, as_lists):
        return sparse(graph, as_numbers(rows))
    if rows["kind"] == "table":
        return Table(graph, rows, len(told["models"])).margins()
    return dense(graph, rows)


def told_of(model: Any) -> dict[str, Any]:
    """The document of a model, or the document that was given; an ExportError if a dict is not a document."""
    if not isinstance(model, dict):
        return document(model)
    if model.get("form") != FORM or "input" not in model:
        raise ExportError(f"the dict is not a document of form {FORM}, as pater.export.document makes it.")
    return model


def takes_lists(told: dict[str, Any], asked: bool | None) -> bool:
    """Whether rows come as lists of indices and values."""
    if told["kind"] == "numbers":
        return bool(told["others"] == "ignored" if asked is None else asked)
    is_hashed = bool(told["kind"] == "hashed")
    if asked is not None and asked != is_hashed:
        raise ValueError(f"rows of {WHAT[told['kind']]}: leave out sparse={asked}.")
    return is_hashed
