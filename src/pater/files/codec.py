"""Conversion of the labels and settings of a model to JSON and back, with every value checked.

Knows `settings`, `spec` and `rules`; nothing that comes from a model file is trusted.
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
from ..models.setting_kinds import ClassWeights, Number, OperatingPoint, SettingError, Switch, Weights
from ..models.settings import SETTINGS, Setting
from ..models.spec import Spec

BATCH_RULE = "ter"  # the batch solution: weights without an online rule
LARGEST_TEXT = 1 << 28  # bytes of the labels of all classes as an array, in which each is as long as the longest
_LABELS = re.compile(r"[<|](?:[iu][1248]|f[248]|b1|U[0-9]{1,5}|O)")


_LARGEST = sys.float_info.max


class UnsoundError(ValueError):
    """A model file is complete, but its content is wrong."""


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
    "".join(label for label in labels if type(label) is str).encode()  # raises for half a surrogate pair
    if name[1] == "U":
        require(4 * len(labels) * int(name[2:]) <= LARGEST_TEXT, "its classes are longer than there is room for")
    classes: NDArray[Any] = np.array(labels, dtype=name)
    require(classes.tolist() == labels, "its classes do not fit their type")
    require(all(a < b for a, b in itertools.pairwise(labels)), "its classes are not in order")
    return classes


def spec_to_json(spec: Spec) -> dict[str, Any]:
    return {"rule": spec.rule} | {name: _to_json(getattr(spec, name), each) for name, each in SETTINGS.items()}


def spec_from_json(value: dict[str, Any], *, newer: bool = False) -> Spec:
    """The settings that a file names, and the defaults of the others.

    A `newer` file may name settings that this version does not know; they are ignored.
    """
    require(isinstance(value, dict) and "rule" in value, "its settings name no rule")
    require(newer or set(value) <= set(Spec._fields), "its settings have other names than expected")
    require(value["rule"] in (*RULES, BATCH_RULE), f"there is no rule {str(value['rule'])[:40]!r}")
    return Spec(
        value["rule"], **{name: _from_json(value[name], each) for name, each in SETTINGS.items() if name in value}
    )


def _to_json(value: Any, setting: Setting) -> Any:
    if isinstance(setting.kind, Number):
        return float(value)
    if isinstance(setting.kind, Weights):
        return [float(each) for each in value]
    if isinstance(setting.kind, ClassWeights) and isinstance(value, tuple):
        return [[np.asarray(label).item(), float(weight)] for label, weight in value]
    if isinstance(setting.kind, OperatingPoint):
        return setting.kind.told(value)
    return value


def _from_json(value: Any, setting: Setting) -> Any:
    """The value of a setting from a file. It must have the type that is written, and be valid for the setting."""
    kind = setting.kind
    if isinstance(kind, Number):
        sound = is_number(value)
    elif isinstance(kind, Switch):
        sound = type(value) is bool
    elif isinstance(kind, Weights):
        sound = isinstance(value, list) and len(value) == 2 and all(map(is_number, value))
    elif isinstance(kind, ClassWeights):
        sound = not isinstance(value, dict)
        if isinstance(value, list):
            require(all(map(is_weight, value)), "a class weight has no label, or no number")
            value = dict(value)
    elif isinstance(kind, OperatingPoint):
        sound = value is None or isinstance(value, dict)
    else:
        sound = isinstance(value, str)
    require(sound, f"its {setting.name} is not {kind.wanted}")
    try:
        return kind.taken(value)
    except SettingError as error:
        raise UnsoundError(f"its {setting.name} must be {str(error)[:120]}") from None


def is_weight(pair: Any) -> bool:
    """Whether this is a pair of a label and its weight in JSON's types."""
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    label, weight = pair
    return (type(label) in (bool, str) or is_number(label)) and is_number(weight)


def family(spec: Spec) -> tuple[bool, Metric]:
    """Whether the spec's rule moves along class means, and the metric that it keeps."""
    return (False, "none") if spec.rule == BATCH_RULE else spec.family


def is_number(value: Any) -> bool:
    """Whether this is a finite number, also as a float: JSON has whole numbers of any length."""
    return type(value) in (int, float) and -_LARGEST <= value <= _LARGEST
