"""Views of an engine: its status for the page, its metrics for Prometheus, and whether it is ready.

Knows the engine, `status` and `metrics`.
"""

from __future__ import annotations

from typing import Any

from ..engine import Engine
from ..quality.metrics import Metrics
from ..quality.status import Status


class EngineViews:
    """The views of an engine that the application shows."""

    def __init__(self, engine: Engine) -> None:
        self._draining = False
        self._metrics, self._status = Metrics(engine), Status(engine)
        self.observe, self.exposition = self._metrics.observe, self._metrics.exposition

    def status(self) -> dict[str, Any]:
        """Everything that the page shows."""
        return self._status.told()

    def drain(self) -> None:
        """Report the service as not ready from here on: it ends when requests under way are answered."""
        self._draining = True

    def unready(self) -> str | None:
        """Why no request should be sent here; None if the service can answer, even if it cannot learn."""
        return "the service is stopping." if self._draining else None
