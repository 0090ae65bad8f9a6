"""The parameters of estimators: which values are allowed, and how they are converted to JSON and back.

Knows scikit-learn, signatures, `settings` and `codec`; knows no estimator. What is written has passed the checks of
the reader.
"""

from __future__ import annotations

import functools
import inspect
import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from ..files.codec import is_number, is_weight
from ..models.settings import SETTINGS, Setting

# Allowed values of parameters that only estimators have, for scikit-learn to check. Settings have their own table.
OF_LEARNING = {
    "n_passes": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
    **{name: ["boolean"] for name in ("fit_intercept", "shuffle", "probability", "warm_start")},
    "average": ["boolean", None],  # not, as in scikit-learn, a number of rows to begin after
}
OF_SOLVING = {"ridge": [Interval(Real, 0, math.inf, closed="left")]}


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """The value, if it is allowed; otherwise a ValueError that names the parameter."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return str(value)


@functools.cache
def names_of(kind: Any) -> tuple[str, ...]:
    """The names of an estimator's parameters."""
    names: list[str] = kind._get_param_names()
    return tuple(names)


def settings_of(kind: Any) -> list[tuple[str, Setting]]:
    """The settings that are parameters of an estimator, by their names in `Spec`."""
    return [(name, setting) for name, setting in SETTINGS.items() if setting.parameter in names_of(kind)]


def to_json(estimator: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    """The class of an estimator, one of `kinds`, and its parameters; an error names the one that cannot be kept."""
    kind = type(estimator)
    if kinds.get(kind.__name__) is not kind:
        raise TypeError(f"{kind.__name__} is not one of the estimators that can be saved: {', '.join(kinds)}.")
    defaults = _defaults(kind)
    params = {name: _plain(value, defaults[name]) for name, value in estimator.get_params(deep=False).items()}
    if isinstance(params["class_weight"], dict):  # JSON would make text of the labels
        params["class_weight"] = [list(pair) for pair in params["class_weight"].items()]
    from_json(kind, params)
    return {"name": kind.__name__, "params": params}


def from_json(kind: Any, params: Any, *, newer: bool = False) -> dict[str, Any]:
    """Arguments for `kind`, or a ValueError if these are not valid. The estimator checks their ranges.

    What a `newer` version of the format adds is left out.
    """
    defaults = _defaults(kind)
    if newer and isinstance(params, dict):
        params = {name: value for name, value in params.items() if name in defaults}
    if not isinstance(params, dict) or not set(params) <= set(defaults):
        raise ValueError(f"{kind.__name__} has other parameters")
    for name, value in params.items():
        if not _is_sound(name, value, defaults[name]):
            raise ValueError(f"{name}={value!r} cannot be kept in a model file{_ADVICE.get(name, '')}")
    arguments = {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}
    if isinstance(params.get("class_weight"), list):
        arguments["class_weight"] = dict(params["class_weight"])
    return arguments


_DEFAULTS = {setting.parameter: setting.default for setting in SETTINGS.values()}
_ADVICE = {"random_state": ": use None or a whole number", "n_jobs": ": use None or a whole number"}


def _defaults(kind: Any) -> dict[str, Any]:
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


def _plain(value: Any, default: Any) -> Any:
    """A value in JSON's types."""
    if isinstance(default, bool):
        return bool(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each, None) for each in value]
    if isinstance(value, dict):
        return {_plain(key, None): _plain(each, None) for key, each in value.items()}
    return value


def _is_sound(name: str, value: Any, default: Any) -> bool:
    if name == "class_weight":
        return value in (None, "balanced") or (isinstance(value, list) and all(map(is_weight, value)))
    if name == "scoring_settings":
        return value is None or (isinstance(value, dict) and all(map(is_number, value.values())))
    if name == "operating_point":
        return value is None or isinstance(value, dict)
    if name in ("random_state", "n_jobs"):
        return value is None or _is_whole(value)
    if name in ("variants", "weights"):
        kind = str if name == "variants" else (int, float)
        return value is None or (isinstance(value, list) and all(isinstance(each, kind) for each in value))
    if default is None and name in _DEFAULTS:  # without a value, the estimator finds it out
        return value is None or _is_sound("", value, _DEFAULTS[name])
    if isinstance(default, tuple):
        return isinstance(value, list) and all(_is_sound("", each, default[0]) for each in value)
    if type(default) is int:
        return _is_whole(value)
    return is_number(value) if type(default) is float else type(value) is type(default)


def _is_whole(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63
