"""Errors that can be sent from one process to another, whatever arguments they take."""

from __future__ import annotations

from typing import Any


class SentWhole(Exception):  # noqa: N818
    """An exception that unpickles with its message and attributes, not remade from its arguments."""

    def __reduce__(self) -> Any:
        """Pickle the message and the attributes."""
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(kind: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error
