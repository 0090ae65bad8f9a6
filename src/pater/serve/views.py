"""What is told of an engine: its status for the page, its figures for Prometheus, and whether it is ready.

Knows the engine, `status` and `metrics`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..stream.learner import Learner
from .engine import Engine
from .metrics import Metrics
from .operating import Operating
from .quality import Quality
from .status import Facts, Status
from .volumes import Volumes

MOST_HISTORY = 100  # events that are looked through


class EngineViews:
    """An engine, as those see it who look at it."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._started = engine, engine.log.now()
        self.volumes = Volumes()
        self._counted = [0, 0, 0, 0]
        self._draining = False
        self._metrics, self._status = Metrics(self), Status(self)

    @property
    def quality(self) -> Quality:
        """Of what was said."""
        return self._engine.learned.quality

    @property
    def operating(self) -> Operating:
        """The operating point in force."""
        return self._engine.operating

    def speaker(self) -> Learner | None:
        """The learner that answers; None before anything was learned."""
        served = self._engine.learned.served
        return None if served is None else served.speaker()

    def facts(self) -> Facts:
        """What is so now."""
        engine, log, broken = self._engine, self._engine.log, self._engine.conveyor.writer.broken
        size = 0
        for path in (log.folder.log, log.folder.log.with_name(log.folder.log.name + "-wal")):
            with suppress(OSError):
                size += path.stat().st_size
        why = self.unready()
        return Facts(
            now=log.now(),
            started=self._started,
            version=engine.version,
            rows=engine.rows,
            position=engine.learned.position,
            pending=log.count("pending"),
            queue=engine.waiting,
            ready=why is None,
            learning=broken is None,
            why=why or (broken.reason if broken is not None else ""),
            log_time=log.last_time,
            log_bytes=size,
            snapshot_time=engine.snapshot_time,
            snapshot_position=engine.snapshot_position,
            history=[
                {"time": event.time, "kind": event.kind, **event.content}
                for event in log.events(MOST_HISTORY)
                if isinstance(event.content, dict)
            ],
        )

    # What the application asks for

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Take note of a request, and of the rows that have come since the last one."""
        self._metrics.observe(route, status, seconds)
        counts = self._engine.counts
        now = [counts.predicted, counts.learned, counts.joined, counts.refused]
        if now != self._counted:
            time = self._engine.log.now()
            for kind, (new, old) in enumerate(zip(now, self._counted, strict=True)):
                if new > old:
                    self.volumes.add(kind, new - old, time)
            self._counted = now

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """The answer to a scrape, and its type."""
        return self._metrics.exposition(accept)

    def status(self) -> dict[str, Any]:
        """Everything that the page shows."""
        return self._status.told()

    def drain(self) -> None:
        """From here on the service is not ready: it ends."""
        self._draining = True

    def unready(self) -> str | None:
        """Why no request should be sent here; None if all is well."""
        return "the service is stopping." if self._draining else None
