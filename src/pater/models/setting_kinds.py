"""The kinds of settings: a number in a range, one of several names, a switch, or class weights.

Plain Python; knows no particular setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any, NamedTuple


class SettingError(ValueError):
    """A value that a setting cannot have."""


def in_words(names: tuple[str, ...], last: str = "and") -> str:
    """The names as text, such as "PA, AROW and CW"."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class Number(NamedTuple):
    """A number in a range."""

    wanted: str
    allows: Callable[[float], bool]

    def taken(self, value: Any) -> float:
        """The value as `Spec` holds it; otherwise a SettingError whose text continues "must be"."""
        if isinstance(value, Real):
            with suppress(OverflowError):  # of whole numbers that are no floats
                number = float(value)
                if self.allows(number):
                    return number
        raise SettingError(f"{self.wanted}, got {value!r}")


class Choice(NamedTuple):
    """One of several names."""

    names: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """What it may be, in words."""
        return in_words(self.names, "or")

    def taken(self, value: Any) -> str:
        """As in `Number`."""
        if not (isinstance(value, str) and value in self.names):
            raise SettingError(f"{self.wanted}, got {value!r}")
        return str(value)


class Switch:
    """On or off."""

    wanted = "on or off"

    def taken(self, value: Any) -> bool:
        """As in `Number`; anything is on or off."""
        return bool(value)


class Weights(NamedTuple):
    """Two numbers in a range, α⁻ and α⁺."""

    each: Number

    @property
    def wanted(self) -> str:
        """What it may be, in words."""
        return f"two numbers, each {self.each.wanted}"

    def taken(self, value: Any) -> tuple[float, float]:
        """As in `Number`."""
        alpha_neg, alpha_pos = value
        return self.each.taken(alpha_neg), self.each.taken(alpha_pos)


class ClassWeights(NamedTuple):
    """Class weights: by label, by how many samples of each class were seen, or none."""

    each: Number
    wanted: str = "a dict of label: weight, 'balanced' or None"

    def taken(self, value: Any) -> str | tuple[tuple[Any, float], ...] | None:
        """As in `Number`; a dict becomes pairs, in an order that does not depend on its own."""
        if isinstance(value, dict):
            for label, weight in value.items():
                try:
                    self.each.taken(weight)
                except SettingError as error:
                    raise SettingError(f"{error} for class {label!r}") from None
            return tuple(sorted(value.items(), key=_place_of))
        if value is not None and not (isinstance(value, str) and value == "balanced"):
            raise SettingError(f"{self.wanted}, got {value!r}")
        return value


def _place_of(pair: tuple[Any, float]) -> tuple[str, Any]:
    """What class weights are ordered by: labels of different kinds cannot be compared."""
    label = pair[0]
    return ("", label) if isinstance(label, Real) else (type(label).__name__, label)


class OperatingPoint:
    """Where to decide between two classes: by a maximum error rate, by the costs of mistakes, or as the rule does."""

    wanted = (
        "None, {'max_fpr': rate}, {'max_fnr': rate} or {'cost': {'false_positive': number, 'false_negative': number}}"
    )

    def taken(self, value: Any) -> tuple[Any, ...] | None:
        """As in `Number`; a dict becomes its name and its numbers."""
        if value is None:
            return None
        if not isinstance(value, dict) or len(value) != 1 or not set(value) <= {*_RATES, "cost"}:
            raise SettingError(f"{self.wanted}, got {value!r}")
        ((name, told),) = value.items()
        if name in _RATES:
            return name, _named(name, told, RATE)
        if not isinstance(told, dict) or set(told) != set(_COSTS):
            raise SettingError(f"{self.wanted}, got {value!r}")
        return name, *(_named(each, told[each], POSITIVE) for each in _COSTS)

    @staticmethod
    def told(point: tuple[Any, ...] | None) -> dict[str, Any] | None:
        """The dict that it was made from."""
        if point is None:
            return None
        return {point[0]: dict(zip(_COSTS, point[1:], strict=True)) if point[0] == "cost" else point[1]}


_RATES = ("max_fpr", "max_fnr")
_COSTS = ("false_positive", "false_negative")


def _named(name: str, value: Any, kind: Number) -> float:
    try:
        return kind.taken(value)
    except SettingError as error:
        raise SettingError(f"such that {name} is {error}") from None


Kind = Number | Choice | Switch | Weights | ClassWeights | OperatingPoint
RATE = Number("above 0 and below 1", lambda value: 0 < value < 1)
POSITIVE = Number("a positive number below infinity", lambda value: 0 < value < math.inf)
SHARE = Number("above 0 and at most 1", lambda value: 0 < value <= 1)
