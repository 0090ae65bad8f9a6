"""Writes that are on disk but not yet reported by the writer's thread are awaited: a swap could come in between."""

from __future__ import annotations

import asyncio
import threading

from patience import WAIT

from pater.serve.engine import Engine
from pater.serve.store.state import opened


async def drained(folder):
    log, settings = opened(folder, settings={"algo": "pater-i"})
    engine = Engine(log, settings)
    await engine.start()
    await engine.housekeeping.stop()  # which writes, too, if compiling the first row takes long enough
    writer, told = engine.conveyor.writer, engine.conveyor._on_disk

    looked = threading.Event()

    def late(group):
        looked.wait(WAIT)
        told(group)

    writer._committed = late
    rows = engine.rows_of({"rows": [{"features": [[1, 1.0]], "label": 1}]}, labelled=True)
    learning = asyncio.create_task(engine.learn(rows))
    while writer.waiting or not log.position:
        await asyncio.sleep(0.001)
    assert engine.rows == 0
    assert engine.waiting == 1
    asyncio.get_running_loop().call_later(0.02, looked.set)
    await engine.conveyor.drained()
    assert engine.rows == 1
    await learning
    await engine.stop()


def test_all_that_was_taken_is_learned_when_it_is_drained(tmp_path):
    asyncio.run(drained(tmp_path / "state"))
