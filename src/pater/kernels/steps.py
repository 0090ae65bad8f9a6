"""The rules as the compiled passes call them: by their number in the table.

One function is made for each family. It calls a rule with the parameters that the rule names; settings come from the
record `p`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiler.decorators import part_of_callers
from . import rules
from .rules import RULES, Rule

for _function in vars(rules).copy().values():
    if inspect.isfunction(_function) and _function.__module__ == rules.__name__:
        part_of_callers(_function)


def _of_family(family: Callable[[Rule], bool], seen: tuple[str, ...]) -> Callable[..., Any]:
    """f(rule, *seen): the result of the rule with this number, one of the family. `p` holds the settings."""
    lines, names = [f"def step(rule, {', '.join(seen)}):"], {}
    for code, rule in enumerate(RULES.values()):
        if family(rule):
            names[f"rule_{code}"] = rule.step
            asked = [name if name in seen else f"p.{name}" for name in inspect.signature(rule.step).parameters]
            lines += [f"    if rule == {code}:", f"        return rule_{code}({', '.join(asked)})"]
    lines[-2:] = [lines[-1].removeprefix("    ")]  # the last rule needs no test
    exec("\n".join(lines), names)
    return part_of_callers(names["step"])


point_step = _of_family(lambda rule: not (rule.moves_along_means or rule.second_order), ("margin", "xx", "k", "p"))
loss_to_take = _of_family(lambda rule: rule.moves_along_means, ("own_loss", "accumulated_loss"))
enters_metric = _of_family(lambda rule: rule.fits_labels, ("margin", "p"))
confident_step = _of_family(
    lambda rule: rule.second_order and not (rule.moves_along_means or rule.fits_labels), ("margin", "c", "C", "p")
)


def _trait(trait: Callable[[Rule], bool]) -> Callable[[int], bool]:
    of_code = np.array([trait(rule) for rule in RULES.values()])
    return part_of_callers(lambda rule: of_code[rule])


passive = _trait(lambda rule: rule.passive)
stays_in_ball = _trait(lambda rule: rule.stays_in_ball)
sums_labels = _trait(lambda rule: rule.sums_labels)
weight_is_in_objective = _trait(lambda rule: "C" in rule.settings)  # of the confident rules
