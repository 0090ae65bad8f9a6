"""A service with a model that an estimator learned from a matrix: columns by number, classes as text."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pater import PATERClassifier
from pater.serve.engine import Engine
from pater.serve.retention import Retention
from pater.serve.store.records import LabelOf
from pater.serve.store.state import opened


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_labels_are_of_the_kind_of_the_classes(tmp_path: Path, kind: str) -> None:
    X = np.random.default_rng(4).normal(size=(200, 2))
    classes: Any = ["good", "bad"] if kind == "text" else [2, 5]
    labels = [classes[int(x > 0)] for x in X[:, 0]]
    PATERClassifier().fit(X, labels).save(tmp_path / "model.pater")

    async def run() -> None:
        log, settings = opened(tmp_path / "state", model=tmp_path / "model.pater")
        engine = Engine(log, settings, Retention())
        await engine.start()
        rows = [
            {"features": [[0, a], [1, b]], "label": label} for (a, b), label in zip(X.tolist(), labels, strict=True)
        ]
        assert (await engine.learn(engine.rows_of({"rows": rows[:50]}, labelled=True)))["learned"] == 50
        asked = [{"features": row["features"], "id": f"r{k}"} for k, row in enumerate(rows[50:60])]
        await engine.predict(engine.rows_of({"rows": asked}, labelled=False))
        told = await engine.labels([LabelOf(f"r{k}", labels[50 + k]) for k in range(10)])
        assert told == {"joined": 10, "unknown": []}
        assert engine.classes == sorted(classes)
        await engine.stop()

    asyncio.run(run())
