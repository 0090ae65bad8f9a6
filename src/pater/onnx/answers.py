"""Labels and probabilities from margins.

Knows `graph`, and the fields of an exported document that describe them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ..export.errors import ExportError
from .graph import ROWS, Graph, as_type


class Answers(NamedTuple):
    """The names of a graph's results; with two classes, `margin` is one number per row."""

    label: str
    margin: str
    probabilities: str | None


def labels_in(told: dict[str, Any]) -> NDArray[Any]:
    """The classes of a document as an array; an ExportError if ONNX has no type for them."""
    classes = np.array(told["classes"])
    if classes.dtype.kind not in "biufU" or classes.tolist() != told["classes"]:
        raise ExportError(f"ONNX has no type for the labels {told['classes'][:3]}.")
    return classes


def answers(graph: Graph, told: dict[str, Any], margins: str) -> Answers:
    """The answers of a document for margins (rows, models) without intercepts."""
    classes = labels_in(told)
    margins = graph.apply("Add", margins, np.array([model["intercept"] for model in told["models"]]))
    margin = margins if len(told["models"]) > 1 else graph.apply("Squeeze", margins, [1])
    if classes.size == 1:
        code = graph.apply("Cast", graph.apply("IsNaN", margin), to=TensorProto.INT64)
    elif classes.size == 2:
        above = graph.apply("GreaterOrEqual", margin, np.float64(told["threshold"]))
        code = graph.apply("Cast", above, to=TensorProto.INT64)
    else:
        code = graph.apply("ArgMax", margin, axis=1, keepdims=0)
    code = graph.apply("Where", _not_finite(graph, margins), classes.size, code)
    label = graph.apply("Gather", classes, code, name="class_of_a_row_whose_margin_is_finite")
    return Answers(label, margin, _probabilities(graph, told, margins))


def _not_finite(graph: Graph, margins: str) -> str:
    """Whether some margin of a row is not finite: such a row has no label, and looking one up is an error."""
    bad = graph.apply("Or", graph.apply("IsNaN", margins), graph.apply("IsInf", margins))
    return graph.apply("Cast", graph.apply("ReduceMax", _as_bytes(graph, bad), [1], keepdims=0), to=TensorProto.BOOL)


def _as_bytes(graph: Graph, truths: str) -> str:
    return graph.apply("Cast", truths, to=TensorProto.INT32)


def _probabilities(graph: Graph, told: dict[str, Any], margins: str) -> str | None:
    """Probabilities (rows, classes): the logistic function of the margin in units of its usual size, within bounds.

    With more than two classes, the probabilities of each against the rest are divided by their sum.
    """
    fitted = [model["probability"] for model in told["models"]]
    if fitted[0] is None:
        return None
    if len(told["classes"]) == 1:
        return graph.apply("Exp", graph.apply("Mul", margins, 0.0))
    slopes, offsets = (np.array([each[name] for each in fitted]) for name in ("slope", "offset"))
    sizes = np.array([np.inf if each["size"] is None else each["size"] for each in fitted])
    most = sizes * [each["most"] for each in fitted]
    bounded = graph.apply("Max", graph.apply("Min", margins, most), -most)
    exponent = graph.apply("Add", graph.times(bounded, slopes / sizes), offsets)
    p = graph.apply("Div", 1.0, graph.apply("Add", graph.apply("Exp", graph.apply("Neg", exponent)), 1.0))
    if len(fitted) > 1:
        return graph.apply("Div", p, graph.apply("ReduceSum", p, [1], keepdims=1))
    return graph.apply("Concat", graph.apply("Sub", 1.0, p), p, axis=1)


def give(graph: Graph, told: dict[str, Any], found: Answers) -> None:
    """Make the answers the outputs of a graph."""
    classes = labels_in(told)
    names = ", ".join(map(str, classes.tolist()[:20]))
    graph.output(found.label, "label", as_type(classes), [ROWS], "The class of each row.")
    of_two = "positive for the second class" if classes.size <= 2 else f"of {names}"
    shape = [ROWS, int(classes.size)]
    graph.output(found.margin, "margin", TensorProto.DOUBLE, shape[: 1 + (classes.size > 2)], f"Margins, {of_two}.")
    if found.probabilities is not None:
        graph.output(found.probabilities, "probabilities", TensorProto.DOUBLE, shape, f"Probabilities of {names}.")
