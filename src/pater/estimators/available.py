"""Methods that exist only under a condition, and say why if they do not.

Knows nothing. Like scikit-learn's `available_if`, whose error gives the reason only in its cause.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

Condition = Callable[[Callable[..., Any]], Any]


class _Available:
    """A method of objects that pass a check."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], str | None]) -> None:
        self.method, self.check = method, check
        self.__doc__, self.__name__ = method.__doc__, method.__name__
        self.__wrapped__ = method

    def __get__(self, obj: Any, owner: type) -> Callable[..., Any]:
        if obj is None:
            return self.method
        why_not = self.check(obj)
        if why_not is not None:
            raise AttributeError(f"This {owner.__name__!r} has no attribute {self.__name__!r}: {why_not}")
        return MethodType(self.method, obj)


def available_unless(why_not: Callable[[Any], str | None]) -> Condition:
    """A method that exists unless `why_not` returns a reason, a sentence with which its AttributeError ends."""
    return lambda method: _Available(method, why_not)
