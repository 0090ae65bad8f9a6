"""Pitfalls for new users of the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pater.formats.errors import InputError
from pater.serve.engine import Engine
from pater.serve.errors import Refusal
from pater.serve.quality.quality import Answers, Quality
from pater.serve.retention import Retention
from pater.serve.rows.bodies import Limits, check_ids
from pater.serve.store.state import opened

pytestmark = pytest.mark.filterwarnings("ignore::pater.formats.errors.Hint")


def test_of_two_classes_of_which_one_has_come_the_rates_are_those_of_the_second() -> None:
    quality = Quality(window=10)
    quality.add(Answers([1.0] * 4, [0] * 4, [0] * 4, [-1.0] * 4, [None] * 4, [0, 1]))
    told = quality.told(quality.total)
    assert (told["fpr"], told["fnr"], told["positive"]) == (0.0, None, 0.0)
    quality.add(Answers([1.0], [0], [1], [1.0], [None], [0, 1]))
    told = quality.told(quality.total)
    assert (told["fpr"], told["fnr"], told["positive"]) == (0.2, None, 0.0)


def test_a_number_that_is_no_id_is_not_called_empty() -> None:
    faults: dict[int, str] = {}
    check_ids([0, "", None, "a", 7, False], Limits(), faults)
    assert faults == {
        0: "the id is a number; it must be text",
        1: "the id is empty; it must be text",
        4: "the id is a number; it must be text",
        5: "the id is true or false; it must be text",
    }


PLAIN = {"algo": "pa", "encoding": "plain"}
AT_A_COST = {"options": {"operating_point": {"cost": {"false_positive": 1, "false_negative": 20}}}}


@asynccontextmanager
async def started(path: Path, settings: dict[str, Any], expire_as: str | None = None) -> AsyncIterator[Engine]:
    log, kept = opened(path, settings=settings)
    try:
        engine = Engine(log, kept, Retention(expire_as=expire_as))
        await engine.start()
    except BaseException:
        log.close()
        raise
    try:
        yield engine
    finally:
        await engine.stop()


async def learn(engine: Engine, rows: list[dict[str, Any]]) -> None:
    await engine.learn(engine.rows_of({"rows": rows}, labelled=True))


async def _started(path: Path, expire_as: str | None, rows: list[dict[str, Any]]) -> None:
    async with started(path, PLAIN, expire_as) as engine:
        if rows:
            await learn(engine, rows)


def test_rows_expire_as_a_label_that_can_be_learned(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"features": {"x": k}, "label": k % 2} for k in range(8)]
    asyncio.run(_started(tmp_path, None, rows))
    with pytest.raises(InputError, match=r"cannot expire as 'good': the label 'good' is text.*Name another label"):
        asyncio.run(_started(tmp_path, "good", []))
    with caplog.at_level(logging.WARNING, "pater.serve"):
        asyncio.run(_started(tmp_path, "0", []))
        assert not caplog.messages
        asyncio.run(_started(tmp_path, "2", []))
    assert caplog.messages == ["rows will expire as '2', but labels so far are 0, 1"]


def test_a_start_knows_the_labels_of_rows_that_are_held_back(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path, AT_A_COST) as engine:
            await learn(engine, [{"features": {"x": k}, "label": k % 2} for k in range(8)])
        async with started(tmp_path, AT_A_COST) as engine:
            with pytest.raises(Refusal, match="one more than the 2 classes"):
                await learn(engine, [{"features": {"x": 1}, "label": 2}])
            await learn(engine, [{"features": {"x": 1}, "label": 1}])
        async with started(tmp_path, AT_A_COST) as engine:
            assert engine.classes == [0, 1]

    asyncio.run(run())


def test_a_column_that_is_called_as_a_part_of_the_margin_keeps_its_own_part(tmp_path: Path) -> None:
    async def run() -> None:
        async with started(tmp_path, PLAIN) as engine:
            rows = [{"features": {"(base)": k % 7, "x": k % 5}, "label": int(k % 7 > 3)} for k in range(40)]
            await learn(engine, rows)
            asked = engine.rows_of({"rows": [{"features": rows[3]["features"]}]}, labelled=False)
            (told,) = (await engine.predict(asked, explain=True))["predictions"]
            assert set(told["contributions"]) == {"(base)", "x", "((base))", "(rounding)"}
            assert sum(told["contributions"].values()) == pytest.approx(told["margin"])

    asyncio.run(run())
