"""The tables of the log, connections to them, and errors when they cannot be opened. Knows SQLite and the directory."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

from .folder import Folder, StateError

VERSION = 1
_APPLICATION = 0x50415452  # "PATR", which tells the file from other databases
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counts VALUES ('rows', 0), ('pending', 0), ('done', 0), ('keys', 0);

-- What was learned, request by request. Numbers are never given twice, also if the log is trimmed.
CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    position INTEGER NOT NULL,  -- rows before it that were not refused
    rows INTEGER NOT NULL,      -- all that it holds
    time REAL NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    said TEXT,                  -- what was answered when its rows were predicted, as JSON
    checksum INTEGER NOT NULL,  -- of content and said, since SQLite has none
    refused TEXT                -- places of the rows that the model has refused, as JSON
);
CREATE TABLE pending (id TEXT PRIMARY KEY, time REAL NOT NULL, features BLOB NOT NULL, said TEXT NOT NULL);
CREATE TABLE done (id TEXT PRIMARY KEY, time REAL NOT NULL, label TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE keys (key TEXT PRIMARY KEY, time REAL NOT NULL, digest BLOB NOT NULL, answer TEXT NOT NULL,
                   entry INTEGER);  -- what was learned of the request
CREATE INDEX pending_time ON pending (time);
CREATE INDEX done_time ON done (time);
CREATE INDEX keys_time ON keys (time);

CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL,     -- the last one that the model has learned, or that came before it was swapped in
    position INTEGER NOT NULL,
    version INTEGER NOT NULL,
    time REAL NOT NULL,
    kind TEXT NOT NULL,         -- "snapshot", or "model" for one that the service began with or that was swapped in
    file TEXT NOT NULL,
    quality TEXT NOT NULL
);
CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, kind TEXT NOT NULL,
                     content TEXT NOT NULL);
CREATE TABLE offsets (topic TEXT, part INTEGER, next INTEGER NOT NULL, PRIMARY KEY (topic, part)) WITHOUT ROWID;

CREATE TRIGGER pending_in AFTER INSERT ON pending
BEGIN UPDATE counts SET value = value + 1 WHERE name = 'pending'; END;
CREATE TRIGGER pending_out AFTER DELETE ON pending
BEGIN UPDATE counts SET value = value - 1 WHERE name = 'pending'; END;
CREATE TRIGGER done_in AFTER INSERT ON done
BEGIN UPDATE counts SET value = value + 1 WHERE name = 'done'; END;
CREATE TRIGGER done_out AFTER DELETE ON done
BEGIN UPDATE counts SET value = value - 1 WHERE name = 'done'; END;
CREATE TRIGGER keys_in AFTER INSERT ON keys
BEGIN UPDATE counts SET value = value + 1 WHERE name = 'keys'; END;
CREATE TRIGGER keys_out AFTER DELETE ON keys
BEGIN UPDATE counts SET value = value - 1 WHERE name = 'keys'; END;
"""


def to_json(value: Any) -> str:
    """JSON text, the same for the same value; an error for values that JSON does not have, such as NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def checksum(content: bytes, said: str | None) -> int:
    """A checksum by which an entry that has changed on the disk is recognised."""
    return zlib.crc32((said or "").encode(), zlib.crc32(content))


def writing(folder: Folder) -> sqlite3.Connection:
    """The only connection that writes; the tables are made if there are none."""
    try:
        connection = sqlite3.connect(folder.log, timeout=5.0, isolation_level=None, check_same_thread=False)
        try:
            _check(connection, folder)
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise StateError(
                    f"{folder.path}: its file system cannot hold the log. Name a directory on a local disk."
                )
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 1000")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA cache_size = -16000")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                # One script, one transaction: the tables are all there, or none.
                meta = f"INSERT INTO meta VALUES ('version', '{VERSION}'); PRAGMA application_id = {_APPLICATION};"
                connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {meta} COMMIT;")
                folder.sync()
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise unusable(folder.log, error) from None
    return connection


def reading(folder: Folder) -> sqlite3.Connection:
    """A connection that cannot write. It may be opened while a server is running in the directory."""
    if not folder.log.is_file():
        raise StateError(
            f"{folder.path}: there is no {folder.log.name} in it; it is not a state directory of a service."
        )
    # To read a database that nobody has open, SQLite makes files beside it. Where it cannot, nobody else writes either,
    # and everything is in the one file, unless a killed server has left a part in the file beside it.
    uri, aside = folder.log.resolve().as_uri(), folder.log.with_name(f"{folder.log.name}-wal")
    ways = ["mode=rw", "mode=ro", *([] if aside.exists() and aside.stat().st_size else ["mode=ro&immutable=1"])]
    for way in ways:
        try:
            return _opened_to_read(f"{uri}?{way}", folder)
        except sqlite3.Error as error:
            if way == ways[-1] or getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NOT_WRITABLE:
                raise unusable(folder.log, error, "read") from None
    raise AssertionError


def _opened_to_read(uri: str, folder: Folder) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA query_only = 1")
        if not _check(connection, folder):
            raise StateError(f"{folder.path}: nothing has begun in it yet; its log is empty.")
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, folder: Folder) -> bool:
    """Whether there are any tables yet; an error if this is not a log, or one of a newer version."""
    try:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except UnicodeDecodeError:  # SQLite's error message repeats the bytes that it cannot parse
        raise damaged(folder.log, "its tables are not described") from None
    if not names:
        return False
    if not {"meta", "entries", "pending"} <= names:
        raise StateError(f"{folder.log} is a database, but not the log of a service; name another directory.")
    found = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    version = str(found[0]) if found else "?"
    if not version.isdecimal() or not 1 <= int(version) <= VERSION:
        raise StateError(
            f"{folder.path} was written by a newer version of pater (its format is {version[:20]}, this one reads "
            f"{VERSION}). Use that version, or begin in another directory."
        )
    return True


def damaged(path: Path, why: str) -> StateError:
    """A StateError for a log that has changed on the disk."""
    return StateError(
        f"{path} is damaged ({why}). Nothing was changed. Put back a copy of the directory, or begin in another one "
        "with the last snapshot of models/ as its model."
    )


def unusable(path: Path, error: sqlite3.Error, done: str = "written") -> StateError:
    """A StateError for a database that cannot be opened or read, with SQLite's reason and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(path, str(error))
    if code in _NOT_WRITABLE:
        return StateError(f"{path} cannot be {done} ({error}). Give this user the right to write in its directory.")
    if code == sqlite3.SQLITE_FULL:
        return StateError(f"{path}: the disk is full. Make room on it.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StateError(f"{path} is being written by another program ({error}). Wait for it to end.")
    return StateError(f"{path} cannot be used: {error}.")
