"""The names behind hashed columns: the first few that came to each, so that a weight can be named.

Knows nothing. Names are kept in order of arrival, so that no cut of a stream changes them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

MOST_NAMES = 4  # for each column; whether there were more is remembered too


class KnownNames:
    """For each place, up to `MOST_NAMES` names, and whether there were more."""

    def __init__(self, found: Iterable[tuple[int, list[str]]] = ()) -> None:
        self._names: dict[int, list[str]] = dict(found)
        self._full = [place for place, names in self._names.items() if len(names) > MOST_NAMES]

    def full(self) -> list[int]:
        """The places that are known to have more than `MOST_NAMES` names, where nothing can change any more."""
        return self._full

    def note(self, place: int, name: str) -> None:
        """Record that a name came to a place."""
        names = self._names.get(place)
        if names is None:
            self._names[place] = [name]
        elif len(names) <= MOST_NAMES and name not in names:
            names.append(name)  # one beyond the bound shows that there are more
            if len(names) > MOST_NAMES:
                self._full.append(place)

    def take_in(self, other: KnownNames) -> None:
        """Add the names of another after those that are here."""
        for place, names in other._names.items():
            for name in names:
                self.note(place, name)

    def told(self, place: int, otherwise: str, but: Container[str] = ()) -> dict[str, Any]:
        """The fields of a `Feature` for a place: its first name, or `otherwise` if it has none, and the others.

        Names in `but`, which have become columns of their own, are left out.
        """
        found = self._names.get(place, [])
        names = [name for name in found[:MOST_NAMES] if name not in but] or [otherwise]
        return {"text": names[0], "also": tuple(names[1:]), "and_more": len(found) > MOST_NAMES}

    def __iter__(self) -> Iterator[str]:
        return (name for names in self._names.values() for name in names)

    def copy(self) -> KnownNames:
        return KnownNames((place, list(names)) for place, names in self._names.items())

    def to_json(self) -> dict[str, list[str]]:
        return {str(place): list(names) for place, names in sorted(self._names.items())}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownNames) and self._names == other._names

    __hash__ = None  # type: ignore[assignment]
