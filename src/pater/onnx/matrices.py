"""Margins of rows of numbers, dense or sparse.

Knows `graph`, and how an exported document describes such rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ..export.errors import ExportError
from .graph import ROWS, Graph

LAST = np.iinfo(np.int64).max  # the end of a slice that goes to the end
MOST_FILLED = 1 << 20  # up to this many weights, zeros included, all columns are stored


def as_numbers(told: dict[str, Any]) -> dict[str, Any]:
    """The description of rows of hashed names as rows of numbers, which they are once hashed."""
    if told["kind"] != "hashed":
        return told
    return {**told, "width": 1 << told["bits"], "others": "error", "means": None}


def _spread(told: dict[str, Any], values: Any) -> NDArray[np.float64]:
    """Expand numbers of the columns that have a weight, (…, columns), to all columns, with 0 for the others."""
    values = np.asarray(values, np.float64)
    result = np.zeros((*values.shape[:-1], told["width"]))
    result[..., told["columns"]] = values
    return result


def _weights(told: dict[str, Any]) -> NDArray[np.float64]:
    """The weights of the columns that have one, (models, columns), in the units of the input rows."""
    weights = np.array(told["weights"], np.float64)
    return weights if told["deviations"] is None else weights / told["deviations"]


def dense_margins(graph: Graph, told: dict[str, Any], x: str) -> str:
    """The margins (rows, models) of rows (rows, columns), without intercepts."""
    means = None if told["means"] is None else _spread(told, told["means"])
    if told["missing"] == "nothing":
        x = graph.apply("Where", graph.apply("IsNaN", x), 0.0 if means is None else means, x)
    if means is not None:
        x = graph.apply("Sub", x, means)
    return graph.apply("MatMul", x, _spread(told, _weights(told)).T)


def dense(graph: Graph, told: dict[str, Any]) -> str:
    """The same, for an input `X` that is added to the graph."""
    names = "" if told["names"] is None else f": {', '.join(told['names'])}"
    x = graph.input("X", TensorProto.DOUBLE, [ROWS, told["width"]], f"Rows of {told['width']} numbers{names:.1000}.")
    return dense_margins(graph, told, x)


def sparse(graph: Graph, told: dict[str, Any]) -> str:
    """The margins (rows, models) of rows given as the lists of a CSR matrix, without intercepts."""
    if told["means"] is not None:
        raise ExportError("centred rows are not sparse: convert with sparse=False.")
    last = told["width"] - 1
    indptr = graph.input("indptr", TensorProto.INT64, ["rows_and_one"], "Where each row begins, and the last ends.")
    columns = graph.input("indices", TensorProto.INT64, ["entries"], f"Columns, from 0 to {last}.")
    values = graph.input("data", TensorProto.DOUBLE, ["entries"], "What the rows have in these columns.")
    terms = graph.apply("Mul", _weights_at(graph, told, columns), graph.apply("Unsqueeze", values, [1]))
    return summed(graph, terms, *rows_of_entries(graph, indptr, columns))


def _weights_at(graph: Graph, told: dict[str, Any], columns: str) -> str:
    """The weights of columns (entries, models); a column that does not exist is an error, or is ignored.

    Where few of many columns have a weight, these are looked up by their numbers.
    """
    weights, width = _weights(told).T, told["width"]
    if told["others"] == "ignored":
        columns = graph.apply("Min", columns, width)
    rows = width + 1
    if rows * weights.shape[1] <= MOST_FILLED or 4 * len(weights) > rows:
        weights = np.concatenate([_spread(told, weights.T).T, np.zeros((1, weights.shape[1]))])
        places = columns
    else:
        places = graph.look_up(columns, told["columns"], len(weights))
        weights = np.concatenate([weights, np.zeros((1, weights.shape[1]))])
    bad = graph.apply("Less", columns, 0)  # −1 would be the last column
    if told["others"] == "error":
        bad = graph.apply("Or", bad, graph.apply("GreaterOrEqual", columns, width))
    places = graph.apply("Where", bad, len(weights), places)
    return graph.apply("Gather", weights, places, name="weights_of_columns")


def rows_of_entries(graph: Graph, indptr: str, entries: str) -> tuple[str, str]:
    """The row of each entry, from the starts of the rows; and the number of rows, as a list of one number.

    If the starts are not in order, or the first is not 0, entries get an invalid row.
    """
    n_entries = graph.apply("Shape", entries)
    marks = _zeros(graph, graph.apply("Add", n_entries, [1]), np.int64)
    ones = graph.apply("Add", graph.apply("Mul", indptr, 0), 1)
    marks = graph.apply("ScatterElements", marks, indptr, ones, axis=0, reduction="add")
    rows = graph.apply("Sub", graph.apply("Slice", graph.apply("CumSum", marks, 0), [0], n_entries), 1)
    shrinks = graph.apply("Cast", graph.apply("Less", sizes_of_rows(graph, indptr), 0), to=TensorProto.INT64)
    unordered = graph.apply("Greater", graph.apply("ReduceSum", shrinks, [0]), 0)
    unsound = graph.apply("Or", graph.apply("Less", rows, 0), unordered)
    n_rows = graph.apply("Sub", graph.apply("Shape", indptr), [1])
    return graph.apply("Where", unsound, n_rows, rows), n_rows


def sizes_of_rows(graph: Graph, indptr: str) -> str:
    """The number of entries of each row."""
    return graph.apply("Sub", graph.apply("Slice", indptr, [1], [LAST]), graph.apply("Slice", indptr, [0], [-1]))


def summed(graph: Graph, terms: str, rows: str, n_rows: str) -> str:
    """Terms (entries, models) added up by rows, (rows, models)."""
    shape = graph.apply("Concat", n_rows, graph.apply("Shape", terms, start=1), axis=0)
    places = graph.apply("Unsqueeze", rows, [1])
    zeros = _zeros(graph, shape, np.float64)
    return graph.apply("ScatterND", zeros, places, terms, reduction="add", name="rows_begin_in_order")


def _zeros(graph: Graph, shape: str, kind: Any) -> str:
    return graph.apply("Expand", np.zeros(1, kind), shape)
