"""Rows that only the model refuses: named by their place in the request, and again if it is repeated."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from pater.serve.engine import Engine
from pater.serve.errors import Refusal
from pater.serve.store.records import LabelOf
from pater.serve.store.state import opened
from pater.serve.store.transaction import Transaction

SOUND, BAD = {"features": [[1, 1.0], [2, 2.0]], "label": 1}, {"features": [[3, 1e200]], "label": 1}


async def refused(asking):
    with pytest.raises(Refusal) as refusal:
        await asking
    assert refusal.value.status == 422
    return [place for place, _ in refusal.value.rows], refusal.value.reason


async def service(folder):
    log, settings = opened(folder, settings={"algo": "pater-i"})
    engine = Engine(log, settings)
    await engine.start()

    def learn(*rows, **more):
        return engine.learn(engine.rows_of({"rows": list(rows)}, labelled=True), **more)

    assert await learn(SOUND | {"id": "a"}, SOUND | {"label": 0}) == {"learned": 2, "position": 2}
    # The first row is known by its id, so the log entry has one row less than the request.
    places, _ = await refused(learn(SOUND | {"id": "a"}, SOUND, BAD))
    assert places == [2]
    first = await refused(learn(BAD, SOUND, key="k", digest=b"1"))
    assert first[0] == [0]
    assert "the others were learned" in first[1]
    assert await refused(learn(BAD, SOUND, key="k", digest=b"1")) == first
    await engine.predict(engine.rows_of({"rows": [{"id": "b", "features": SOUND["features"]}]}, labelled=False))
    assert await engine.labels([LabelOf("nobody", 1), LabelOf("b", 1)]) == {"joined": 1, "unknown": ["nobody"]}
    assert engine.log.position == engine.rows == 5
    assert [entry.position for entry in engine.log.entries()] == [0, 2, 3, 4]
    await engine.stop()


def test_refused_rows_are_named_by_their_place(tmp_path):
    asyncio.run(service(tmp_path / "state"))


async def on_a_full_disk(folder):
    log, settings = opened(folder, settings={"algo": "pater-i"})
    engine = Engine(log, settings)
    await engine.start()

    def learn(*rows):
        return engine.learn(engine.rows_of({"rows": list(rows)}, labelled=True))

    await learn(SOUND, SOUND | {"label": 0})
    refuse, full = Transaction.refuse, iter([True, True])

    def until_there_is_room(transaction, number, places=None):
        if next(full, False):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return refuse(transaction, number, places)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, "refuse", until_there_is_room)
        assert (await refused(learn(SOUND, BAD)))[0] == [1]  # it cannot be marked
        assert engine.log.position == 4
        assert (await learn(SOUND))["learned"] == 1  # nor now
        assert (await learn(SOUND))["learned"] == 1
    assert engine.log.position == engine.rows == 5
    assert [entry.position for entry in engine.log.entries()] == [0, 2, 3, 4]
    content = await engine.model_file()
    await engine.stop()
    log, settings = opened(folder)
    engine = Engine(log, settings)
    await engine.start()
    assert await engine.model_file() == content
    await engine.stop()


def test_refused_rows_are_marked_when_there_is_room_again(tmp_path):
    asyncio.run(on_a_full_disk(tmp_path / "state"))
