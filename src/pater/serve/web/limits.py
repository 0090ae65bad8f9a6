"""How much of everything the service takes at once, so that no caller can make it grow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds, each of which is answered with a status of its own when it is reached.

    body, model
        Bytes of a request, and of a model file that is sent (413).
    held
        Bytes of all requests that are being read or answered (429).
    rows, columns
        In one request, and in one row (413).
    ids
        Characters of an id (422).
    pending
        Ids that are remembered for their labels (429).
    head
        Bytes of a request that are not its body (431).
    connections
        Open at once; one more is answered 503.
    arrival, idle
        Seconds in which a request must have come whole, and for which a connection may do nothing.
    """

    body: int = 16 << 20
    model: int = 256 << 20
    held: int = 512 << 20
    rows: int = 100_000
    columns: int = 10_000
    ids: int = 256
    pending: int = 50_000_000
    head: int = 32 << 10
    connections: int = 1_000
    arrival: float = 60.0
    idle: float = 75.0
