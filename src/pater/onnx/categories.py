"""Texts as categories: find the category of the model that a text means, if any.

Knows `graph`, and how `preprocessing.categories` names a text: a number by its usual spelling, truth values in letters
of any case, and some words for a missing value. ONNX cannot hash texts. Where hashes tell more than that a text is
rare, the place of a category is an input instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ..preprocessing.categories import MISSING
from ..preprocessing.columns import written
from ..preprocessing.spans import LONGEST_TEXT
from ..preprocessing.values import number_in
from .graph import OPSET_OF_REGEX, ROWS, Graph
from .places import Weights, of_one, per_place

_BLANK = "[ \\t]*"
_SPACE = "[ \\t\\n\\r\\f\\v]*"
_NUMBER = "[+-]?({d}+\\.?{d}*|\\.{d}+)([eE][+-]?{d}+)?"
_INFINITY = "[iI][nN][fF]([iI][nN][iI][tT][yY])?"
_ANY_SPACE = "[\\s\\x{b}\\x{1c}-\\x{1f}\\x{85}\\p{Z}]*"
_FINITE = f"{_SPACE}{_NUMBER.format(d='[0-9]')}{_SPACE}"
_NUMBER_IN_ANY_DIGITS = _ANY_SPACE + "(" + _NUMBER.format(d="\\p{Nd}") + "|[+-]?" + _INFINITY + ")" + _ANY_SPACE
_PADDED = "(?s)[ \\t].*|.*[ \\t]"
_LONG = f"(?s).{{{LONGEST_TEXT},}}"


def takes_texts(told: dict[str, Any]) -> bool:
    """Whether a text determines its category without hashing: unknown ones are rare, and no known one is cut short."""
    return told["buckets"] is None and all(len(name) < LONGEST_TEXT for name in told["values"])


def weights_of(told: dict[str, Any]) -> Weights:
    """The weights of each place: first the known categories, then rare, missing, and buckets."""
    parts = [per_place(told["weights"]), of_one(told["rare"]), of_one(told["missing"])]
    return np.concatenate([*parts, *([] if told["buckets"] is None else [per_place(told["buckets"])])])


def place_of(graph: Graph, told: dict[str, Any], name: str) -> str:
    """The place of each row's category, (rows, 1)."""
    if takes_texts(told):
        what = f"{told['name']}: a text; a number as a text, and nothing as an empty one."
        return _of_texts(graph, told, graph.input(name, TensorProto.STRING, [ROWS, 1], what))
    size = len(weights_of(told))
    what = f"{told['name']}: the place of a category, from 0 to {size - 1}, as pater.onnx.feed finds it."
    place = graph.input(name, TensorProto.INT64, [ROWS, 1], what)
    return graph.checked(place, size, "place_of_a_category")


def _of_texts(graph: Graph, told: dict[str, Any], text: str) -> str:
    """The place of a text: as it stands, if it is known so, otherwise as `preprocessing.categories` names it."""
    names = told["values"]
    rare, missing = len(names), len(names) + 1
    found = graph.apply("Where", _matches(graph, text, _words(sorted(MISSING))), missing, rare)
    for truth in ("True", "False"):
        if truth in names:
            found = graph.apply("Where", _matches(graph, text, _words([truth])), names.index(truth), found)
    found = graph.apply("Where", _matches(graph, text, _LONG), rare, found)  # their letters are not examined
    numbers = {k: number_in(name) for k, name in enumerate(names) if _is_number(name)}
    others = _digits(names) if told.get("truths") else {}
    if told.get("exact"):
        others |= {
            f"{name}.0": names.index(name) for name in map(written, numbers.values()) if name.lstrip("-").isdigit()
        }
        numbers = {}
    if numbers:
        found = _of_numbers(graph, text, numbers, found, rare)
    # Blanks around a text do not count, but ONNX cannot strip them: such texts, if rare, get an invalid place.
    padded = graph.apply("And", _matches(graph, text, _PADDED), graph.apply("Equal", found, rare))
    found = graph.apply("Where", padded, -1, found)
    for other, k in others.items():
        found = graph.apply("Where", graph.apply("Equal", text, graph.constant(other)), k, found)
    known = graph.look_up(text, names, -1)
    place = graph.apply("Where", graph.apply("Less", known, 0), found, known)
    return graph.checked(place, missing + 1, "category_in_plain_digits" if numbers else "category_without_blanks")


def _digits(names: list[str]) -> dict[str, int]:
    """The places of 0 and 1 in a column that began with truth values."""
    of_truths = {"False": ("0", "0.0"), "True": ("1", "1.0")}
    return {text: k for k, name in enumerate(names) for text in of_truths.get(name, ())}


def _of_numbers(graph: Graph, text: str, numbers: dict[int, float], found: str, rare: int) -> str:
    """The place of a text that is a number, by the places and their numbers; of any other text, `found`.

    A number in digits that are not read here gets an invalid place.
    """
    is_finite, is_number = _matches(graph, text, _FINITE), _matches(graph, text, _NUMBER_IN_ANY_DIGITS)
    found = graph.apply("Where", is_number, -1, found)
    x = graph.apply("Cast", graph.apply("Where", is_finite, text, graph.constant("0")), to=TensorProto.DOUBLE)
    places, values = np.array(list(numbers)), np.array(list(numbers.values()))
    same = graph.apply("Where", graph.apply("Equal", x, values), places, -1)
    place = graph.apply("ReduceMax", same, [1], keepdims=1)
    place = graph.apply("Where", graph.apply("Less", place, 0), rare, place)
    found = graph.apply("Where", is_finite, place, found)
    for sign, infinity in (("[+]?", np.inf), ("-", -np.inf)):
        place_of_it = next((k for k, number in numbers.items() if number == infinity), rare)
        found = graph.apply("Where", _matches(graph, text, _infinite(sign)), place_of_it, found)
    return found


def _is_number(name: str) -> bool:
    """Whether a name is the usual spelling of a number, so that other texts may mean the same number."""
    number = number_in(name)
    return not np.isnan(number) and written(number) == name


def _matches(graph: Graph, text: str, pattern: str) -> str:
    graph.needs(OPSET_OF_REGEX)
    return graph.apply("RegexFullMatch", text, pattern=pattern)


def _words(words: list[str]) -> str:
    """A pattern for words in letters of any case, between blanks."""
    letters = ["".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else f"\\{c}" for c in word) for word in words]
    return f"{_BLANK}({'|'.join(letters)}){_BLANK}"


def _infinite(sign: str) -> str:
    return f"{_SPACE}{sign}{_INFINITY}{_SPACE}"
