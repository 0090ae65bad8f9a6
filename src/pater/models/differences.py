"""Why models cannot be merged: their first difference, by the name that a user knows.

Knows `settings`, `spec`, `labels` and `truth`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from reprlib import Repr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.errors import SentWhole
from .labels import kind_of, rounded
from .setting_kinds import OperatingPoint
from .settings import AUTO, SETTINGS, WPATER, Setting
from .spec import Specs, is_pool
from .truth import classes_as_spelled

_short = Repr()
_short.maxstring = _short.maxother = 80


class DifferenceError(SentWhole, ValueError):
    """Two models cannot be merged; says what each of them has at their first difference."""

    def __init__(self, theirs: str, mine: str, advice: str = "") -> None:
        self.theirs, self.mine, self.advice = theirs, mine, advice
        super().__init__(f"cannot merge them: {self.told('the other', 'this one')}")

    @classmethod
    def of(cls, name: str, theirs: Any, mine: Any, advice: str = "") -> DifferenceError:
        """The error for two values of one name."""
        return cls(f"{name}={_short.repr(theirs)}", f"{name}={_short.repr(mine)}", advice)

    def told(self, other: str, own: str) -> str:
        """The difference, with the names of the two models."""
        return f"{other} has {self.theirs} where {own} has {self.mine}.{self.advice and ' '}{self.advice}"


def check_same(pairs: Iterable[tuple[str, Any, Any]], advice: str = "") -> None:
    """Raise a `DifferenceError` for the first name whose two values differ."""
    for name, theirs, mine in pairs:
        if theirs != mine:
            raise DifferenceError.of(name, theirs, mine, advice)


def check_settings(theirs: Specs, mine: Specs, named: Callable[[Setting], str]) -> None:
    """Raise a `DifferenceError` for the first setting in which learners differ; `named` gives its name."""
    if theirs == mine:
        return
    check_same([("algo", _algorithm(theirs), _algorithm(mine))])
    for setting in SETTINGS.values():
        advice = ""
        if setting.name == "watch":
            advice = (
                "pater train counts right and wrong predictions, most estimators do not: train both in the same way."
            )
        check_same([(named(setting) or setting.name, *(_values(specs, setting) for specs in (theirs, mine)))], advice)
    raise DifferenceError("other candidates", "some")


def _algorithm(specs: Specs) -> str:
    return specs[0].rule if len(specs) == 1 else AUTO if is_pool(specs) else WPATER


def _values(specs: Specs, setting: Setting) -> Any:
    """The value of a setting, as a user gives it; a list if several learners differ."""
    found = list(dict.fromkeys(getattr(spec, setting.name) for spec in specs))
    if setting.name == "class_weight":
        found = [dict(value) if isinstance(value, tuple) else value for value in found]
    if setting.name == "operating_point":
        found = [OperatingPoint.told(value) for value in found]
    return found[0] if len(found) == 1 else found


def check_classes(theirs: NDArray[Any], mine: NDArray[Any]) -> None:
    """Raise a `DifferenceError` if classes are of different types: text, booleans or numbers.

    Also if True and False are spelled so differently that the classes would be in a different order.
    """
    if theirs.size and mine.size and _type(theirs) != _type(mine):
        shown = [f"{_type(classes)} as classes, such as {classes.tolist()[0]!r}," for classes in (theirs, mine)]
        raise DifferenceError(shown[0], shown[1].removesuffix(","))
    lost = rounded(mine, theirs)
    if lost:
        advice = (
            f"Beside each other they are rounded, and {lost[0]!r} would be another class: train both with one type."
        )
        shown = [f"classes of type {classes.dtype}, such as {classes.tolist()[0]!r}," for classes in (theirs, mine)]
        raise DifferenceError(shown[0], shown[1].removesuffix(","), advice)
    spelled = classes_as_spelled(theirs, mine).tolist()
    if any(one >= other for one, other in pairwise(spelled)):
        raise DifferenceError.of(
            "classes", theirs.tolist(), mine.tolist(), "Train both with True and False spelled alike."
        )


def _type(classes: NDArray[Any]) -> str:
    kind = kind_of(classes)
    if kind != "numbers":
        return kind
    is_truth = classes.dtype.kind == "b" or all(isinstance(label, bool | np.bool) for label in classes.tolist())
    return "truth values" if is_truth else "numbers"
