"""Check a state directory without starting a server: everything is there, undamaged and consistent.

Knows the log and model files. Nothing is written, and a server may be running meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass, field

from ...files.model_file import ModelFileError
from ...stream.learner import load
from ..rows.kinds import JSON
from . import schema
from .folder import StateError
from .log import Log
from .records import Entry, Snapshot


@dataclass
class Report:
    """What was found, line by line, and what is wrong."""

    found: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether a server can start from the directory without losing anything."""
        return not self.wrong


def check(path: str | os.PathLike[str]) -> Report:
    """Check a state directory; if it cannot be read, the report says so."""
    report = Report()
    try:
        log = Log.open_to_read(path)
    except StateError as error:
        report.wrong.append(str(error))
        return report
    try:
        with log.at_one_moment():
            _check(log, report)
    except StateError as error:
        report.wrong.append(str(error))
    except sqlite3.Error as error:
        report.wrong.append(str(schema.unusable(log.folder.log, error)))
    finally:
        log.close()
    return report


def _check(log: Log, report: Report) -> None:
    damage = log.damage()
    if damage:
        report.wrong += [f"{log.folder.log} is damaged: {each}" for each in damage]
        return
    last = _check_entries(log, report)
    for name, what in (("pending", "rows that wait for labels"), ("done", "ids learned"), ("keys", "keys of requests")):
        found, kept = log.counted(name)
        report.found.append(f"{found:,} {what}")
        if found != kept:
            report.wrong.append(f"there are {found:,} {what}, but {kept:,} were counted")
    begins = _check_snapshots(log, last, report)
    start = begins.entry if begins else 0
    if last > start and log.first_entry > start + 1:
        report.wrong.append(
            f"entries {start + 1:,} to {log.first_entry - 1:,}, which recovery would go on with, are not in the log"
        )
    behind = begins.file if begins else "no model"
    report.found.append(f"recovery begins with {behind}, and {log.entries_after(start):,} entries of the log after it")


def _check_entries(log: Log, report: Report) -> int:
    """Read all entries, and return the number of the last."""
    before: Entry | None = None
    rows = 0
    for entry in log.entries():
        rows += entry.kept
        if entry.kind == JSON and len(entry.content.splitlines()) != entry.rows:
            report.wrong.append(f"entry {entry.number:,} has other rows than it says")
        if before is not None and (entry.number, entry.position) != (before.number + 1, before.end):
            report.wrong.append(f"entry {entry.number:,} does not follow entry {before.number:,}")
        before = entry
    end = before.end if before else None
    if end is not None and end != log.position:
        report.wrong.append(f"the log ends at row {end:,}, but {log.position:,} were counted")
    report.found.append(f"{log.position:,} rows were learned, of which {rows:,} are in the log")
    return log.last_entry


def _check_snapshots(log: Log, last: int, report: Report) -> Snapshot | None:
    """Check all model files, and return the one that recovery begins with.

    It is the last one that can be read; there is none if a model that was swapped in comes first and cannot be.
    """
    begins: Snapshot | None = None
    needed = True
    for snapshot in reversed(log.snapshots()):
        path = log.folder.file(snapshot.file)
        if not 0 <= snapshot.entry <= last:
            report.wrong.append(f"{path} is of entry {snapshot.entry:,}, but the log has {last:,}")
        try:
            learner = load(path)
        except ModelFileError as error:
            if needed and snapshot.kind == "model":
                report.wrong.append(str(error))
                needed = False
            else:
                report.found.append(f"warning: {error}")
            continue
        report.found.append(f"{snapshot.file}: version {snapshot.version}, {learner.rows:,} rows, sound")
        if needed:
            begins, needed = snapshot, False
    return begins
