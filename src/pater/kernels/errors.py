"""Errors that can be sent from one process to another, whatever they are made from."""

from __future__ import annotations

from typing import Any


class SentWhole(Exception):  # noqa: N818
    """Comes out of a pickle as it was: its message and its attributes, not made anew from its arguments."""

    def __reduce__(self) -> Any:
        """As what it says and what it knows."""
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(kind: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error
