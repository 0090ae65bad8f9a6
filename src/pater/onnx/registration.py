"""The classifiers of pater as steps of pipelines that skl2onnx converts.

Knows skl2onnx, which is imported only when needed, and how one classifier becomes a graph.
"""

from __future__ import annotations

from typing import Any

from onnx import TensorProto, helper

from ..estimators.load import ESTIMATORS
from ..export import document
from .answers import answers, labels_in
from .graph import OPSET, Graph
from .matrices import dense_margins


def register() -> None:
    """Register the classifiers of pater with skl2onnx, so that it can convert scikit-learn pipelines that end in one.

    As the last step of a pipeline a classifier has the outputs `label`, `margin` and, with `probability=True`,
    `probabilities`. It is not converted inside another classifier, such as a vote.

    Examples
    --------
    >>> from pater import Perceptron
    >>> from pater.onnx import register
    >>> from skl2onnx import convert_sklearn
    >>> from skl2onnx.common.data_types import DoubleTensorType
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> register()
    >>> model = make_pipeline(MinMaxScaler(), Perceptron()).fit([[0.0], [3.0]], [0, 1])
    >>> converted = convert_sklearn(model, initial_types=[("X", DoubleTensorType([None, 1]))])
    >>> [output.name for output in converted.graph.output]
    ['label', 'margin']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(f"register needs skl2onnx ({error}): pip install skl2onnx.") from None
    for name, kind in ESTIMATORS.items():
        options = {"zipmap": [False]}
        update_registered_converter(kind, f"Pater{name}", _shapes, _convert, parser=_parse, options=options)


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of a classifier."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType

    operator = scope.declare_local_operator(f"Pater{type(model).__name__}", model)
    operator.inputs, operator.gives_margins = inputs, True
    kinds = {"label": Int64TensorType(), "margin": DoubleTensorType()}
    if document(model)["models"][0]["probability"] is not None:
        kinds["probabilities"] = DoubleTensorType()
    for name, kind in kinds.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(operator: Any) -> None:
    """Set the types and shapes of the outputs."""
    from skl2onnx.common import data_types

    if not getattr(operator, "gives_margins", False):  # another classifier would take margins for probabilities
        name = type(operator.raw_operator).__name__
        raise RuntimeError(
            f"{name} is converted by itself, or as the last step of a pipeline, not inside another classifier; for a "
            "search, convert best_estimator_."
        )
    classes = labels_in(document(operator.raw_operator))
    n_rows = operator.inputs[0].get_first_dimension()
    kinds = {"b": "BooleanTensorType", "U": "StringTensorType", "f": "DoubleTensorType"}
    label, *others = operator.outputs
    label.type = getattr(data_types, kinds.get(classes.dtype.kind, "Int64TensorType"))([n_rows])
    shapes = [[n_rows, int(classes.size)]] * len(others)
    if classes.size <= 2:
        shapes[0] = [n_rows]
    for output, shape in zip(others, shapes, strict=True):
        output.type = data_types.DoubleTensorType(shape)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph of a classifier."""
    told = document(operator.raw_operator)
    if container.target_opset < OPSET:
        raise RuntimeError(f"classifiers of pater need target_opset={OPSET} or later, not {container.target_opset}.")
    graph = Graph(scope.get_unique_variable_name("pater"))
    parts = [graph.apply("Cast", each.full_name, to=TensorProto.DOUBLE) for each in operator.inputs]
    x = parts[0] if len(parts) == 1 else graph.apply("Concat", *parts, axis=1)
    found = answers(graph, told, dense_margins(graph, told["input"], x))
    for tensor in graph.constants:
        container.initializers.append(tensor)
    for node in graph.nodes:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        container.add_node(
            node.op_type, list(node.input), list(node.output), node.domain, OPSET, name=node.name, **attributes
        )
    for value, output in zip([each for each in found if each], operator.outputs, strict=True):
        container.add_node("Identity", [value], [output.full_name], op_version=OPSET)
