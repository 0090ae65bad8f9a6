"""The contents of the log as plain records. Knows only `schema`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .schema import to_json


class Entry(NamedTuple):
    """A request that was learned: its rows as they came.

    `position` is the number of rows before it that the model has not refused; `refused` has the places of the rows
    within it that the model has refused. `said` has for each row None, or its label and the answer when it was
    predicted. `batch` has the rows as a learner takes them, if they were just read from the request; otherwise they are
    read from `content`.
    """

    number: int
    position: int
    rows: int
    time: float
    kind: str
    content: bytes
    said: Any = None
    refused: tuple[int, ...] = ()
    batch: Any = None

    @property
    def end(self) -> int:
        """How many rows the log has up to the end of this entry, without those that were refused."""
        return self.position + self.kept

    def judged(self) -> list[tuple[Any, Any]]:
        """For each row its label and the answer when it was predicted, or (None, None) if it was not."""
        return [(None, None) if each is None else (each[0], each[1]) for each in self.said or ()]

    @property
    def kept(self) -> int:
        """How many rows were learned."""
        return self.rows - len(self.refused)

    def lines(self) -> list[bytes]:
        """The lines of the rows that were learned, without line ends; for an entry of JSON lines."""
        out = set(self.refused)
        return [line for place, line in enumerate(self.content.splitlines()) if place not in out]


class LabelOf(NamedTuple):
    """A label that has come for an id."""

    id: str
    label: Any
    weight: float | None = None


class JoinedRow(NamedTuple):
    """A remembered row and its label; `said` is the answer when it was predicted, and `time` is when that was."""

    id: str
    features: bytes
    label: Any
    weight: float | None
    said: Any
    time: float

    def line(self) -> bytes:
        """The row as a line of the log."""
        weight = b"" if self.weight is None else b',"weight":' + to_json(self.weight).encode()
        return b'{"features":' + self.features + b',"label":' + to_json(self.label).encode() + weight + b"}\n"


@dataclass
class Joined:
    """The result of joining labels: rows to learn, in the order of the labels, and ids with nothing to learn.

    `places` has for each row the place of its label in the request; `more` says whether more rows may have expired.
    """

    rows: list[JoinedRow] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    conflicting: list[str] = field(default_factory=list)
    more: bool = False

    @property
    def content(self) -> bytes:
        """The rows as the log holds them."""
        return b"".join(row.line() for row in self.rows)


@dataclass
class Claimed:
    """Which rows of a request to learn are new, judged by their ids.

    fresh
        Places of the rows to learn: all that have no id, and the first row of each id that has not been learned.
    already, conflicting
        Ids that were learned before, with the same label or another.
    said
        The answers for rows that had been predicted under their id, by place: (said, time).
    """

    fresh: list[int] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    conflicting: list[str] = field(default_factory=list)
    said: dict[int, tuple[Any, float]] = field(default_factory=dict)


class Answer(NamedTuple):
    """The answer to a request with an idempotency key, and the places of rows that the model has refused since."""

    answer: Any
    refused: tuple[int, ...] = ()


class Snapshot(NamedTuple):
    """A model file of the state directory, and the state of the service when it was written.

    The model has learned every entry up to `entry` since the last model that was swapped in.
    """

    number: int
    entry: int
    position: int
    version: int
    time: float
    kind: str
    file: str
    quality: Any


class Event(NamedTuple):
    """Something that happened to the service."""

    number: int
    time: float
    kind: str
    content: Any


@dataclass(frozen=True)
class Limits:
    """How much is remembered: rows that wait for labels, ids that were learned, keys of requests.

    All of it is on the disk. The limits are reached at hundreds of requests a second for a month; without them, the
    disk would fill up.
    """

    pending: int = 50_000_000
    done: int = 1_000_000_000
    keys: int = 1_000_000_000
