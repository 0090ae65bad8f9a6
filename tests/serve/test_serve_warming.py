"""Compiling before the first request leaves no trace in the model."""

from __future__ import annotations

import asyncio

import pytest

from pater.serve.engine import Engine
from pater.serve.store.state import opened
from pater.serve.warming import warm

ROWS = {
    "a table": [{"features": {"a": float(k % 7), "b": "xyz"[k % 3]}, "label": k % 2} for k in range(1200)],
    "few rows of a table": [{"features": {"a": float(k % 7)}, "label": "no"} for k in range(30)],
    "indices": [{"features": [[k % 9, 1.0]], "label": k % 3} for k in range(20)],
    "nothing": [],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=list(ROWS))
def test_the_model_is_as_it_was(rows, tmp_path, monkeypatch):
    learned = []
    monkeypatch.setattr("pater.serve.served_learner.Served.learn", _noted(learned))

    async def run():
        log, settings = opened(tmp_path / "state", settings={"algo": "pater-i"})
        engine = Engine(log, settings)
        await engine.start()
        if rows:
            await engine.learn(engine.rows_of({"rows": rows}, labelled=True))
        before = await engine.model_file() if rows else None
        n_learned = len(learned)
        warm(engine.learned.served, settings)
        assert len(learned) > n_learned
        assert (await engine.model_file() if rows else None) == before
        await engine.stop()

    asyncio.run(run())


def _noted(learned):
    from pater.serve.served_learner import Served

    learn = Served.learn

    def noted(self, batch):
        learned.append(len(batch))
        learn(self, batch)

    return noted


def test_settings_that_need_columns_of_their_own_are_left_alone():
    warm(None, {"options": {"categorical": ["country"]}})
    warm(None, {"encoding": "plain"})
