"""The log of a service: opened by one server at a time, read by anyone. Knows the tables and the state directory.

The log is written by `writer`, in its own thread; everything here only reads, from any one thread.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import schema
from .folder import Folder, StateError
from .records import Answer, Entry, Event, Limits, Snapshot

TRIMMED = "trimmed"  # the last entry that was dropped
# How many entries, and bytes of them, are read at once. No read is open while they are used, which may take long: an
# open read would keep SQLite from reusing the write-ahead log.
_PIECE, _PIECE_BYTES = 500, 1 << 22


class Log:
    """An open log.

    Attributes
    ----------
    folder : Folder
        The state directory.
    limits : Limits
        How much may be remembered.
    connection : sqlite3.Connection or None
        The writer's connection; None if the log was opened only to be read.
    """

    def __init__(self, folder: Folder, connection: sqlite3.Connection | None, limits: Limits) -> None:
        self.folder, self.connection, self.limits = folder, connection, limits
        self.clock: Callable[[], float] = time.time
        self.end: int | None = None  # as `Transaction` has it
        self._now = threading.Lock()
        self._reader = schema.reading(folder)
        self._latest = self._last_time()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, limits: Limits | None = None) -> Log:
        """Open or make the log of a state directory, and lock it."""
        folder = Folder(path)
        folder.take()
        try:
            folder.check_log()
            connection = schema.writing(folder)
            try:
                return cls(folder, connection, limits or Limits())
            except BaseException:
                connection.close()
                raise
        except BaseException:
            folder.release()
            raise

    @classmethod
    def open_to_read(cls, path: str | os.PathLike[str]) -> Log:
        """Open a log that another process may be writing to."""
        return cls(Folder(path), None, Limits())

    def close(self) -> None:
        """Close the log and release the lock; the writer must have ended before."""
        self._reader.close()
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        self.folder.release()

    def now(self) -> float:
        """The time, which never decreases: if the clock goes back, it stands still until the clock has caught up."""
        with self._now:
            self._latest = max(self._latest, self.clock())
            return self._latest

    def _last_time(self) -> float:
        tables = ("pending", "done", "keys", "snapshots", "events")
        with self._reading() as run:
            found = [
                *(run(f"SELECT max(time) FROM {name}").fetchone()[0] for name in tables),
                *(time for (time,) in run("SELECT time FROM entries ORDER BY number DESC LIMIT 1")),
            ]
        if not all(each is None or isinstance(each, float) for each in found):
            raise self._damaged("a time is invalid")
        return max((each for each in found if each is not None), default=0.0)

    @contextmanager
    def _reading(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        try:
            yield self._reader.execute
        except sqlite3.Error as error:
            raise schema.unusable(self.folder.log, error, "read") from None
        except UnicodeDecodeError:
            raise self._damaged("it does not hold what was written") from None

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read a consistent state inside the block, whatever is being written; for short reads."""
        with self._reading() as run:
            run("BEGIN")
        try:
            yield
        finally:
            with self._reading() as run:
                run("ROLLBACK")

    def count(self, name: str) -> int:
        """How many there are of `rows` (learned, not refused), `pending`, `done` or `keys`."""
        with self._reading() as run:
            return int(run("SELECT value FROM counts WHERE name = ?", (name,)).fetchone()[0])

    @property
    def position(self) -> int:
        """The number of rows in the log, without those that the model has refused."""
        return self.count("rows")

    @property
    def last_entry(self) -> int:
        """The number of the last entry ever written; 0 before the first."""
        with self._reading() as run:
            found = run(
                "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'entries'), 0), "
                "coalesce((SELECT max(number) FROM entries), 0))"
            ).fetchone()
        return int(found[0])

    @property
    def first_entry(self) -> int:
        """The number of the first entry still there; one more than the last if none is."""
        with self._reading() as run:
            found = run("SELECT min(number) FROM entries").fetchone()[0]
        return self.last_entry + 1 if found is None else int(found)

    def entries_after(self, number: int) -> int:
        """How many entries there are after the given one."""
        with self._reading() as run:
            return int(run("SELECT count(*) FROM entries WHERE number > ?", (number,)).fetchone()[0])

    def counted(self, name: str) -> tuple[int, int]:
        """The rows of the table `pending`, `done` or `keys`, counted now, and as counted when they came and went."""
        with self._reading() as run:
            found, kept = run(
                f"SELECT (SELECT count(*) FROM {name}), value FROM counts WHERE name = ?", (name,)
            ).fetchone()
        return int(found), int(kept)

    def damage(self) -> list[str]:
        """What is wrong with the database file, in SQLite's words; every page is read."""
        with self._reading() as run:
            return [text for (text,) in run("PRAGMA integrity_check(10)") if text != "ok"]

    def meta(self, name: str, default: Any = None) -> Any:
        """A setting by its name."""
        with self._reading() as run:
            found = run("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return default if found is None else self._json(found[0])

    def entries(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """The entries after a number, up to another one, in order and one at a time; an error if one is missing."""
        last = self.last_entry if until is None else until
        after = max(after, self.meta(TRIMMED, 0))
        while True:
            some: list[Entry] = []
            size = 0
            with self._reading() as run:
                cursor = run(
                    "SELECT number, position, rows, time, kind, content, said, refused, checksum FROM entries "
                    "WHERE number > ? AND number <= ? ORDER BY number LIMIT ?",
                    (after, last, _PIECE),
                )
                for row in cursor:
                    if row[0] != after + 1 + len(some):
                        break
                    some.append(self._entry(*row))
                    size += len(some[-1].content)
                    if size > _PIECE_BYTES:
                        break
                cursor.close()
            if not some and after < last:
                raise self._damaged(f"entry {after + 1} is missing")
            if not some:
                return
            yield from some
            after = some[-1].number

    def _entry(self, number: int, *row: Any) -> Entry:
        try:
            position, rows, time, kind, content, said, refused, checked = row
            if schema.checksum(content, said) != checked:
                raise ValueError
            out = tuple(json.loads(refused)) if refused else ()
            return Entry(number, position, rows, time, kind, content, json.loads(said) if said else None, out)
        except (ValueError, TypeError, AttributeError):
            raise self._damaged(f"entry {number} is not what was written") from None

    def _json(self, text: Any) -> Any:
        try:
            return json.loads(text)
        except (ValueError, TypeError):
            raise self._damaged("it does not hold what was written") from None

    def _damaged(self, why: str) -> StateError:
        return schema.damaged(self.folder.log, why)

    def snapshots(self, kind: str | None = None) -> list[Snapshot]:
        """The models that are kept, in the order of the log; recovery begins with the last one."""
        with self._reading() as run:
            rows = run(
                "SELECT number, entry, position, version, time, kind, file, quality FROM snapshots "
                "WHERE ?1 IS NULL OR kind = ?1 ORDER BY entry, version, number",
                (kind,),
            ).fetchall()
        return [Snapshot._make([*values, self._json(quality)]) for *values, quality in rows]

    def events(self, last: int = 100) -> list[Event]:
        """The last things that happened, in order."""
        with self._reading() as run:
            rows = run(
                "SELECT number, time, kind, content FROM events ORDER BY number DESC LIMIT ?", (last,)
            ).fetchall()
        return [Event._make([*values, self._json(content)]) for *values, content in reversed(rows)]

    def answer_to(self, key: str) -> Answer | None:
        """The answer to a request with this key; None if there was none."""
        with self._reading() as run:
            found = run(
                "SELECT answer, refused FROM keys LEFT JOIN entries ON number = entry WHERE key = ?", (key,)
            ).fetchone()
        return None if found is None else Answer(self._json(found[0]), tuple(self._json(found[1] or "[]")))

    def offsets(self) -> dict[tuple[str, int], int]:
        """For each partition of a broker, the first message that is not in the log."""
        with self._reading() as run:
            return {(topic, part): following for topic, part, following in run("SELECT * FROM offsets")}

    def size(self) -> int:
        """The size of the log on the disk, in bytes."""
        names = (self.folder.log, self.folder.log.with_name(f"{self.folder.log.name}-wal"))
        return sum(path.stat().st_size for path in names if path.exists())
