"""The writes of requests to the log: functions of a transaction, which the writer's thread runs.

Knows records of the log and rows; knows no model. A write that learns returns the answer and the entry to learn before
it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .errors import Refusal
from .rows.kinds import JSON
from .rows.rows import Rows
from .store.records import Entry, Joined, LabelOf
from .store.transaction import Transaction

Settled = Callable[[Transaction], None]


REFUSED = "the model cannot learn from it: its numbers are too large, or its label is one too many"


class Written(NamedTuple):
    """The answer to a request, and what is to be learned before it is given.

    entry
        The rows to learn, if there are any.
    places, ids
        For each of these rows, its place in the request, and its id or None.
    again
        Whether a request with the same key has come before. Its outcome is known once all earlier entries are learned.
    """

    answer: dict[str, Any]
    entry: Entry | None = None
    places: Sequence[int] = ()
    ids: Sequence[str | None] = ()
    again: bool = False


def refusal(places: Sequence[int], n_rows: int) -> Refusal:
    """The answer if the model has refused the rows at these places of a request that had `n_rows` to learn."""
    told = "the others were learned" if len(places) < n_rows else "nothing was learned"
    return Refusal(422, f"row {places[0]}: {REFUSED}; {told}.", rows=[(place, REFUSED) for place in places])


def remember(rows: Rows, said: list[dict[str, Any]], settled: Settled) -> Callable[[Transaction], None]:
    """Remember the rows that have an id, each with the answer given for it."""
    kept = [
        (name, features, answer)
        for name, features, answer in zip(rows.ids, rows.features, said, strict=True)
        if name is not None
    ]

    def write(transaction: Transaction) -> None:
        settled(transaction)
        transaction.remember(kept)

    return write


def learn(
    rows: Rows, key: str | None, digest: bytes, settled: Settled, *, as_read: bool = True
) -> Callable[[Transaction], Written]:
    """Append rows to the log, except those whose id was learned before; once for each key.

    With `as_read` the rows may be learned as they were read from the request; otherwise they are read from the log.
    """
    assert rows.batch.labels is not None
    labels = rows.batch.labels.tolist()

    def write(transaction: Transaction) -> Written:
        settled(transaction)
        known = transaction.known_key(key, digest) if key is not None else None
        if known is not None:
            return Written(known.answer, again=True)
        claimed = transaction.claim(list(zip(rows.ids, labels, strict=True)))
        entry = None
        if claimed.fresh:
            kind, content = rows.logged(claimed.fresh)
            said = [
                [labels[place], claimed.said[place][0]] if place in claimed.said else None for place in claimed.fresh
            ]
            entry = transaction.append(kind, content, len(claimed.fresh), said if claimed.said else None)
            if as_read and len(claimed.fresh) == len(rows) and not rows.columns.bits:
                entry = entry._replace(batch=rows.batch)
        position = transaction.count("rows") if entry is None else entry.position + entry.rows
        answer = {"learned": len(claimed.fresh), "position": position}
        answer |= {name: ids for name in ("already", "conflicting") if (ids := getattr(claimed, name))}
        if key is not None:
            transaction.keep_key(key, digest, answer, entry.number if entry else None)
        return Written(answer, entry, claimed.fresh, [rows.ids[place] for place in claimed.fresh])

    return write


def join(labels: list[LabelOf], settled: Settled) -> Callable[[Transaction], Written]:
    """Join labels to remembered rows, and append those rows to the log."""

    def write(transaction: Transaction) -> Written:
        settled(transaction)
        joined = transaction.join(labels)
        answer = {"joined": len(joined.rows), "unknown": joined.unknown}
        answer |= {name: ids for name in ("already", "conflicting") if (ids := getattr(joined, name))}
        return _with_entry(transaction, answer, joined)

    return write


def expire(remember: float, as_label: Any, limit: int, settled: Settled) -> Callable[[Transaction], Written]:
    """Forget what is older than `remember` seconds; with a label, rows that got none are learned with it instead."""

    def write(transaction: Transaction) -> Written:
        settled(transaction)
        joined = transaction.expire(transaction.time - remember, as_label, limit=limit)
        answer = {"expired": len(joined.unknown) + len(joined.rows), "more": joined.more}
        return _with_entry(transaction, answer, joined)

    return write


def with_(beside: Settled | None, write: Callable[[Transaction], Written]) -> Callable[[Transaction], Written]:
    """The write of a request, followed by another write in the same transaction."""
    if beside is None:
        return write

    def both(transaction: Transaction) -> Written:
        written = write(transaction)
        beside(transaction)
        return written

    return both


def _with_entry(transaction: Transaction, answer: dict[str, Any], joined: Joined) -> Written:
    if not joined.rows:
        return Written(answer)
    said = [[row.label, row.said] for row in joined.rows]
    entry = transaction.append(JSON, joined.content, len(joined.rows), said)
    return Written(answer, entry, joined.places or range(len(joined.rows)), [row.id for row in joined.rows])
