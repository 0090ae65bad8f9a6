"""How long and how much a service keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Retention:
    """How long and how much is kept.

    remember, expire_as
        How many seconds a row waits for its label, and the label it gets when none comes; None for none.
    snapshot_rows, snapshot_seconds
        After how many rows, or seconds, the model is written to a file again.
    most_classes
        How many different labels there may be.
    most_waiting
        How many requests may wait to be written to the log.
    """

    remember: float = 30 * 86_400.0
    expire_as: str | None = None
    snapshot_rows: int = 100_000
    snapshot_seconds: float = 60.0
    most_classes: int = 100
    most_waiting: int = 10_000
