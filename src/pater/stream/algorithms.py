"""Turn the name of an algorithm and its settings into the models that it stands for.

Knows `settings`, `spec` and `search`.
"""

from __future__ import annotations

from typing import Any

from ..formats.errors import InputError
from ..kernels.rules import RULES
from ..models.candidates import MEMORIES, PRIORS, candidates
from ..models.search import alpha_grid
from ..models.setting_kinds import SettingError, Switch
from ..models.settings import AUTO, SIDE_BY_SIDE, averages_by_itself, by_keyword
from ..models.spec import Spec, Specs


def settings_among(options: dict[str, Any]) -> dict[str, Any]:
    """Take the settings out of options by keyword: None if absent, or if a switch is at its default."""
    known = by_keyword().items()
    return {
        name: options.pop(name, each.default if isinstance(each.kind, Switch) and not each.off else None)
        for name, each in known
    }


def specs_of(algo: str, scoring: str = "balanced_accuracy", **given: Any) -> Specs:
    """The models that an algorithm's name stands for: one; for "auto" the candidates of a pool that suit a score; for
    "wpater" PATER-I and -II with all weights to try.

    `given` are settings by their keywords (`settings.by_keyword`); None means the default.
    """
    known, there = by_keyword(), algo in (*SIDE_BY_SIDE, *RULES)
    own: dict[str, Any] = {each.name: each.default_of(algo) for each in known.values() if there and each.has(algo)}
    for name, value in given.items():
        if value is None:
            continue
        if name not in known:
            raise TypeError(f"there is no setting {name!r}; choose from {', '.join(known)}.")
        setting = known[name]
        try:
            own[setting.name] = setting.checked(value, name)
        except SettingError as error:
            raise InputError(str(error)) from None
        if there and not setting.has(algo):
            raise InputError(f"{algo} has no {name}; it is for {', '.join(setting.rules)}.")
    if not there:
        raise InputError(f"there is no algorithm {algo!r}; choose from {', '.join((*SIDE_BY_SIDE, *RULES))}.")
    rules = SIDE_BY_SIDE.get(algo, (algo,))
    base = Spec(rules[0], **own, watch=True)
    if algo == AUTO:
        base = base._replace(fading=1.0)  # a pool fades its own counts
        chosen = {
            each.name: (own[each.name],)
            for name, each in known.items()
            if each.auto_tries and given.get(name) is not None
        }
        return candidates(
            base,
            scoring,
            memories=chosen.get("forgetting", MEMORIES),
            priors=chosen.get("r"),
            covariances=chosen.get("covariance", tuple(PRIORS)),
            average=given.get("average"),
        )
    if algo in SIDE_BY_SIDE:
        base = base._replace(discount=True)
        return tuple(base._replace(rule=rule, alphas=pair) for pair in alpha_grid() for rule in rules)
    if given.get("average") is None:
        base = base._replace(average=averages_by_itself(algo, base.covariance, base.forgetting))
    return (base,)
