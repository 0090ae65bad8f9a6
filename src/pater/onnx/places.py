"""Groups of indicators, of which each row has one per group, looked up all at once.

Knows `graph`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from .graph import Graph

Weights = NDArray[np.float64]  # (places, models)


class Places:
    """Groups of places, each with its own weights, stacked one below the other."""

    def __init__(self) -> None:
        self._places: list[str] = []
        self._weights: list[Weights] = []

    def add(self, places: str, *weights: Weights) -> None:
        """Add places (rows, groups), with one array of weights per group. All places must be valid."""
        self._places.append(places)
        self._weights += weights

    def margins(self, graph: Graph) -> str | None:
        """What the places of each row add to its margins, (rows, models); None if there are no places."""
        if not self._places:
            return None
        sizes = [len(weights) for weights in self._weights]
        offsets = np.cumsum([0, *sizes[:-1]])
        together = graph.apply("Concat", *self._places, axis=1)
        found = graph.apply("Gather", np.concatenate(self._weights), graph.apply("Add", together, offsets))
        return graph.apply("ReduceSum", found, [1], keepdims=0)


def per_place(weights: Any) -> Weights:
    """The weights of a document, which has one list per model, as (places, models)."""
    return np.array(weights, np.float64).T


def of_one(weights: Any) -> Weights:
    """The weights of a document for a single place, as (1, models)."""
    return np.array([weights], np.float64)


def nothing(weights: Weights) -> Weights:
    """The weights of one more place, which adds nothing."""
    return np.zeros((1, weights.shape[1]))


def as_place(graph: Graph, truths: str) -> str:
    """Truth values as places: 0 for false, 1 for true."""
    return graph.apply("Cast", truths, to=TensorProto.INT64)


def bins_of(graph: Graph, x: str, edges: list[list[float]], missing: str) -> str:
    """For each number (rows, columns), how many edges of its column are not above it; if missing, one more than all.

    Columns with fewer edges than others are padded with NaN, which is never exceeded.
    """
    filled = np.full((len(edges), max([1, *map(len, edges)])), np.nan)
    for row, own in zip(filled, edges, strict=True):
        row[: len(own)] = own
    above = graph.apply("GreaterOrEqual", graph.apply("Unsqueeze", x, [2]), filled)
    bins = graph.apply("ReduceSum", as_place(graph, above), [2], keepdims=0)
    return graph.apply("Where", missing, np.array([len(own) + 1 for own in edges]), bins)
