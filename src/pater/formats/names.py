"""What the names of a table's columns may be. Knows `errors` only."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import InputError, shortened

LONGEST_NAME = 1000  # characters
MOST_NAMES = 1 << 22


def check_names(names: Sequence[str], where: str) -> None:
    """Raise an error if a name is repeated or too long, or if there are too many names."""
    if len(names) > MOST_NAMES:
        raise InputError(f"{where} names {len(names):,} columns; at most {MOST_NAMES:,} can be read.")
    known: set[str] = set()
    for name in names:
        if len(name) > LONGEST_NAME:
            raise InputError(
                f"{where} names the column {shortened(name)!r}, whose name has {len(name):,} characters; "
                f"at most {LONGEST_NAME:,} can be read."
            )
        if name in known:
            raise InputError(f"{where} names the column {name!r} twice.")
        known.add(name)
