"""What a caller of the service has done wrong, or cannot have now: a status of HTTP, and words that say what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Refusal(Exception):  # noqa: N818
    """An answer that is not what was asked for.

    status
        Of HTTP: 400 for what cannot be read, 401 and 403 for tokens, 404, 409 for what does not go with the state, 413
        for what is too large, 422 for rows that are wrong, 429 for too much at once, 507 for a full disk.
    reason
        What is wrong, where, and what to do.
    rows
        Of rows that are wrong, the place of each in the request and its reason.
    retry_after
        In how many seconds it is worth to ask again.
    """

    def __init__(
        self, status: int, reason: str, *, rows: Sequence[tuple[int, str]] = (), retry_after: int | None = None
    ) -> None:
        super().__init__(reason)
        self.status, self.reason, self.rows, self.retry_after = status, reason, list(rows), retry_after

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"error": self.reason}
        return told | {"rows": [{"index": index, "reason": why} for index, why in self.rows]} if self.rows else told
