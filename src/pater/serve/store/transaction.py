"""Changes to the log, made in one transaction. Knows the tables; is used in the writer's thread only.

Everything is undone if the function that was handed to the writer raises an error.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ...models.truth import text_named
from ..errors import Refusal
from .records import Answer, Claimed, Entry, Joined, JoinedRow, LabelOf, Limits
from .schema import checksum, to_json

MOST_EVENTS = 10_000


class Transaction:
    """A transaction under way. `time` is the same throughout, and never less than in an earlier one.

    `end` is the expected number of rows in the log, from the last append, or None.
    """

    def __init__(self, connection: sqlite3.Connection, time: float, limits: Limits, end: int | None = None) -> None:
        self._run, self._run_many = connection.execute, connection.executemany
        self.time, self._limits, self.end = time, limits, end

    def count(self, name: str) -> int:
        """How many there are of `rows` (learned, not refused), `pending`, `done` or `keys`."""
        return int(self._run("SELECT value FROM counts WHERE name = ?", (name,)).fetchone()[0])

    # Entries

    def append(self, kind: str, content: bytes, rows: int, said: Sequence[Any] | None = None) -> Entry:
        """Append rows to the log.

        `said` has, for each row that was predicted, its label and the answer; None for the others.
        """
        position = self._end_moved(rows)
        told = None if said is None else to_json(said)
        values = (position, rows, self.time, kind, content, told, checksum(content, told))
        number = self._run(
            "INSERT INTO entries (position, rows, time, kind, content, said, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        ).lastrowid
        assert number is not None
        return Entry(number, position, rows, self.time, kind, content, said)

    def _end_moved(self, rows: int) -> int:
        """Count more rows, and return where they begin; that is looked up only if it is not the expected end."""
        add, position = "UPDATE counts SET value = value + ? WHERE name = 'rows'", self.end
        if position is None or self._run(f"{add} AND value = ?", (rows, position)).rowcount != 1:
            position = self.count("rows")
            self._run(add, (rows,))
        self.end = position + rows
        return position

    def refuse(self, number: int, places: Iterable[int] | None = None) -> int:
        """Mark rows of an entry as refused, all of them without `places`; return how many of it are refused in total.

        The positions of later entries change accordingly.
        """
        rows, before = self._run("SELECT rows, refused FROM entries WHERE number = ?", (number,)).fetchone()
        old = set(json.loads(before)) if before else set()
        out = sorted(old | (set(range(rows)) if places is None else {place for place in places if 0 <= place < rows}))
        self._run("UPDATE entries SET refused = ? WHERE number = ?", (to_json(out), number))
        change = len(out) - len(old)
        self._run("UPDATE entries SET position = position - ? WHERE number > ?", (change, number))
        self._run("UPDATE counts SET value = value - ? WHERE name = 'rows'", (change,))
        return len(out)

    def disclaim(self, ids: Iterable[str]) -> None:
        """Allow ids to be learned again, since their rows were refused."""
        self._run_many("DELETE FROM done WHERE id = ?", [(name,) for name in ids])

    # Rows by their ids

    def remember(self, rows: Iterable[tuple[str, bytes, Any]]) -> list[str]:
        """Remember rows (id, features, answer) until their labels come; return the ids whose label has come already.

        Those are not remembered, since an id is learned once. A new row replaces one that waits under the same id.
        """
        came = []
        for name, features, said in rows:
            if self._label_of(name) is not None:
                came.append(name)
                continue
            self._run(
                "INSERT INTO pending (id, time, features, said) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
                "SET time = excluded.time, features = excluded.features, said = excluded.said",
                (name, self.time, features, to_json(said)),
            )
        self._within("pending", self._limits.pending, "rows wait for their labels")
        return came

    def join(self, labels: Iterable[LabelOf]) -> Joined:
        """Join labels to remembered rows. Their ids are marked as learned; the caller appends the joined rows."""
        joined = Joined()
        for place, (name, label, weight) in enumerate(labels):
            known = self._label_of(name)
            if known is not None:
                (joined.already if known[0] == label else joined.conflicting).append(name)
                continue
            row = self._run("SELECT features, said, time FROM pending WHERE id = ?", (name,)).fetchone()
            if row is None:
                joined.unknown.append(name)
                continue
            self._finish(name, label)
            joined.rows.append(JoinedRow(name, row[0], label, weight, json.loads(row[1]), row[2]))
            joined.places.append(place)
        self._within("done", self._limits.done, "ids have been learned")
        return joined

    def claim(self, rows: Sequence[tuple[str | None, Any]]) -> Claimed:
        """Find which of the rows to learn (id or None, label) are new, and mark their ids as learned."""
        claimed = Claimed()
        for place, (name, label) in enumerate(rows):
            known = self._label_of(name) if name is not None else None
            if name is None:
                claimed.fresh.append(place)
            elif known is not None:
                (claimed.already if known[0] == label else claimed.conflicting).append(name)
            else:
                row = self._run("SELECT said, time FROM pending WHERE id = ?", (name,)).fetchone()
                if row is not None:
                    claimed.said[place] = json.loads(row[0]), row[1]
                self._finish(name, label)
                claimed.fresh.append(place)
        if any(name is not None for name, _ in rows):
            self._within("done", self._limits.done, "ids have been learned")
        return claimed

    def _label_of(self, name: str) -> tuple[Any] | None:
        found = self._run("SELECT label FROM done WHERE id = ?", (name,)).fetchone()
        return None if found is None else (text_named(json.loads(found[0])),)

    def _finish(self, name: str, label: Any) -> None:
        self._run("DELETE FROM pending WHERE id = ?", (name,))
        self._run("INSERT INTO done (id, time, label) VALUES (?, ?, ?)", (name, self.time, to_json(label)))

    def _within(self, name: str, most: int, what: str) -> None:
        if self.count(name) > most:
            raise Refusal(
                429, f"{most:,} {what}, which is as many as are remembered at once; try again later.", retry_after=60
            )

    def expire(self, before: float, as_label: Any = None, *, limit: int = 1000) -> Joined:
        """Forget what is older than a time: at most `limit` rows that wait, and ten times as many ids and as many keys.

        With `as_label`, the rows that waited are joined to that label instead, oldest first, as if it had come.
        """
        joined = Joined()
        rows = self._run(
            "SELECT id, features, said, time FROM pending WHERE time < ? ORDER BY time, id LIMIT ?", (before, limit)
        ).fetchall()
        for name, features, said, time in rows:
            if as_label is None:
                self._run("DELETE FROM pending WHERE id = ?", (name,))
                joined.unknown.append(name)
            else:
                self._finish(name, as_label)
                joined.rows.append(JoinedRow(name, features, as_label, None, json.loads(said), time))
        joined.more = len(rows) == limit
        for table, key in (("done", "id"), ("keys", "key")):
            gone = self._run(
                f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE time < ? LIMIT ?)",
                (before, 10 * limit),
            ).rowcount
            joined.more |= gone == 10 * limit
        return joined

    # Requests by their keys

    def known_key(self, key: str, digest: bytes) -> Answer | None:
        """The answer to an earlier request with this key, or None; a Refusal if that had another body."""
        found = self._run(
            "SELECT digest, answer, refused FROM keys LEFT JOIN entries ON number = entry WHERE key = ?", (key,)
        ).fetchone()
        if found is None:
            return None
        if found[0] != digest:
            raise Refusal(422, "this Idempotency-Key came with another body before. Each request has a key of its own.")
        return Answer(json.loads(found[1]), tuple(json.loads(found[2])) if found[2] else ())

    def keep_key(self, key: str, digest: bytes, answer: Any, entry: int | None = None) -> None:
        """Keep the answer to a request with a new key; it holds unless the model refuses rows of its entry."""
        self._run(
            "INSERT INTO keys (key, time, digest, answer, entry) VALUES (?, ?, ?, ?, ?)",
            (key, self.time, digest, to_json(answer), entry),
        )
        self._within("keys", self._limits.keys, "keys of requests are known")

    # Models, events, settings, offsets

    def snapshot(
        self, file: str, *, version: int, quality: Any, entry: int = 0, position: int = 0, kind: str = "snapshot"
    ) -> int:
        """Record a model file that is on the disk; return its number.

        A model that is swapped in (kind "model") comes after all entries so far.
        """
        if kind == "model":
            entry, position = self.last_entry(), self.count("rows")
        values = (entry, position, version, self.time, kind, file, to_json(quality))
        number = self._run(
            "INSERT INTO snapshots (entry, position, version, time, kind, file, quality) VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        ).lastrowid
        assert number is not None
        return number

    def last_entry(self) -> int:
        """The number of the last entry ever written; 0 before the first."""
        found = self._run("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
        return int(found[0]) if found else 0

    def forget_snapshots(self, keep: int) -> list[str]:
        """Forget all but the last `keep` snapshots; return the files that can be removed once this is committed."""
        old = self._run(
            "SELECT number, file FROM snapshots WHERE kind = 'snapshot' ORDER BY number DESC LIMIT -1 OFFSET ?", (keep,)
        ).fetchall()
        self._run_many("DELETE FROM snapshots WHERE number = ?", [(number,) for number, _ in old])
        known = {name for (name,) in self._run("SELECT file FROM snapshots")}
        return [file for _, file in old if file not in known]

    def trim(self, snapshot: int) -> int:
        """Drop all entries that a snapshot has learned; return how many. The log begins with its model from then on.

        All other snapshots are forgotten: those before it lack the entries to continue with, and those after it were
        learned from entries that are dropped.
        """
        entry = self._run("SELECT entry FROM snapshots WHERE number = ?", (snapshot,)).fetchone()[0]
        kept = self._run("SELECT min(position) FROM entries WHERE number > ?", (entry,)).fetchone()[0]
        position = self.count("rows") if kept is None else kept
        self._run("DELETE FROM snapshots WHERE number <> ? AND kind = 'snapshot'", (snapshot,))
        self.set_meta("trimmed", entry)
        self._run("UPDATE snapshots SET kind = 'model', position = ? WHERE number = ?", (position, snapshot))
        return self._run("DELETE FROM entries WHERE number <= ?", (entry,)).rowcount

    def event(self, kind: str, content: Any) -> int:
        """Record an event; return its number. The last ten thousand are kept."""
        number = self._run(
            "INSERT INTO events (time, kind, content) VALUES (?, ?, ?)", (self.time, kind, to_json(content))
        ).lastrowid
        assert number is not None
        if number % 100 == 0:
            self._run("DELETE FROM events WHERE number <= ?", (number - MOST_EVENTS,))
        return number

    def set_meta(self, name: str, value: Any) -> None:
        """Store a setting under its name, replacing the previous value."""
        self._run(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, to_json(value)),
        )

    def meta(self, name: str, default: Any = None) -> Any:
        """A setting by its name."""
        found = self._run("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return default if found is None else json.loads(found[0])

    def set_offset(self, topic: str, part: int, following: int) -> None:
        """Record the first message of a broker's partition that is not in the log."""
        self._run(
            "INSERT INTO offsets VALUES (?, ?, ?) ON CONFLICT (topic, part) DO UPDATE SET next = excluded.next",
            (topic, part, following),
        )
