"""Rows of numbers, dense or sparse, to margins.

Knows `graph`, and what an exported document says of such rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from .graph import ROWS, Graph

ENTRIES = "entries"


def weights_in(told: dict[str, Any]) -> NDArray[np.float64]:
    """The weights of all columns, (columns, models), in units of the rows as they come in."""
    weights = np.array(told["weights"], np.float64)
    return _filled(told, weights if told["deviations"] is None else weights / told["deviations"], 0.0).T


def _filled(told: dict[str, Any], values: Any, rest: float) -> NDArray[np.float64]:
    """Numbers of the columns that have a weight (…, columns) as those of all columns."""
    values = np.asarray(values, np.float64)
    result = np.full((*values.shape[:-1], told["width"]), rest)
    result[..., told["columns"]] = values
    return result


def dense_margins(graph: Graph, told: dict[str, Any], x: str) -> str:
    """The margins (rows, models) of rows (rows, columns), without intercepts."""
    if told["means"] is not None:
        x = graph.apply("Sub", x, _filled(told, told["means"], 0.0))
    return graph.apply("MatMul", x, weights_in(told))


def dense(graph: Graph, told: dict[str, Any]) -> str:
    """The same of an input of rows."""
    names = "" if told["names"] is None else f": {', '.join(told['names'])}"
    x = graph.input("X", TensorProto.DOUBLE, [ROWS, told["width"]], f"Rows of {told['width']} numbers{names:.1000}.")
    return dense_margins(graph, told, x)


def sparse(graph: Graph, told: dict[str, Any]) -> str:
    """The margins (rows, models) of rows in the form of CSR, as SciPy has it, without intercepts."""
    if told["means"] is not None:
        raise ValueError("rows whose columns lose their mean are not sparse: convert with sparse=False.")
    indptr = graph.input("indptr", TensorProto.INT64, ["rows_and_one"], "Where each row begins, and the last ends.")
    columns = graph.input("indices", TensorProto.INT64, [ENTRIES], f"Columns, from 0 to {told['width'] - 1}.")
    values = graph.input("data", TensorProto.DOUBLE, [ENTRIES], "What the rows have in these columns.")
    weights = weights_in(told)
    if told["others"] == "ignored":
        weights = np.concatenate([weights, np.zeros((1, weights.shape[1]))])
        columns = graph.apply("Min", columns, told["width"])
    columns = graph.apply("Where", graph.apply("Less", columns, 0), len(weights), columns)  # else −1 is the last one
    of_entries = graph.apply("Gather", weights, columns, name="weights_of_columns")
    terms = graph.apply("Mul", of_entries, graph.apply("Unsqueeze", values, [1]))
    return summed(graph, terms, *rows_of_entries(graph, indptr, columns))


def rows_of_entries(graph: Graph, indptr: str, entries: str) -> tuple[str, str]:
    """The row of each entry, by where rows begin; and how many rows there are, as a list of one number."""
    n_entries, n_starts = graph.apply("Shape", entries), graph.apply("Shape", indptr)
    marks = _zeros(graph, graph.apply("Add", n_entries, [1]), np.int64)
    begins = graph.apply("Slice", indptr, [1], [np.iinfo(np.int64).max])
    ones = graph.apply("Add", graph.apply("Mul", begins, 0), 1)
    marks = graph.apply("ScatterElements", marks, begins, ones, axis=0, reduction="add")
    of_entries = graph.apply("Slice", graph.apply("CumSum", marks, 0), [0], n_entries)
    return of_entries, graph.apply("Sub", n_starts, [1])


def summed(graph: Graph, terms: str, rows: str, n_rows: str) -> str:
    """Terms (entries, models) added up by rows, (rows, models)."""
    shape = graph.apply("Concat", n_rows, graph.apply("Shape", terms, start=1), axis=0)
    places = graph.apply("Unsqueeze", rows, [1])
    return graph.apply("ScatterND", _zeros(graph, shape, np.float64), places, terms, reduction="add")


def _zeros(graph: Graph, shape: str, kind: Any) -> str:
    return graph.apply("Expand", np.zeros(1, kind), shape)
