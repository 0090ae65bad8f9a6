"""Errors that end a verb with one clear line instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from .signals import Stopped


class CommandError(Exception):
    """The command cannot be carried out; the message says why and what to do."""

    code = 1


class UsageError(CommandError):
    """The command was called in a way that makes no sense."""

    code = 2


class WorkersError(CommandError):
    """The workers are lost; finished shards are not."""


class StoppedError(CommandError):
    """The command was stopped; the message says what is kept."""

    def __init__(self, stop: KeyboardInterrupt, kept: str) -> None:
        stopped = stop if isinstance(stop, Stopped) else Stopped()
        super().__init__(f"{stopped.word}; {kept}")
        self.code = stopped.code


def chosen(given: Iterable[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """The names given in options, in the order of `known`; each option may hold several, separated by commas.

    Case does not matter. For an unknown name, a UsageError lists the nearest ones.
    """
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    by_lower = {name.lower(): name for name in known}
    for name in names:
        if name.lower() not in by_lower:
            near = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
            near += [lower for lower in by_lower if name.lower() in lower and lower not in near]
            nearest = ", ".join(by_lower[lower] for lower in near[:5]) or ", ".join(known)
            raise UsageError(f"there is no {what} {name!r}; did you mean {nearest}?")
    wanted = {name.lower() for name in names}
    return tuple(name for name in known if name.lower() in wanted)
