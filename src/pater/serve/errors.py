"""What a caller of the service did wrong, or cannot have now: an HTTP status, and words that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Refusal(Exception):  # noqa: N818
    """An answer other than the one asked for.

    status
        HTTP status: 400 for what cannot be read, 401 and 403 for tokens, 404, 409 for a conflict with the state, 413
        for what is too large, 422 for invalid rows, 429 for too much at once, 507 for a full disk.
    reason
        What is wrong, where, and what to do.
    rows
        The place of each invalid row in the request, and what is wrong with it.
    retry_after
        In how many seconds a retry is worthwhile.
    """

    def __init__(
        self, status: int, reason: str, *, rows: Sequence[tuple[int, str]] = (), retry_after: int | None = None
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.rows, self.retry_after = status, reason, list(rows), retry_after

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"error": self.reason}
        return told | {"rows": [{"index": index, "reason": why} for index, why in self.rows]} if self.rows else told
