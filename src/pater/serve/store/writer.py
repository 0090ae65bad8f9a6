"""The one thread that writes to the log: everything that has queued up goes into one transaction, with one sync.

Knows the log; knows nothing of what is written. A write is a function of a `Transaction`. If it raises an error, it
alone is undone, and the error is its result. If the transaction cannot be committed, none of it is written, and the
result of every write in it is a `StorageFull`; the next write tries again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import Refusal
from .log import Log
from .transaction import Transaction

Write = Callable[[Transaction], Any]
Done = tuple[Any, Any]  # the ticket of a write, and its result or the error that it raised

MOST_IN_A_GROUP = 1024
MOST_BYTES_IN_A_GROUP = 1 << 24

_CODES = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk has failed",
    sqlite3.SQLITE_READONLY: "the disk is read-only",
    sqlite3.SQLITE_CANTOPEN: "the log cannot be opened",
    sqlite3.SQLITE_BUSY: "another program is writing to the log",
    sqlite3.SQLITE_LOCKED: "another program is writing to the log",
    sqlite3.SQLITE_CORRUPT: "the log is damaged",
    sqlite3.SQLITE_NOTADB: "the log is damaged",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_PERM: "the log may not be written",
}


class Busy(Refusal):
    """Too much is waiting to be written."""

    def __init__(self) -> None:
        super().__init__(429, "more is waiting to be learned than is taken at once; try again.", retry_after=1)


class StorageFull(Refusal):
    """The disk did not take a write, and nothing of it is there."""

    def __init__(self, why: str) -> None:
        super().__init__(507, f"nothing was learned or remembered: {why}. Predicting goes on.", retry_after=10)


class Ended(Refusal):
    """The writer has been told to end."""

    def __init__(self) -> None:
        super().__init__(503, "the service is stopping; nothing was learned.", retry_after=5)


class Writer:
    """The thread, and the writes that wait for it.

    committed
        Called in this thread once for each group, after it is on the disk or has failed, with the ticket and the result
        (or error) of each write, in the order of the log.
    most, most_bytes
        How many writes, and bytes of them, may wait; beyond that, `submit` raises `Busy`.
    """

    def __init__(
        self, log: Log, committed: Callable[[list[Done]], None], *, most: int = 10_000, most_bytes: int = 1 << 28
    ) -> None:
        self._log, self._committed = log, committed
        self._most, self._most_bytes = most, most_bytes
        self._queue: deque[tuple[Any, Write, int]] = deque()
        self._changed = threading.Condition()
        self._waiting = self._bytes = 0
        self._ending = False
        self.broken: StorageFull | None = None  # why the last group could not be written
        self._thread = threading.Thread(target=self._work, name="pater-log", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many writes are queued or under way."""
        return self._waiting

    def submit(self, ticket: Any, write: Write, size: int = 0, *, urgent: bool = False) -> None:
        """Queue a write of about `size` bytes; a Refusal if too much is waiting, or the writer is ending.

        A write larger than `most_bytes` is taken when nothing else waits. An urgent one is always taken, unless the
        writer is ending.
        """
        with self._changed:
            if self._ending:
                raise Ended
            is_full = self._waiting >= self._most or self._bytes + size > self._most_bytes
            if self._waiting and is_full and not urgent:
                raise Busy
            self._queue.append((ticket, write, size))
            self._waiting += 1
            self._bytes += size
            if len(self._queue) == 1:
                self._changed.notify()

    def stop(self, timeout: float | None = None) -> bool:
        """Write what waits, then end; further writes are refused at once. Return whether the thread has ended."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while group := self._next_group():
            results = self._write([write for _, write, _ in group])
            tickets = [ticket for ticket, _, _ in group]
            with self._changed:
                self._waiting -= len(group)
                self._bytes -= sum(size for *_, size in group)
            self._committed(list(zip(tickets, results, strict=True)))

    def _next_group(self) -> list[tuple[Any, Write, int]]:
        """Wait for writes, and return those that wait, up to a size; an empty list when it is time to end."""
        with self._changed:
            while not self._queue and not self._ending:
                self._changed.wait()
            group: list[tuple[Any, Write, int]] = []
            size = 0
            while self._queue and len(group) < MOST_IN_A_GROUP and size < MOST_BYTES_IN_A_GROUP:
                group.append(self._queue.popleft())
                size += group[-1][2]
            return group

    def _write(self, writes: list[Write]) -> list[Any]:
        try:
            results = in_one_transaction(self._log, writes)
        except Exception as error:
            self.broken = StorageFull(_why(error))
            results = [StorageFull(_why(error)) for _ in writes]
        else:
            self.broken = None
        return results


def write_now(log: Log, write: Write) -> Any:
    """Write in this thread, where there is no writer yet or none any more; return or raise what the write does."""
    (result,) = in_one_transaction(log, [write])
    if isinstance(result, Exception):
        raise result
    return result


def in_one_transaction(log: Log, writes: list[Write]) -> list[Any]:
    """Run writes and commit them; return the result of each, or the error that it raised.

    If this function itself raises an error, nothing is written.
    """
    connection = log.connection
    assert connection is not None
    try:
        if connection.in_transaction:  # the previous one could not be rolled back
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        transaction = Transaction(connection, log.now(), log.limits, log.end)
        results = [_run(connection, transaction, write, alone=len(writes) == 1) for write in writes]
        log.end = transaction.end
        if connection.in_transaction:  # otherwise the only write has failed
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends it itself after some errors
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise
    return results


def _run(connection: sqlite3.Connection, transaction: Transaction, write: Write, *, alone: bool) -> Any:
    if not alone:
        connection.execute("SAVEPOINT one")
    try:
        result = write(transaction)
    except Exception as error:
        if not connection.in_transaction or _of_storage(error):
            raise
        connection.execute("ROLLBACK" if alone else "ROLLBACK TO one")
        result = error
    if not alone:
        connection.execute("RELEASE one")
    return result


def _of_storage(error: Exception) -> bool:
    """Whether the disk or the memory is at fault, not the write."""
    return isinstance(error, MemoryError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _CODES


def _why(error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    told = _CODES.get(code)
    return f"{told} ({error})" if told and str(error) else told or f"the log cannot be written ({error})"
