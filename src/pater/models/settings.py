"""The settings that only some rules have: which, what they may be, and of which rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..kernels.doors import LARGEST_R
from ..kernels.rules import RULES
from .model import Spec

DEFAULT_R = {"so-pater-i": 30.0, "so-pater-ii": 30.0}


class Setting(NamedTuple):
    """One setting: the rules that have it, whether a value will do, and what is wanted, in words."""

    rules: tuple[str, ...]
    allows: Callable[[Any], bool]
    wanted: str

    def wrong(self, name: str, value: Any) -> str | None:
        """What to say of a value that will not do, under the name that the reader knows the setting by."""
        return None if self.allows(value) else f"{name} must be {self.wanted}, got {value}."


def _positive(value: Any) -> bool:
    return bool(0 < value < math.inf)


RULE_SETTINGS = {
    "C": Setting(("pa-i", "pa-ii", "scw-i", "scw-ii"), _positive, "positive and finite"),
    "covariance": Setting(
        tuple(name for name, rule in RULES.items() if rule.second_order),
        lambda value: value in ("full", "diagonal"),
        "full or diagonal",
    ),
    "form": Setting(("so-pater-i", "so-pater-ii"), lambda value: value in ("leader", "step"), "leader or step"),
    "r": Setting(
        ("so-pater-i", "so-pater-ii", "arow", "so-perceptron"),
        lambda value: 1 / LARGEST_R <= value <= LARGEST_R,
        f"positive and finite, between {1 / LARGEST_R:g} and {LARGEST_R:g}",
    ),
    "eta": Setting(("cw", "scw-i", "scw-ii"), lambda value: 0.5 < value < 1, "above 0.5 and below 1"),
    "approximation": Setting(("alma",), lambda value: 0 < value <= 1, "above 0 and at most 1"),
}


def of_rule(spec: Spec) -> dict[str, Any]:
    """Those that the rule of a learner has, by name."""
    return {name: getattr(spec, name) for name, setting in RULE_SETTINGS.items() if spec.rule in setting.rules}
