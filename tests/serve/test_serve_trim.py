"""A trimmed log: the service continues, and its export and the snapshot it begins with give its model."""

from __future__ import annotations

import asyncio
import random

import pytest

from pater.serve.engine import Engine
from pater.serve.store.export import begins, lines
from pater.serve.store.log import Log
from pater.serve.store.state import opened, trim
from pater.stream import train


async def learned(folder, n_rows, seed, *, stop=True):
    """Start, learn some rows one by one and in bulk; return the model."""
    log, settings = opened(folder)
    engine = Engine(log, settings)
    await engine.start()
    choice = random.Random(seed)

    def rows(n):
        return [
            {"features": {"a": round(choice.random(), 3), "b": choice.choice("xyz")}, "label": choice.randrange(2)}
            for _ in range(n)
        ]

    for part in (rows(1), rows(n_rows - 2), rows(1)):
        await engine.learn(engine.rows_of({"rows": part}, labelled=True))
    content = await engine.model_file()
    if stop:
        await engine.stop()
    else:  # as after a kill
        await engine.housekeeping.stop()
        await engine.conveyor.stop()
        log.close()
    return content


@pytest.mark.first_quick
@pytest.mark.parametrize("algo", ["pater-i", "auto"])
def test_a_service_goes_on_after_its_log_was_trimmed(tmp_path, monkeypatch, algo):
    monkeypatch.chdir(tmp_path)
    opened("state", settings={"algo": algo})[0].close()
    asyncio.run(learned("state", 1100, 0))
    for round_ in range(2):
        dropped, _ = trim("state")
        assert dropped
        content = asyncio.run(learned("state", 40, 1 + round_, stop=False))
        content = asyncio.run(learned("state", 40, 2 + round_, stop=bool(round_)))
        if not round_:
            content = asyncio.run(learned("state", 5, 9))
        log = Log.open_to_read("state")
        (tmp_path / "log.jsonl").write_bytes(b"".join(lines(log)))
        initial = log.folder.file(begins(log).model.file)
        log.close()
        train("log.jsonl", initial=initial, model="again")
        assert (tmp_path / "again").read_bytes() == content
