"""Limits on everything that the service takes at once, so that no caller can make it grow without bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits, with the HTTP status that answers a request beyond each.

    body, model
        Bytes of the body of a request, and of a model file that is sent (413).
    held
        Bytes of all requests that are being read or answered (429).
    rows, columns
        Rows in one request, and columns in one row (413).
    ids
        Characters of an id (422).
    pending
        Rows that wait for their labels (429).
    head
        Bytes of a request besides its body (431).
    connections
        Connections open at once (503).
    arrival, idle
        Seconds within which a request must have arrived completely (408), and for which a connection may be idle.
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
