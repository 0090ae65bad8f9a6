"""Why a request is refused, permanently or for now: an HTTP status, and words that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Refusal(Exception):  # noqa: N818
    """An answer other than the one asked for.

    status
        HTTP status: 400 for what cannot be read, 401 and 403 for access, 404 and 405 for an unknown path or method,
        406 and 415 for a type that is not offered or taken, 409 for a conflict with the state, 413 for what is too
        large, 421 for a foreign host name, 422 for invalid rows, 429 for too much at once, 500 for a fault of the
        server, 503 for what it cannot do now (it is stopping, is swapping models, has failed to learn, or has too many
        connections), 507 for a full disk.
    reason
        What is wrong, where, and what to do.
    rows
        The place of each invalid row in the request, and what is wrong with it.
    retry_after
        After how many seconds a retry is worthwhile.
    """

    def __init__(
        self, status: int, reason: str, *, rows: Sequence[tuple[int, str]] = (), retry_after: int | None = None
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.rows, self.retry_after = status, reason, list(rows), retry_after

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"error": self.reason}
        return told | {"rows": [{"index": index, "reason": why} for index, why in self.rows]} if self.rows else told
