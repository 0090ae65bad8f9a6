"""The current state of an engine, for those who observe it. Knows the engine and the `Facts` of `status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .quality.status import Facts

if TYPE_CHECKING:
    from .engine import Engine

EVENTS = 50  # most events listed in the history


def facts_of(engine: Engine) -> Facts:
    """The current state of an engine."""
    log, housekeeping, broken = engine.log, engine.housekeeping, engine.conveyor.broken
    events = [{"time": event.time, "kind": event.kind, **event.content} for event in log.events(EVENTS)]
    return Facts(
        now=log.now(),
        started=engine.started,
        version=engine.version,
        rows=engine.rows,
        position=log.position,
        pending=log.count("pending"),
        queue=engine.waiting,
        ready=not engine.is_stopping,
        learning=broken is None,
        why="the service is stopping" if engine.is_stopping else "" if broken is None else broken.reason,
        log_time=engine.learned_at,
        log_bytes=log.size(),
        snapshot_time=housekeeping.saved_at,
        snapshot_position=housekeeping.saved_position,
        history=sorted([*events, *housekeeping.snapshots], key=lambda each: float(each["time"])),
    )
