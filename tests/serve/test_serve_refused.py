"""Rows that only the model refuses: named by their place in the request, and again if it is repeated."""

from __future__ import annotations

import asyncio

import pytest

from pater.serve.engine import Engine
from pater.serve.errors import Refusal
from pater.serve.records import LabelOf
from pater.serve.state import opened

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
    # The first row is known by its id, so that the entry of the log has one row less than the request.
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
