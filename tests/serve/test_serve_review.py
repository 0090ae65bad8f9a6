"""What a new user of the service stumbles over."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from pater.formats.errors import InputError
from pater.serve.bodies import Limits, check_ids
from pater.serve.engine import Engine
from pater.serve.keeping import Keeping
from pater.serve.quality import Answers, Quality
from pater.serve.state import opened

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


async def _started(path: Path, expire_as: str | None, rows: list[dict[str, Any]]) -> None:
    log, settings = opened(path, settings={"algo": "pa", "encoding": "plain"})
    try:
        engine = Engine(log, settings, Keeping(expire_as=expire_as))
        await engine.start()
    except BaseException:
        log.close()
        raise
    if rows:
        await engine.learn(engine.rows_of({"rows": rows}, labelled=True))
    await engine.stop()


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
