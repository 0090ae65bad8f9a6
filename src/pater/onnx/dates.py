"""The parts of a date: hour, weekday and month of seconds since 1970.

Knows `graph`. The calendar is that of `preprocessing.encoding_kernels`.
"""

from __future__ import annotations

from onnx import TensorProto

from ..preprocessing.values import FARTHEST
from .graph import Graph

__all__ = ["FARTHEST", "PARTS", "part_of"]

PARTS = {"hour": 24, "weekday": 7, "month": 12}
"""The number of values of each part."""


def part_of(graph: Graph, seconds: str, part: str) -> str:
    """The hour, weekday (from Monday) or month, counted from 0; `PARTS[part]` for a missing moment."""
    missing = graph.apply("IsNaN", seconds)
    known = graph.apply("Where", missing, 0.0, seconds)
    days = graph.apply("Floor", graph.apply("Div", known, 86400.0))
    day = graph.apply("Cast", days, to=TensorProto.INT64)
    if part == "hour":
        rest = graph.apply("Sub", known, graph.apply("Mul", days, 86400.0))
        place = graph.apply("Cast", graph.apply("Floor", graph.apply("Div", rest, 3600.0)), to=TensorProto.INT64)
    elif part == "weekday":
        place = graph.apply("Mod", graph.apply("Add", day, 3), 7)
    else:
        place = _month(graph, day)
    return graph.apply("Where", missing, PARTS[part], place)


def _month(graph: Graph, day: str) -> str:
    """The month of a day since 1970. Eras are 400 years that begin on the first of March."""
    of_era = graph.apply("Mod", graph.apply("Add", day, 719468), 146097)
    year = graph.apply("Sub", of_era, graph.apply("Div", of_era, 1460))
    year = graph.apply("Add", year, graph.apply("Div", of_era, 36524))
    year = graph.apply("Div", graph.apply("Sub", year, graph.apply("Div", of_era, 146096)), 365)
    before = graph.apply("Add", graph.apply("Mul", year, 365), graph.apply("Div", year, 4))
    before = graph.apply("Sub", before, graph.apply("Div", year, 100))
    of_year = graph.apply("Sub", of_era, before)
    month = graph.apply("Div", graph.apply("Add", graph.apply("Mul", of_year, 5), 2), 153)
    return graph.apply("Mod", graph.apply("Add", month, 2), 12)
