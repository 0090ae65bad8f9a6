"""The quality of a service is the same after a kill, to the last digit, with or without a snapshot."""

from __future__ import annotations

import asyncio
import json
import shutil

import numpy as np
import pytest

from pater.serve.engine import Engine
from pater.serve.quality.status import Status
from pater.serve.store.records import LabelOf
from pater.serve.store.state import opened


def body(start, n, random):
    y = random.random(n) < 0.3
    x = random.normal(size=(n, 2)) + 1.5 * y[:, None]
    rows = [{"id": f"r{start + k}", "features": {"a": a, "b": b}} for k, (a, b) in enumerate(x.tolist())]
    return {"rows": rows}, [LabelOf(row["id"], "yes" if each else "no") for row, each in zip(rows, y, strict=True)]


async def run(folder, copies, *, snapshot):
    random = np.random.default_rng(0)
    log, settings = opened(folder, settings={"algo": "arow", "encoding": "plain", "options": {"probability": True}})
    engine = Engine(log, settings, window=50)
    await engine.start()
    status = Status(engine)
    found = []
    for k in range(30):
        rows, labels = body(20 * k, 20, random)
        await engine.predict(engine.rows_of(rows, labelled=False))
        order = random.permutation(20)
        await engine.labels([labels[place] for place in order])
        if k == 12:
            await engine.set_operating_point({"max_fpr": 0.1})
        if snapshot and k == 17:
            await engine.housekeeping.snapshot()
        if k in (16, 29):
            shutil.copytree(folder, copies / str(k))  # as a kill would leave it
            found.append((json.dumps(engine.quality.to_json()), engine.threshold))
    told = json.loads(json.dumps(status.told(), allow_nan=False))
    await engine.stop()
    return found, told


async def recovered(folder):
    log, settings = opened(folder)
    engine = Engine(log, settings, window=50)
    await engine.start()
    found = json.dumps(engine.quality.to_json()), engine.threshold
    await engine.stop()
    return found


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_kill_changes_no_figure(tmp_path, snapshot):
    (tmp_path / "copies").mkdir()
    found, told = asyncio.run(run(tmp_path / "state", tmp_path / "copies", snapshot=snapshot))
    for k, before in zip((16, 29), found, strict=True):
        assert asyncio.run(recovered(tmp_path / "copies" / str(k))) == before
    assert asyncio.run(recovered(tmp_path / "state")) == found[-1]
    assert told["quality"]["total"]["rows"] == 580  # the first twenty could not be predicted
    assert told["quality"]["unanswered"] == 20
    assert told["quality"]["total"]["brier"] is not None
    assert told["operating"]["in_force"]
    assert told["operating"]["threshold"] == pytest.approx(found[-1][1])
    kinds = [each["kind"] for each in told["history"]]
    assert "operating point" in kinds
    assert ("snapshot" in kinds) == snapshot
    assert told["volumes"]["totals"]["predicted"] == told["volumes"]["totals"]["joined"] == 600
