"""What a setting may be: a number of a range, one of some names, on or off, or weights of classes.

Plain Python; knows no setting.
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
    """A, b and c."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class Number(NamedTuple):
    """A number of a range."""

    wanted: str
    allows: Callable[[float], bool]

    def taken(self, value: Any) -> float:
        """The value as `Spec` has it; a SettingError, in words that go after "must be", if it will not do."""
        if isinstance(value, Real):
            with suppress(OverflowError):  # of whole numbers that are no floats
                number = float(value)
                if self.allows(number):
                    return number
        raise SettingError(f"{self.wanted}, got {value!r}")


class Choice(NamedTuple):
    """One of some names."""

    names: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """What it may be, in words."""
        return in_words(self.names, "or")

    def taken(self, value: Any) -> str:
        """As of `Number`."""
        if not (isinstance(value, str) and value in self.names):
            raise SettingError(f"{self.wanted}, got {value!r}")
        return str(value)


class Switch:
    """On or off."""

    wanted = "on or off"

    def taken(self, value: Any) -> bool:
        """As of `Number`; anything is on or off."""
        return bool(value)


class Weights(NamedTuple):
    """Two numbers of a range, α⁻ and α⁺."""

    each: Number

    @property
    def wanted(self) -> str:
        """What it may be, in words."""
        return f"two numbers, each {self.each.wanted}"

    def taken(self, value: Any) -> tuple[float, float]:
        """As of `Number`."""
        alpha_neg, alpha_pos = value
        return self.each.taken(alpha_neg), self.each.taken(alpha_pos)


class ClassWeights(NamedTuple):
    """Weights of classes: by label, by how many samples were seen of each, or none."""

    each: Number
    wanted: str = "a dict of label: weight, 'balanced' or None"

    def taken(self, value: Any) -> str | tuple[tuple[Any, float], ...] | None:
        """As of `Number`; a dict becomes pairs."""
        if isinstance(value, dict):
            for label, weight in value.items():
                try:
                    self.each.taken(weight)
                except SettingError as error:
                    raise SettingError(f"{error} for class {label!r}") from None
            return tuple(value.items())
        if value is not None and not (isinstance(value, str) and value == "balanced"):
            raise SettingError(f"{self.wanted}, got {value!r}")
        return value


Kind = Number | Choice | Switch | Weights | ClassWeights
POSITIVE = Number("a positive number below infinity", lambda value: 0 < value < math.inf)
SHARE = Number("above 0 and at most 1", lambda value: 0 < value <= 1)
