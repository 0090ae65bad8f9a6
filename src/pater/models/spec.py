"""The settings of one learner: `Spec`, and the records that kernels read.

Knows the table of `settings`, from which both are made, and NumPy.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..kernels.rules import RULES
from ..kernels.state import Metric
from .settings import SETTINGS


def _fields() -> Any:
    """The class of a tuple with these fields, made from the table."""
    defaults = [setting.default for setting in SETTINGS.values()]
    return namedtuple("_Fields", ("rule", *SETTINGS), defaults=defaults)


class Spec(_fields()):  # type: ignore[misc]
    """The settings of a learner: its rule, and a field for each entry of `settings.SETTINGS`, in that order."""

    __slots__ = ()

    # The types of those that Python code reads. Those that only kernels read need none.
    rule: str
    class_weight: str | tuple[tuple[Any, float], ...] | None
    alphas: tuple[float, float]
    intercept: bool
    average: bool
    forgetting: float
    watch: bool
    calibrate: bool
    operating_point: tuple[Any, ...] | None
    covariance: Literal["full", "diagonal"]
    form: Literal["leader", "step"]
    r: float

    @property
    def family(self) -> tuple[bool, Metric]:
        """Whether its models keep class means, and which metric. Only those of one family learn side by side."""
        rule = RULES[self.rule]
        return rule.moves_along_means, self.covariance if rule.second_order else "none"

    @property
    def grows_without_end(self) -> bool:
        """Whether only the direction of its weights matters. The leader's get their length from the data."""
        rule = RULES[self.rule]
        return rule.grows_without_end and not (rule.second_order and self.form == "leader")

    @property
    def is_sized(self) -> bool:
        """Whether margins are reported in units of their usual size, as their length only reflects that of the stream.

        That holds for all rules that step along the class means, to a degree that depends on the rule. The leader's
        length comes from the data, unless Σ is diagonal and only rows with a loss enter: their means come ever closer.
        """
        rule = RULES[self.rule]
        leads = rule.second_order and self.form == "leader"
        return rule.moves_along_means and (not leads or (rule.passive and self.covariance == "diagonal"))

    def own_settings(self) -> dict[str, Any]:
        """The settings that its rule has and most others do not, by name."""
        own = (each.name for each in SETTINGS.values() if each.is_of_some and each.has(self.rule))
        return {name: getattr(self, name) for name in own}

    def without_unused(self) -> Spec:
        """The same spec, with settings that its rule does not have at their defaults."""
        unused = {each.name: each.default for each in SETTINGS.values() if not each.has(self.rule)}
        return self._replace(**unused)  # type: ignore[no-any-return]


Specs = tuple[Spec, ...]


def is_pool(specs: Specs) -> bool:
    """Whether these are candidates of a pool, and not the models of a grid."""
    return len(specs) > 1 and any(RULES[spec.rule].second_order for spec in specs)


CODES = {name: rule.code for name, rule in RULES.items()}
RECORD = np.dtype(
    [
        ("rule", "i8"),  # its code
        ("positive", "i8"),  # the code of the class that is +1 to this model
        ("sized", "i8"),  # 1 if margins are reported in units of their usual size
        *((field.name, field.type) for each in SETTINGS.values() for field in each.record),
    ]
)


def positives(n_classes: int) -> list[int]:
    """The class that is +1 for each model: with two classes the second, with more each in turn."""
    return [1] if n_classes == 2 else list(range(n_classes))


@functools.lru_cache(maxsize=256)
def settings_of(specs: Specs, classes: tuple[Any, ...]) -> NDArray[np.void]:
    """A record for each model of a learner of `classes`: those of the first class or problem, then the next.

    With two classes the weights are α⁻ and α⁺. With more, a class's weight is α⁺ in its own model, and α⁻ is 1.
    """
    settings = np.zeros((len(positives(len(classes))), len(specs)), RECORD)
    for of_class, positive in zip(settings, positives(len(classes)), strict=True):
        for p, spec in zip(of_class, specs, strict=True):
            p["rule"], p["positive"], p["sized"] = CODES[spec.rule], positive, spec.is_sized
            for setting in SETTINGS.values():
                for field in setting.record:
                    p[field.name] = field.of(getattr(spec, setting.name))
            if isinstance(spec.class_weight, tuple):
                weight = dict(spec.class_weight)
                p["alpha_pos"] *= weight.get(classes[positive], 1.0)
                if len(classes) == 2:
                    p["alpha_neg"] *= weight.get(classes[0], 1.0)
            if RULES[spec.rule].moves_along_means:
                p["balanced"] = 0  # these rules weigh classes alike anyway
                # Only the ratio of the weights counts; a power of two keeps it from overflowing.
                _, exponent = np.frexp(max(p["alpha_neg"], p["alpha_pos"]))
                p["alpha_neg"], p["alpha_pos"] = (np.ldexp(p[name], -exponent) for name in ("alpha_neg", "alpha_pos"))
    return settings.ravel()
