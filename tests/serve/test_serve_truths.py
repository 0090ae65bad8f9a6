"""Truth values that a model spells in another way: judged, counted and joined as the classes they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pater import PATERClassifier
from pater.serve.engine import Engine
from pater.serve.quality.quality import Answers, Quality
from pater.serve.retention import Retention
from pater.serve.store.records import LabelOf
from pater.serve.store.state import opened

rng = np.random.default_rng(4)
N = 400
TRUE = rng.integers(0, 2, N)
MARGINS = rng.normal(size=N) + 2.0 * TRUE - 1.0
SAID = (MARGINS > 0).astype(int)
TOLD = ("accuracy", "balanced_accuracy", "fpr", "fnr", "positive", "brier", "log_loss")


def answers(words: tuple[str, ...], labels: tuple[str, ...], part: slice = slice(0, N)) -> Answers:
    """Some answers of a model whose classes are these words, with labels in other spellings."""
    probabilities: list[Any] = (1 / (1 + np.exp(-MARGINS[part]))).tolist()
    if len(words) > 2:
        probabilities = [{words[0]: 1 - p, words[1]: p, **dict.fromkeys(words[2:], 0.0)} for p in probabilities]
    return Answers(
        np.arange(float(N))[part].tolist(),
        [labels[k] for k in TRUE[part]],
        [words[k] for k in SAID[part]],
        [None] * len(probabilities) if len(words) > 2 else MARGINS[part].tolist(),
        probabilities,
        words,
    )


def scores(quality: Quality) -> dict[str, Any]:
    told = quality.told(quality.total)
    return {name: told[name] for name in TOLD}


@pytest.mark.parametrize("more", [(), ("unsure",)])
@pytest.mark.parametrize("labels", [("False", "True"), ("false", "true")])
def test_rates_are_those_of_one_spelling(labels: tuple[str, str], more: tuple[str, ...]) -> None:
    alike, other = Quality(), Quality()
    alike.add(answers(("no", "yes", *more), ("no", "yes")))
    other.add(answers(("FALSE", "TRUE", *more), labels))
    assert scores(other) == scores(alike)
    assert other.margins.to_json() == alike.margins.to_json()
    assert other.classes == ["FALSE", "TRUE", *more]
    assert sorted(other.labels) == ["FALSE", "TRUE"]
    assert other.n_alarms == alike.n_alarms


def test_a_model_with_another_spelling_takes_over() -> None:
    alike, other = Quality(), Quality()
    for words, part in ((("false", "true"), slice(0, 200)), (("False", "True"), slice(200, N))):
        alike.add(answers(("no", "yes"), ("no", "yes"), part))
        other.add(answers(words, ("False", "True"), part))
        alike.swapped(["no", "yes"])
        other.swapped(["False", "True"])
        other = Quality.from_json(other.to_json())
    assert scores(other) == scores(alike)
    assert sorted(other.labels) == ["false", "true"]


@pytest.mark.parametrize("options", [{}, {"operating_point": {"max_fpr": 0.1}}])
def test_a_service_of_a_model_of_before(tmp_path: Path, options: dict[str, Any]) -> None:
    """Labels are not further classes, and predictions are judged by them."""
    X = rng.normal(size=(200, 2))
    table = pd.DataFrame(X, columns=["a", "b"])
    words = np.array(["false", "true"])[(X[:, 0] > 0).astype(int)]
    PATERClassifier(probability=True, **options).fit(table, words).save(tmp_path / "model.pater")

    async def run() -> dict[str, Any]:
        log, settings = opened(tmp_path / "state", model=tmp_path / "model.pater")
        engine = Engine(log, settings, Retention(), window=50)
        await engine.start()
        rows = [{"features": {"a": a, "b": b}, "id": f"r{k}"} for k, (a, b) in enumerate(X[:100].tolist())]
        await engine.predict(engine.rows_of({"rows": rows}, labelled=False))
        labels = [
            LabelOf(f"r{k}", [bool(X[k, 0] > 0), str(X[k, 0] > 0), str(X[k, 0] > 0).lower()][k % 3]) for k in range(100)
        ]
        assert await engine.labels(labels) == {"joined": 100, "unknown": []}
        again = await engine.labels([labels[0]])
        assert again["already"] == ["r0"]
        told = engine.quality.told(engine.quality.total)
        assert engine.classes == ["false", "true"]
        await engine.stop()
        return told

    told = asyncio.run(run())
    assert [each["class"] for each in told["of_class"]] in (["false", "true"], ["true", "false"])
    assert told["rows"] == 100
    assert told["fpr"] + told["fnr"] < 0.5
