"""The command-line options for the settings of a learner, generated from the table of settings.

Knows `models/settings.py` and Typer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from pater.kernels.rules import RULES
from pater.models.setting_kinds import POSITIVE, RATE, Number, SettingError, Switch, in_words
from pater.models.settings import AUTO, SETTINGS, SIDE_BY_SIDE, Setting

from .errors import UsageError

_OPTIONS = [setting for setting in SETTINGS.values() if setting.options]
_OPTIONS.sort(key=lambda setting: len(setting.rules) == len(RULES))  # first those that only some rules have

Algo = Annotated[
    str,
    typer.Option(
        "--algo",
        "-a",
        metavar="NAME",
        help=f"{', '.join((*SIDE_BY_SIDE, *(name for name, rule in RULES.items() if not rule.second_order)))}; "
        "second order: "
        f"{in_words(tuple(name for name, rule in RULES.items() if rule.second_order), 'or')}.",
    ),
]


def with_settings(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace a verb's parameter `settings` by an option for each setting.

    The verb receives those that were given, by name.
    """

    def call(**arguments: Any) -> None:
        given = {setting.name: arguments.pop(setting.name) for setting in _OPTIONS}
        there = {name: value for name, value in given.items() if value is not None}
        verb(settings=there, **arguments)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        parameters += map(_parameter, _OPTIONS) if parameter.name == "settings" else [parameter]
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__name__, call.__doc__ = verb.__name__, verb.__doc__
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in keywords}
    call.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return call


def _parameter(setting: Setting) -> inspect.Parameter:
    names = [f"{setting.options[0]}/{setting.off}"] if setting.off else setting.options
    option = typer.Option(*names, metavar=setting.metavar, help=_help(setting), show_default=False)
    is_switch = isinstance(setting.kind, Switch)
    kind: Any = (bool if is_switch else float if isinstance(setting.kind, Number) else str) | None
    annotation = Annotated[kind, option]
    return inspect.Parameter(setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _help(setting: Setting) -> str:
    if len(setting.rules) == len(RULES):
        return setting.says
    range_ = f"; {setting.kind.wanted}" if isinstance(setting.kind, Number) else ""
    return f"{setting.says} For {rules_of(setting)}{range_}.  [default: {default_of(setting)}]"


def rules_of(setting: Setting, shown: Callable[[str], str] = str) -> str:
    """The rules that have a setting, in words."""
    second_order = [name for name, rule in RULES.items() if rule.second_order]
    names = [*filter(setting.has, SIDE_BY_SIDE), *setting.rules]
    if set(second_order) <= set(names):
        first_order = tuple(shown(name) for name in names if name not in second_order)
        return in_words((*first_order, "every rule of second order"))
    return in_words(tuple(map(shown, names)))


def default_of(setting: Setting) -> str:
    """The default of a setting, in words."""
    rules_with: dict[Any, list[str]] = {}
    for rule, value in setting.other_defaults:
        rules_with.setdefault(value, []).append(rule)
    told = ["several side by side for auto"] if setting.auto_tries else []
    told += [f"{_as_text(value)} for {in_words(tuple(rules))}" for value, rules in rules_with.items()]
    return ", ".join([*told, f"{'else ' if told else ''}{_as_text(setting.default)}"])


def _as_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def checked(algo: str, given: dict[str, Any], *, others: dict[str, bool], saved: str | None) -> dict[str, Any]:
    """The settings that were given, by the keywords of `stream.train`.

    Raises a UsageError if one has a wrong value or would be ignored. `saved` is the option that named a saved model,
    which keeps its own settings; `others` says which of the learner's other options were given.
    """
    ignored = [option for option, there in {"--algo": algo != AUTO, **others}.items() if there]
    ignored += [SETTINGS[name].off if value is False else SETTINGS[name].options[0] for name, value in given.items()]
    if saved and ignored:
        raise UsageError(f"{', '.join(ignored)} cannot be combined with {saved}: the model keeps its own settings.")
    known = (*SIDE_BY_SIDE, *RULES)
    if algo not in known:
        raise UsageError(f"there is no algorithm {algo!r}; choose from {', '.join(known)}.")
    result = {}
    for name, value in given.items():
        setting = SETTINGS[name]
        result[setting.keyword] = _taken(setting, value)
        if not setting.has(algo):
            raise UsageError(f"--algo {algo} has no {setting.options[0]}; it is for {', '.join(setting.rules)}.")
    return result


def operating_point(max_fpr: float | None, max_fnr: float | None, cost: str | None) -> dict[str, Any]:
    """The operating point from its options, as a keyword of `stream.train`; a UsageError if there are two."""
    given = {"--max-fpr": max_fpr, "--max-fnr": max_fnr, "--cost": cost}
    there = [option for option, value in given.items() if value is not None]
    if not there:
        return {}
    if len(there) > 1:
        raise UsageError(f"{in_words(tuple(there))} cannot be combined: there can be only one operating point.")
    (option,) = there
    if cost is not None:
        return {"operating_point": {"cost": _costs(cost)}}
    try:
        return {"operating_point": {option.removeprefix("--").replace("-", "_"): RATE.taken(given[option])}}
    except SettingError as error:
        raise UsageError(f"{option} must be {error}.") from None


def _costs(text: str) -> dict[str, float]:
    """Parse 1:50 (a false positive, then a false negative) or false_negative=50,false_positive=1."""
    names = ("false_positive", "false_negative")
    pairs = [part.strip().partition("=") for part in text.split(",")] if "=" in text else []
    given = (
        {name.strip(): number for name, _, number in pairs}
        if pairs
        else dict(zip(names, text.split(":"), strict=False))
    )
    try:
        if set(given) != set(names) or len(given) != max(len(pairs), 1 + text.count(":")):
            raise ValueError
        return {name: POSITIVE.taken(float(given[name])) for name in names}
    except ValueError:
        raise UsageError(
            f"--cost expects two positive numbers, as in 1:50 or false_negative=50,false_positive=1; got {text!r}."
        ) from None


def _taken(setting: Setting, value: Any) -> Any:
    if isinstance(setting.kind, Switch):
        return value if setting.off else not setting.default
    if setting.name == "class_weight":
        return _class_weight(value)
    try:
        return setting.checked(value, setting.options[0])
    except SettingError as error:
        raise UsageError(str(error)) from None


def _class_weight(text: str) -> dict[str, float] | str:
    """Parse spam:3,ham:1 into weights by label."""
    if text == "balanced":
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        label, _, number = part.strip().rpartition(":")
        try:
            weights[label.strip()] = float(number)
        except ValueError:
            label = ""
        if not label or not POSITIVE.allows(weights[label.strip()]):
            raise UsageError(
                f"--class-weight expects LABEL:WEIGHT with a positive weight, as in spam:3; got {part.strip()!r}."
            )
    return weights
