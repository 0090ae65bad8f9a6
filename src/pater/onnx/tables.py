"""Margins of raw columns of a table.

Knows `graph`, `places`, `categories`, `dates`, `crosses`, and how an exported document describes a table. Each column
is an input of its own. ONNX does not parse dates, nor texts that have to be hashed: `feeding` turns them into numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ..export.errors import ExportError
from .categories import place_of, weights_of
from .crosses import Codes, codes_of, crossed, places_of
from .dates import FARTHEST, PARTS, part_of
from .graph import ROWS, Graph
from .matrices import rows_of_entries, sizes_of_rows, summed
from .places import Places, Weights, as_place, bins_of, nothing, of_one, per_place

RESERVED = {"label", "margin", "probabilities", ""}  # names of outputs, and the empty name, which means no value


def input_name(name: str) -> str:
    """The name of the input of a column: its own, unless the graph uses that name."""
    return f"column {name!r}" if name in RESERVED or name.startswith("pater.") else name


def list_names(name: str) -> tuple[str, str]:
    """The names of the inputs of a free-text column: one for where the words of each row begin, one for the words."""
    return f"{name}: starts", f"{name}: words"


def is_asked(told: dict[str, Any]) -> bool:
    """Whether a column is an input: an id is one only if its absence matters."""
    return told["kind"] != "id" or any(told["missing"])


class Table:
    """Builds the margins of a table, column by column."""

    def __init__(self, graph: Graph, told: dict[str, Any], n_models: int) -> None:
        self.graph, self.told, self.n_models = graph, told, n_models
        self.columns = {column["name"]: column for column in told["columns"]}
        self.places = Places()
        self.value: dict[str, str] = {}  # values of numbers and dates, places of categories; (rows, 1)
        self._sides: dict[str, str] = {}

    def margins(self) -> str:
        """The margins (rows, models), without intercepts."""
        texts = []
        for name, column in self.columns.items():
            kind, at = column["kind"], input_name(name)
            if kind in ("number", "date"):
                what = f"{name}: seconds since 1970" if kind == "date" else f"{name}: a number"
                self.value[name] = self.graph.input(at, TensorProto.DOUBLE, [ROWS, 1], f"{what}; NaN is missing.")
            elif kind == "category":
                self.value[name] = place_of(self.graph, column, at)
                self.places.add(self.value[name], weights_of(column))
            elif kind == "text":
                texts.append(self._text(column, *list_names(name)))
            elif is_asked(column):
                missing = self.graph.input(at, TensorProto.BOOL, [ROWS, 1], f"{name}: whether it is missing.")
                self.places.add(as_place(self.graph, missing), _from_nothing(of_one(column["missing"])))
        terms = self._numbers()
        for cross in self.told["crosses"]:
            self._cross(cross)
        indicators = self.places.margins(self.graph)
        terms += [indicators] if indicators is not None else []
        return self._sum(terms, texts)

    def _sum(self, terms: list[str], texts: list[str]) -> str:
        """The sum of all terms; those of texts, whose rows are counted separately, must have as many rows."""
        terms, texts = (terms, texts) if terms else (texts[:1], texts[1:])
        if not terms:
            raise ExportError("the model uses no column of the table: there is nothing to run it on.")
        shape = self.graph.apply("Shape", terms[0])
        terms += [self.graph.apply("Reshape", text, shape) for text in texts]
        return terms[0] if len(terms) == 1 else self.graph.apply("Sum", *terms)

    def _numbers(self) -> list[str]:
        """The terms of numbers and dates: z-scores here; bins, or that a value is missing, go to the places."""
        graph, columns = self.graph, [c for c in self.columns.values() if c["kind"] in ("number", "date")]
        if not columns:
            return []
        for column in columns:
            if column["kind"] == "date":
                self._date(column)
        x = graph.apply("Concat", *(self.value[column["name"]] for column in columns), axis=1)
        missing = graph.apply("IsNaN", x)
        edges = [column["bins"]["edges"] if column["bins"] is not None else [] for column in columns]
        self.places.add(bins_of(graph, x, edges, missing), *(self._of_bins(column) for column in columns))
        without = {"mean": 0.0, "deviation": 1.0, "most": 0.0, "weights": [0.0] * self.n_models}
        scores = [column["z"] or without for column in columns]
        means, deviations, most = (np.array([each[k] for each in scores]) for k in ("mean", "deviation", "most"))
        z = graph.times(graph.apply("Sub", x, means), 1.0 / deviations)
        z = graph.apply("Where", missing, 0.0, graph.apply("Max", graph.apply("Min", z, most), -most))
        return [graph.apply("MatMul", z, np.array([each["weights"] for each in scores]))]

    def _of_bins(self, column: dict[str, Any]) -> Weights:
        bins = column["bins"]
        own = np.zeros((1, self.n_models)) if bins is None else per_place(bins["weights"])
        return np.concatenate([own, of_one(column["missing"])])

    def _date(self, column: dict[str, Any]) -> None:
        """Treat moments that are too far away as missing, and add the parts of dates to the places."""
        graph, seconds = self.graph, self.value[column["name"]]
        too_far = graph.apply("Greater", graph.apply("Abs", seconds), FARTHEST)
        self.value[column["name"]] = graph.apply("Where", too_far, np.nan, seconds)
        for part in PARTS:
            weights = per_place(column[part])
            if weights.any():
                place = self._side({"column": column["name"], "part": part})
                self.places.add(place, np.concatenate([weights, nothing(weights)]))

    def _text(self, column: dict[str, Any], starts: str, words: str) -> str:
        """The term of a text: the sum of its words over the root of their number. A missing text counts as one word."""
        graph, weights = self.graph, np.concatenate([per_place(column["words"]), of_one(column["missing"])])
        told = f"{column['name']}: "
        graph.input(starts, TensorProto.INT64, ["rows_and_one"], f"{told}where the words of each row begin, and end.")
        graph.input(words, TensorProto.INT64, [words], f"{told}places of words; {len(weights) - 1} if it is missing.")
        places = graph.checked(words, len(weights), "place_of_a_word")
        rows, n_rows = rows_of_entries(graph, starts, words)
        total = summed(graph, graph.apply("Gather", weights, places), rows, n_rows)
        size = graph.apply("Cast", graph.apply("Max", sizes_of_rows(graph, starts), 1), to=TensorProto.DOUBLE)
        return graph.apply("Div", total, graph.apply("Unsqueeze", graph.apply("Sqrt", size), [1]))

    def _cross(self, cross: dict[str, Any]) -> None:
        left, right = (self._codes(cross[side]) for side in ("left", "right"))
        places = places_of(cross, left, right)
        sides = (self._side(cross[side]) for side in ("left", "right"))
        self.places.add(crossed(self.graph, places, *sides), per_place(cross["weights"]))

    def _codes(self, side: dict[str, Any]) -> Codes:
        """The code of each value of one side of a cross; except for categories, the last is that of a missing one."""
        if side["part"] == "category":
            return codes_of(self.columns[side["column"]])
        size = len(side["edges"]) + 1 if side["part"] == "bin" else PARTS[side["part"]]
        return np.arange(size + 1, dtype=np.uint64)

    def _side(self, side: dict[str, Any]) -> str:
        """The place of each row on one side of a cross, (rows, 1)."""
        key = repr(side)
        if key not in self._sides:
            graph, value, part = self.graph, self.value[side["column"]], side["part"]
            if part == "category":
                self._sides[key] = value
            elif part == "bin":
                self._sides[key] = bins_of(graph, value, [side["edges"]], graph.apply("IsNaN", value))
            else:
                self._sides[key] = part_of(graph, value, part)
        return self._sides[key]


def _from_nothing(weights: Weights) -> Weights:
    return np.concatenate([nothing(weights), weights])
