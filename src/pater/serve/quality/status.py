"""The status of a service as JSON, with everything that its page shows.

Knows `quality`, `operating`, `volumes` and `stream/inspection.py`; of the engine, only the protocol `Observed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from ...formats.errors import InputError
from ...stream.inspection import summary
from ...stream.learner import Learner
from .operating import Operating
from .quality import Quality
from .tally import Tally
from .volumes import Volumes

MOST_WINDOWS = 150  # most points of a curve
MOST_FEATURES = 12
MOST_HISTORY = 50
MOST_ALARMS = 20
REST = 1_000  # features are computed again after this many times the time that it took
SHORTEST_REST = 10.0  # seconds


@dataclass
class Facts:
    """The state of an engine; times are seconds since 1970."""

    now: float
    started: float
    version: int = 1
    rows: int = 0  # learned by the model
    position: int = 0  # rows in the log
    pending: int = 0  # rows that wait for their labels
    queue: int = 0  # requests that wait to be written
    ready: bool = True
    learning: bool = True
    why: str = ""  # the reason why it is not ready, or does not learn
    log_time: float | None = None  # of the last entry
    log_bytes: int = 0
    snapshot_time: float | None = None
    snapshot_position: int | None = None
    history: Sequence[dict[str, Any]] = field(default_factory=list)  # {"time", "kind", …}, oldest first


class Observed(Protocol):
    """An engine, as its observers see it."""

    operating: Operating
    volumes: Volumes

    @property
    def quality(self) -> Quality:
        """The quality of the answers whose labels have come."""

    def facts(self) -> Facts:
        """The current state."""

    def speaker(self) -> Learner | None:
        """The learner that answers; None before anything was learned."""


class Status:
    """Reports on an engine, and caches for a while what is costly to find out."""

    def __init__(self, engine: Observed) -> None:
        self._engine = engine
        self._features: tuple[int, float, dict[str, Any]] = (0, 0.0, {})  # version, valid until, content
        self._windows: tuple[Any, list[dict[str, Any]]] = (None, [])

    def told(self) -> dict[str, Any]:
        """The whole status, as JSON."""
        engine, facts, learner = self._engine, self._engine.facts(), self._engine.speaker()
        quality = engine.quality
        return {
            "now": facts.now,
            "health": health_of(facts),
            "model": {
                "version": facts.version,
                "rows": facts.rows,
                **_scores(learner),
                **self._matters(facts, learner),
            },
            "quality": {
                "window": quality.size,
                "unanswered": quality.unanswered,
                "total": quality.told(quality.total),
                "recent": quality.told(quality.recent()),
                "windows": self._curve(quality),
            },
            "alarms": {"total": quality.n_alarms, "latest": quality.alarms[: -MOST_ALARMS - 1 : -1]},
            "operating": engine.operating.told(quality, own_threshold(learner)),
            "volumes": engine.volumes.told(facts.now),
            "history": list(facts.history)[: -MOST_HISTORY - 1 : -1],
        }

    def _matters(self, facts: Facts, learner: Learner | None) -> dict[str, Any]:
        """The features that matter, computed again only after a thousand times the time that this took."""
        version, until, told = self._features
        if learner is not None and (version != facts.version or perf_counter() >= until):
            begun = perf_counter()
            told = _features(learner)
            taken = perf_counter() - begun
            self._features = facts.version, begun + max(SHORTEST_REST, REST * taken), told
        return told or {"learner": None, "columns": None, "features": []}

    def _curve(self, quality: Quality) -> list[dict[str, Any]]:
        """The scores of full windows, merged where there are many; computed again when another window is full."""
        key = (id(quality), quality.rows - quality.window.rows, tuple(quality.classes))
        if self._windows[0] != key:
            together = -(-len(quality.windows) // MOST_WINDOWS) or 1
            starts = range(0, len(quality.windows), together)
            merged = [_together(quality.windows[start : start + together]) for start in starts]
            told = [{k: v for k, v in quality.told(each).items() if k != "of_class"} for each in merged]
            self._windows = key, told
        return self._windows[1]


def own_threshold(learner: Learner | None) -> float | None:
    """The threshold of a model of two classes; None for any other."""
    return learner.threshold() if learner is not None and learner.classes.size == 2 else None


def health_of(facts: Facts) -> dict[str, Any]:
    """Whether all is well, and ages in seconds."""
    return {
        "ready": facts.ready,
        "learning": facts.learning,
        "why": facts.why,
        "uptime": facts.now - facts.started,
        "position": facts.position,
        "pending": facts.pending,
        "queue": facts.queue,
        "log_age": _age(facts.now, facts.log_time),
        "log_bytes": facts.log_bytes,
        "snapshot_age": _age(facts.now, facts.snapshot_time),
        "snapshot_position": facts.snapshot_position,
    }


def _age(now: float, time: float | None) -> float | None:
    return None if time is None else max(0.0, now - time)


def _together(windows: Sequence[Tally]) -> Tally:
    whole = windows[0]
    for window in windows[1:]:
        whole = whole.with_later(window)
    return whole


def _scores(learner: Learner | None) -> dict[str, Any]:
    """The classes, and the progressive scores that the model keeps."""
    if learner is None:
        return {"classes": [], "progressive": {}}
    return {
        "classes": learner.classes.tolist(),
        "progressive": learner.scores() if learner.specs[0].watch else {},
    }


def _features(learner: Learner) -> dict[str, Any]:
    """What matters for each class: the columns of a table by their effect, or the largest weights."""
    try:
        told = summary(learner, MOST_FEATURES)
    except InputError as error:
        return {"learner": None, "columns": str(error), "features": []}
    if "columns_that_matter" in told:
        kind, found = "spread", [(each["class"], each["spreads"]) for each in told["columns_that_matter"]]
    else:
        kind, found = "weight", [(each["class"], each["weights"]) for each in told["largest_weights"]]
    features = [
        {
            "class": label,
            "kind": kind,
            "columns": [
                {"name": name, "value": value} for name, value in sorted(pairs, key=lambda pair: -abs(pair[1]))
            ][:MOST_FEATURES],
        }
        for label, pairs in found
    ]
    return {"learner": told.get("chosen", [told["learner"]])[0], "columns": told["columns"], "features": features}
