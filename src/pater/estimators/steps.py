"""The steps of a pipeline: whether they are valid, how they are restored after a failed call, and whether they changed.

Knows scikit-learn's ways, `growth`, and which steps can be copied or restored at little cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any

from .base import LinearClassifier
from .growth import make_room
from .table_encoder import TableEncoder

Steps = list[tuple[str, Any]]


def check_sense(steps: Steps) -> None:
    """Raise an error if a pipeline cannot be made of these steps."""
    names = [name for name, _ in steps]
    if not names or len(set(names)) != len(names):
        raise ValueError(f"steps must have names of their own, got {names}.")
    for name, step in steps:
        if isinstance(step, type):
            raise TypeError(f"step {name!r} is a class: give an object, {step.__name__}().")
    for name, step in steps[:-1]:
        if not hasattr(step, "transform"):
            raise TypeError(f"step {name!r} cannot transform: {step!r}.")
    name, last = steps[-1]
    if not hasattr(last, "partial_fit"):
        raise TypeError(f"the last step, {name!r}, has no partial_fit: {last!r}.")


def learn(steps: Steps, X: Any, y: Any, classes: Any, params: dict[str, Any]) -> None:
    """Let each step learn from the output of the one before it."""
    for _, step in steps[:-1]:
        if hasattr(step, "partial_fit"):
            step.partial_fit(X, y)
        X = step.transform(X)
    name, last = steps[-1]
    make_room(last, X.shape[1], name)
    last.partial_fit(X, y, **params, **({} if classes is None else {"classes": classes}))


def passed_on(steps: Steps, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
    """What the last step learns with. Names may begin with that of the step, as in scikit-learn's Pipeline."""
    last = steps[-1][0]
    found = {name.removeprefix(f"{last}__"): value for name, value in params.items()}
    wrong = [name for name in found if "__" in name]
    if wrong:
        raise TypeError(f"only the last step, {last!r}, learns with parameters, got {wrong}.")
    return found if sample_weight is None else found | {"sample_weight": sample_weight}


def params_of(steps: Steps) -> dict[str, Any]:
    """The steps by name, and the parameters of each as name__parameter."""
    found = dict[str, Any](steps)
    for name, step in steps:
        found |= {f"{name}__{key}": value for key, value in step.get_params(deep=True).items()}
    return found


@contextmanager
def all_or_nothing(steps: Steps, *, in_parts: bool = False) -> Iterator[None]:
    """After an error every step is as it was before; `in_parts` where the last may learn several times."""
    kept = [(step, _kept(step, in_parts=in_parts)) for _, step in steps]
    try:
        yield
    except BaseException:
        for step, attributes in kept:
            step.__dict__.clear()
            step.__dict__.update(attributes)
        raise


def _kept(step: Any, *, in_parts: bool) -> dict[str, Any]:
    lasting = isinstance(step, LinearClassifier) and not in_parts  # a call that fails leaves it as it was
    return dict(vars(step if lasting or not hasattr(step, "partial_fit") else copied(step)))


def copied(step: Any) -> Any:
    """An independent copy of a step."""
    return copy(step) if isinstance(step, LinearClassifier | TableEncoder) else deepcopy(step)


def fingerprint(steps: Steps) -> list[Any]:
    """Names, steps and parameters, to be compared with those of another time.

    It holds the objects that it compares, so that no other object can get their address meanwhile.
    """
    found = list[Any]()
    for name, step in steps:
        params = step.get_params(deep=True)
        told = {key: repr(value) for key, value in params.items() if not hasattr(value, "get_params")}
        found.append((name, _Same(step), told, [_Same(value) for value in params.values()]))
    return found


class _Same:
    """Equal to one that holds the same object, not just an equal one."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing

    __hash__ = None  # type: ignore[assignment]
