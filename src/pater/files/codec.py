"""The labels and settings of a model as JSON, and back, every value checked.

Knows `model` and `rules`; what comes from a model file is not to be trusted.
"""

from __future__ import annotations

import itertools
import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.rules import RULES
from ..kernels.state import Metric
from ..models.model import Spec

BATCH_RULE = "ter"  # the batch solution: weights, and no rule to go on learning by
LARGEST_TEXT = 1 << 28  # bytes of the labels of all classes as an array, where each has the room of the longest
_LABELS = re.compile(r"[<|](?:[iu][1248]|f[248]|b1|U[0-9]{1,5}|O)")


_LARGEST = sys.float_info.max


class UnsoundError(ValueError):
    """What is wrong with a model file that is whole."""


def require(sound: Any, what: str) -> None:
    if not sound:
        raise UnsoundError(what)


def labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    values = [np.asarray(label).item() for label in classes.tolist()]
    described = {"type": classes.dtype.newbyteorder("<").str, "values": values}
    try:
        labels_from_json(described)
    except (ValueError, OverflowError):
        told = "whole numbers, booleans or text"
        raise ValueError(f"labels such as {classes[0]!r} cannot be kept in a model file; use {told}.") from None
    return described


def labels_from_json(value: dict[str, Any]) -> NDArray[Any]:
    name, labels = value["type"], value["values"]
    require(isinstance(name, str) and _LABELS.fullmatch(name) and isinstance(labels, list), "its classes have no type")
    require(labels, "it has no classes")
    kinds: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (float,), "b": (bool,), "U": (str,)}
    numbers = (bool, int, float)
    allowed = kinds.get(name[1], (str,) if labels and type(labels[0]) is str else numbers)
    require(all(type(label) in allowed for label in labels), "its classes are not of one type")
    require(all(type(label) is str or -_LARGEST <= label <= _LARGEST for label in labels), "a class is not finite")
    "".join(label for label in labels if type(label) is str).encode()  # half a surrogate pair is no text
    if name[1] == "U":
        require(4 * len(labels) * int(name[2:]) <= LARGEST_TEXT, "its classes are longer than there is room for")
    classes: NDArray[Any] = np.array(labels, dtype=name)
    require(classes.tolist() == labels, "its classes do not fit their type")
    require(all(a < b for a, b in itertools.pairwise(labels)), "its classes are not in order")
    return classes


def spec_to_json(spec: Spec) -> dict[str, Any]:
    weight = spec.class_weight
    if weight is not None and not isinstance(weight, str):
        weight = [[np.asarray(label).item(), float(value)] for label, value in weight]  # type: ignore[assignment]
    numbers = {name: float(getattr(spec, name)) for name in ("C", "r", "eta", "approximation")}
    return {**spec._asdict(), **numbers, "class_weight": weight, "alphas": [float(a) for a in spec.alphas]}


def spec_from_json(value: dict[str, Any], *, newer: bool = False) -> Spec:
    """The settings that a file names; those that it does not name have their defaults.

    A `newer` file may name others, which are not for this version to know.
    """
    require(isinstance(value, dict) and "rule" in value, "its settings name no rule")
    require(newer or set(value) <= set(Spec._fields), "its settings have other names than expected")
    defaults = spec_to_json(Spec("pa"))
    value = {name: value.get(name, default) for name, default in defaults.items()}
    weight, alphas = value["class_weight"], value["alphas"]
    if isinstance(weight, list):
        weight = tuple((label, share) for label, share in weight)
        require(all(_positive(share) for _, share in weight), "a class weight is not positive")
        require(
            all(type(label) in (bool, str) or is_number(label) for label, _ in weight), "a class weight has no label"
        )
    else:
        require(weight in (None, "balanced"), "its class weights are unsound")
    require(value["rule"] in (*RULES, BATCH_RULE), f"there is no rule {str(value['rule'])[:40]!r}")
    require(
        _positive(value["C"]) and isinstance(alphas, list) and len(alphas) == 2 and all(map(_positive, alphas)),
        "a weight is not positive",
    )
    require(
        all(_positive(value[name]) and value[name] <= 1 for name in ("forgetting", "fading")),
        "a forgetting or fading factor is not above 0 and at most 1",
    )
    require(_positive(value["r"]) and value["covariance"] in ("full", "diagonal"), "its metric is unsound")
    require(value["form"] in ("leader", "step"), "its form is unsound")
    sound = [_positive(value[name]) and value[name] <= 1 for name in ("eta", "approximation")]
    require(all(sound) and 0.5 < value["eta"] < 1, "its confidence is unsound")
    switches = ("intercept", "average", "watch", "discount", "calibrate")
    require(all(type(value[name]) is bool for name in switches), "a switch is neither on nor off")
    return Spec(**{**value, "class_weight": weight, "alphas": tuple(alphas)})


def family(spec: Spec) -> tuple[bool, Metric]:
    """Whether its rule moves along class means, and the metric that it keeps."""
    return (False, "none") if spec.rule == BATCH_RULE else spec.family


def is_number(value: Any) -> bool:
    """Is this a number that is finite, also as a float? JSON has whole numbers of any length."""
    return type(value) in (int, float) and -_LARGEST <= value <= _LARGEST


def _positive(value: Any) -> bool:
    return is_number(value) and value > 0
