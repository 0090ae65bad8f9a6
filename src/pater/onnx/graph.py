"""An ONNX graph, built node by node.

Knows `onnx` and NumPy. Values are referred to by names, which `apply` makes up, so a formula reads as nested calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ..export.errors import ExportError

OPSET = 18  # enough for most nodes; those that need a later one call `Graph.needs`
OPSET_OF_REGEX = 20
OPSET_OF_ML = 3
MOST_BYTES = 2**31 - 2**20  # the limit of a protobuf message, less room for everything but the constants
ROWS = "rows"  # the name of the first dimension of inputs and outputs


class Graph:
    """Nodes, constants, inputs and outputs. All generated names begin with `prefix`."""

    def __init__(self, prefix: str = "pater") -> None:
        self.prefix, self.opset = prefix, OPSET
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []
        self._known: dict[tuple[Any, ...], str] = {}

    def apply(self, kind: str, *inputs: Any, domain: str = "", name: str = "", **attributes: Any) -> str:
        """Add a node of this kind, and return the name of its output; inputs that are not names become constants."""
        called = f"{self.prefix}.{len(self.nodes)}.{name or kind}"
        taken = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(kind, taken, [called], name=called, domain=domain, **attributes))
        return called

    def times(self, x: str, factors: NDArray[np.float64]) -> str:
        """Columns (rows, columns), each multiplied by its own factor.

        A single factor is a matrix: runtimes drop a scalar that is 1 in single precision, as 1 + 1e-9 is.
        """
        return self.apply("Mul", x, factors) if factors.size > 1 else self.apply("MatMul", x, factors.reshape(1, 1))

    def look_up(self, values: str, keys: list[Any], rest: int) -> str:
        """The place of each value among the keys, which are texts or whole numbers; `rest` for any other value."""
        if not keys:
            return self.apply("Where", self.apply("Equal", values, values), rest, rest)
        kind = "keys_strings" if isinstance(keys[0], str) else "keys_int64s"
        places: dict[str, Any] = {kind: keys, "values_int64s": [*range(len(keys))], "default_int64": rest}
        return self.apply("LabelEncoder", values, domain="ai.onnx.ml", **places)

    def checked(self, places: str, size: int, name: str) -> str:
        """Places from 0 to `size` − 1, unchanged; any other place is an error that names the node."""
        places = self.apply("Where", self.apply("Less", places, 0), size, places)  # otherwise −1 would be the last
        return self.apply("Gather", np.arange(size), places, name=name)

    def constant(self, value: Any) -> str:
        """The name of a constant: an array, a number, or a list of numbers or texts."""
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        key = (array.dtype.str, array.shape, tuple(array.ravel()) if array.dtype == object else array.tobytes())
        if key not in self._known:
            self._known[key] = f"{self.prefix}.constant.{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    def input(self, name: str, kind: int, shape: list[Any], told: str) -> str:
        """Add an input of this type, and return its name; `told` describes its content."""
        if any(each.name == name for each in self.inputs):
            raise ExportError(f"two inputs would have the name {name!r}: rename a column of the table.")
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape, doc_string=told))
        return name

    def output(self, value: str, name: str, kind: int, shape: list[Any], told: str) -> None:
        """Make a value an output of this name."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"{self.prefix}.output.{name}"))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape, doc_string=told))

    def needs(self, opset: int) -> None:
        """Note that a node needs this version of the operators."""
        self.opset = max(self.opset, opset)

    def model(self, told: str, metadata: dict[str, str], producer_version: str) -> ModelProto:
        """The model, in the earliest version of ONNX that supports it; an ExportError if it is too large."""
        size = sum(tensor.ByteSize() for tensor in self.constants)
        if size > MOST_BYTES:
            raise ExportError(f"the model has {size:,} bytes of numbers, but an ONNX file can hold at most 2 GiB.")
        graph = helper.make_graph(
            self.nodes, "pater", self.inputs, self.outputs, initializer=self.constants, doc_string=told
        )
        versions = [helper.make_opsetid("", self.opset)]
        if any(node.domain for node in self.nodes):
            versions.append(helper.make_opsetid("ai.onnx.ml", OPSET_OF_ML))
        model = helper.make_model(
            graph,
            opset_imports=versions,
            ir_version=helper.find_min_ir_version_for(versions),
            producer_name="pater",
            producer_version=producer_version,
        )
        helper.set_model_props(model, metadata)
        return model


def as_type(array: NDArray[Any]) -> int:
    """The ONNX type of an array."""
    return TensorProto.STRING if array.dtype.kind in "OU" else int(helper.np_dtype_to_tensor_dtype(array.dtype))
