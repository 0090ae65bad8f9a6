"""The engine: what it has learned is what the log holds, whatever happens to it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pater.serve.engine import Engine
from pater.serve.errors import Refusal
from pater.serve.retention import Retention
from pater.serve.store import export
from pater.serve.store.log import Log
from pater.serve.store.records import LabelOf
from pater.serve.store.state import opened
from pater.stream import train
from pater.stream.learner import load

pytestmark = pytest.mark.filterwarnings("ignore::pater.formats.errors.Hint")
QUICK = {"algo": "so-pater-i", "options": {"probability": True}}
DRAWN = random.Random(16)


def row(draw: random.Random = DRAWN) -> dict[str, Any]:
    amount, country = round(draw.lognormvariate(3, 1), 2), draw.choice(["DE", "FR", "BR", None])
    label = int(draw.random() < (0.6 if country == "BR" and amount > 20 else 0.1))
    features = {"amount": amount, "country": country, "when": f"2026-05-{draw.randint(1, 28):02} 12:00:00"}
    return {"features": features, "label": label}


def some(n: int) -> list[dict[str, Any]]:
    return [row() for _ in range(n)]


@asynccontextmanager
async def service(path: Path, *, stops: bool = True, **options: Any) -> AsyncIterator[Engine]:
    """A service in a state directory; one that does not stop is left as after a kill."""
    keeping = Retention(**options.pop("keeping", {}))
    log, settings = opened(path, **options)
    engine = Engine(log, settings, keeping, window=50)
    await engine.start()
    try:
        yield engine
    finally:
        if stops:
            await engine.stop()
        else:
            await engine.housekeeping.stop()
            await engine.conveyor.stop()
            log.close()


def running(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path))

    run.__name__ = test.__name__
    return run


async def learn(engine: Engine, rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return await engine.learn(engine.rows_of({"rows": rows}, labelled=True), **more)


async def predict(engine: Engine, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    asked = engine.rows_of({"rows": list(rows)}, labelled=False)
    return (await engine.predict(asked))["predictions"]  # type: ignore[no-any-return]


def asked(row: dict[str, Any], name: str | None = None) -> dict[str, Any]:
    return {"features": row["features"]} | ({} if name is None else {"id": name})


def trained(folder: Path, where: Path, **settings: Any) -> bytes:
    """The model that `pater train` makes from the exported log."""
    log = Log.open_to_read(folder)
    where.mkdir()
    (where / export.EXPORTED).write_bytes(b"".join(export.lines(log)))
    begins = export.begins(log)
    initial = None if begins.model is None else log.folder.file(begins.model.file)
    log.close()
    more = settings.pop("options", {})
    options = {} if initial is not None else {**settings, **more}
    with pytest.MonkeyPatch.context() as place:
        place.chdir(where)
        train(export.EXPORTED, model="model", initial=initial, **options)
    return (where / "model").read_bytes()


@running
async def test_a_service_that_was_killed_goes_on_and_is_what_the_exported_log_comes_to(tmp_path: Path) -> None:
    state, left, content = tmp_path / "state", some(2600), b""
    names = iter(range(10_000))
    for life in range(6):
        async with service(state, stops=life in (2, 5), settings=QUICK, keeping={"snapshot_rows": 300}) as engine:
            for _ in range(4):
                await learn(engine, [left.pop() for _ in range(60)])
                late = {str(next(names)): left.pop() for _ in range(20)}
                await predict(engine, *(asked(row, name) for name, row in late.items()))
                together = [engine.labels([LabelOf(name, row["label"])]) for name, row in late.items()]
                assert all(answer == {"joined": 1, "unknown": []} for answer in await asyncio.gather(*together))
            if life == 3:
                await engine.housekeeping.snapshot()
            assert engine.rows == engine.log.position == (life + 1) * 320
            assert engine.quality.rows + engine.quality.unanswered == (life + 1) * 80
            content = await engine.model_file()
    assert content == trained(state, tmp_path / "export", **QUICK)
    async with service(state) as engine:
        assert await engine.model_file() == content
        judged = engine.quality.to_json()
    for path in (state / "models").iterdir():
        path.write_bytes(b"damaged")
    async with service(state) as engine:  # all of the log, from its first entry
        assert await engine.model_file() == content
        assert engine.quality.to_json() == judged


@running
async def test_before_anything_was_learned_rows_are_remembered(tmp_path: Path) -> None:
    async with service(tmp_path, settings={"algo": "pater-i"}) as engine:
        first = row()
        (said,) = await predict(engine, asked(first, "a"))
        assert said == {"id": "a", "label": None, "decision": None, "probability": None, "margin": None}
        with pytest.raises(Refusal, match="nothing has been learned") as refusal:
            await engine.model_file()
        assert refusal.value.status == 409
    async with service(tmp_path) as engine:  # names are settled, though nothing was learned
        with pytest.raises(Refusal, match="no column 'colour'"):
            await predict(engine, {"features": {"colour": "red"}})
        assert await engine.labels([LabelOf("a", "fraud"), LabelOf("b", "good")]) == {"joined": 1, "unknown": ["b"]}
        (said,) = await predict(engine, asked(first))
        assert said["label"] == "fraud"
        with pytest.raises(Refusal, match="the label is a list"):
            await learn(engine, [first | {"label": []}])


@running
async def test_held_back_rows_answer_as_if_the_stream_ended_there(tmp_path: Path) -> None:
    rows = some(700)
    async with service(tmp_path / "state", settings=QUICK) as engine:
        for k in range(0, 700, 70):
            await learn(engine, rows[k : k + 70])
            await predict(engine, asked(rows[0]))
        content = await engine.model_file()
        assert engine.told() == {"version": 1, "rows": 700}
        await engine.housekeeping.snapshot()
        assert not list((tmp_path / "state" / "models").iterdir())  # nothing could be resumed from there
    assert content == trained(tmp_path / "state", tmp_path / "export", **QUICK)


@running
async def test_rows_are_learned_in_steps_for_those_who_ask_alone(tmp_path: Path) -> None:
    async with service(tmp_path / "state") as engine:
        await learn(engine, some(30))
        take, found = engine.learned.take, []

        def noted(entries: Any, *, in_steps: bool) -> Any:
            found.append(in_steps)
            return take(entries, in_steps=in_steps)

        engine.learned.take = noted  # type: ignore[method-assign]
        for asks in ([], [1], [], [1, 1], [1, 2], [2, 1]):
            for n in asks:
                await predict(engine, *(asked(each) for each in some(n)))
            await learn(engine, some(1))
        assert found == [False, True, False, True, False, False]


@running
async def test_ids_and_keys_are_learned_once(tmp_path: Path) -> None:
    async with service(tmp_path, settings={"algo": "pater-i"}) as engine:
        rows = [each | {"id": f"r{k}", "label": 0} for k, each in enumerate(some(4))]
        assert await learn(engine, rows[:2], key="k1", digest=b"1") == {"learned": 2, "position": 2}
        assert await learn(engine, rows[:2], key="k1", digest=b"1") == {"learned": 2, "position": 2}
        with pytest.raises(Refusal, match="another body"):
            await learn(engine, rows, key="k1", digest=b"2")
        assert await learn(engine, rows[:3]) == {"learned": 1, "position": 3, "already": ["r0", "r1"]}
        other = rows[1] | {"label": 1}
        assert await learn(engine, [other, rows[3]]) == {"learned": 1, "position": 4, "conflicting": ["r1"]}
        await predict(engine, asked(rows[0], "p"))
        assert (await engine.labels([LabelOf("p", 1), LabelOf("p", 1), LabelOf("p", 0), LabelOf("r0", 0)])) == {
            "joined": 1,
            "unknown": [],
            "already": ["p", "r0"],
            "conflicting": ["p"],
        }
        assert engine.rows == engine.log.position == 5
        names = [asyncio.create_task(learn(engine, [row() | {"id": "once"}])) for _ in range(10)]
        assert sum(answer["learned"] for answer in await asyncio.gather(*names)) == 1


@running
async def test_rows_that_nobody_told_of_are_forgotten_or_taken_for_something(tmp_path: Path) -> None:
    for expire_as, learned in ((None, 0), ("good", 3)):
        keeping = {"remember": 100.0, "expire_as": expire_as}
        state = tmp_path / str(learned)
        async with service(state, settings={"algo": "pater-i"}, keeping=keeping) as engine:
            for name in "abc":
                await predict(engine, asked(row(), name))
            assert await engine.housekeeping.expire() == 0
            now = engine.log.now()
            engine.log.clock = lambda now=now: now + 101.0  # type: ignore[misc]
            assert await engine.housekeeping.expire() == 3
            assert engine.rows == learned
            known = "already" if learned else "unknown"
            assert (await engine.labels([LabelOf("a", "good")]))[known] == ["a"]
            engine.log.clock = lambda: 0.0  # the clock goes back
            assert engine.log.now() >= now + 101.0


@running
async def test_rows_that_cannot_be_learned_are_refused_and_the_others_are_not(tmp_path: Path) -> None:
    sound = [{"features": [[j, 1.0], [9, 2.0]], "label": j % 2} for j in range(8)]
    bad = {"features": [[3, 1e200]], "label": 1}
    settings = {"algo": "pater-i"}
    async with service(tmp_path / "state", settings=settings, keeping={"snapshot_rows": 1}) as engine:
        await learn(engine, sound)
        await engine.housekeeping.snapshot()
        parts = sound[:2], [bad], sound
        answers = await asyncio.gather(*(learn(engine, part) for part in parts), return_exceptions=True)
        assert [answer for answer in answers if not isinstance(answer, Refusal)] == [
            {"learned": 2, "position": 10},
            {"learned": 8, "position": 19},
        ]
        with pytest.raises(Refusal, match="the others were learned") as refusal:
            await learn(engine, [sound[0], bad, sound[1], bad])
        assert refusal.value.status == 422
        assert [place for place, _ in refusal.value.rows] == [1, 3]
        assert engine.rows == engine.log.position == 20
        content = await engine.model_file()
    async with service(tmp_path / "state") as engine:
        assert await engine.model_file() == content
    assert content == trained(tmp_path / "state", tmp_path / "export", **settings)


@running
async def test_a_model_is_swapped_in_and_learns_what_comes_after_it(tmp_path: Path) -> None:
    state, rows = tmp_path / "state", some(1500)
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(each) for each in rows))
    train(tmp_path / "rows.jsonl", model=tmp_path / "other", algo="arow")
    other = (tmp_path / "other").read_bytes()
    async with service(state, settings=QUICK) as engine:
        await learn(engine, rows[:1200])
        learning = [asyncio.create_task(learn(engine, [each])) for each in rows[1200:1240]]
        await asyncio.sleep(0)
        swapped = await engine.swap(other)
        assert swapped["model"] == {"version": 2, "rows": 1500}
        await asyncio.gather(*learning, *(learn(engine, [each]) for each in rows[1240:1260]))
        content = await engine.model_file()
        for wrong, status, why in (
            (b"no model", 422, "the file"),
            (other[:-1], 422, "the file"),
            (_model(tmp_path, [{"features": {"colour": "red"}, "label": 1}]), 409, "colour"),
            (_model(tmp_path, [{"features": [[1, 1.0]], "label": 1}]), 409, "numbered"),
        ):
            with pytest.raises(Refusal, match=why) as refusal:
                await engine.swap(wrong)
            assert refusal.value.status == status
        assert engine.version == 2
        assert sorted(path.name for path in (state / "models").iterdir() if "model" in path.name) == [
            "model-000002.pater"
        ]
    async with service(state) as engine:
        assert engine.told() == {"version": 2, "rows": 1500 + (engine.log.position - 1240)} or engine.version == 2
        assert await engine.model_file() == content
        assert (await predict(engine, asked(rows[0])))[0]["label"] is not None
    assert content == trained(state, tmp_path / "export")
    assert load(state / "models" / "model-000002.pater").specs[0].rule == "arow"


def _model(folder: Path, rows: list[dict[str, Any]]) -> bytes:
    (folder / "few.jsonl").write_text("\n".join(map(json.dumps, rows)))
    train(folder / "few.jsonl", model=folder / "few", algo="pater-i")
    return (folder / "few").read_bytes()


@running
async def test_the_operating_point_decides_and_the_model_is_not_touched(tmp_path: Path) -> None:
    async with service(tmp_path, settings=QUICK) as engine:
        await learn(engine, some(1500))
        late = {str(k): each for k, each in enumerate(some(400))}
        await predict(engine, *(asked(each, name) for name, each in late.items()))
        await engine.labels([LabelOf(name, each["label"]) for name, each in late.items()])
        before, content = await predict(engine, *map(asked, late.values())), await engine.model_file()
        told = await engine.set_operating_point({"max_fpr": 0.02})
        assert engine.threshold == told["threshold"]
        after = await predict(engine, *map(asked, late.values()))
        assert [each["label"] for each in before] == [each["label"] for each in after]
        assert [each["decision"] for each in after] == [int(each["margin"] >= engine.threshold) for each in after]
        assert sum(each["decision"] for each in after) < sum(each["decision"] for each in before)
        assert await engine.model_file() == content
    async with service(tmp_path) as engine:
        assert engine.operating.to_json() == {"max_fpr": 0.02}
        await engine.set_operating_point({})
        assert engine.threshold is None


@running
async def test_labels_that_are_no_classes(tmp_path: Path) -> None:
    async with service(tmp_path / "a", settings={"algo": "pater-i"}, keeping={"most_classes": 3}) as engine:
        with pytest.raises(Refusal, match="--max-classes"):
            await learn(engine, [each | {"label": k} for k, each in enumerate(some(5))])
        assert engine.log.position == 0
        few = some(3)
        await learn(engine, [each | {"label": k % 2} for k, each in enumerate(few)])
        for k in range(5):  # labels of unknown ids, and repeated ones of an id, are not classes
            assert (await engine.labels([LabelOf("nobody", 10 + k)]))["unknown"] == ["nobody"]
        await learn(engine, [few[0] | {"id": "known", "label": 0}])
        assert (await learn(engine, [few[0] | {"id": "known", "label": 77}]))["learned"] == 0
        await learn(engine, [few[0] | {"label": 2}])
        with pytest.raises(Refusal, match="--max-classes"):
            await learn(engine, [few[0] | {"label": 3}])
        assert engine.classes == [0, 1, 2]
    point = {"algo": "pater-i", "options": {"operating_point": {"max_fpr": 0.1}}}
    async with service(tmp_path / "b", settings=point) as engine:
        await learn(engine, [each | {"label": k % 2} for k, each in enumerate(some(5))])
        with pytest.raises(Refusal, match="operating point"):
            await learn(engine, [row() | {"label": 7}])


@running
async def test_true_and_false_are_labels_where_no_other_numbers_are(tmp_path: Path) -> None:
    async with service(tmp_path / "a", settings={"algo": "pater-i"}) as engine:
        await learn(engine, [each | {"label": k % 2 == 0} for k, each in enumerate(some(4))])
        await learn(engine, [row() | {"label": 1}])
        assert engine.classes == [0, 1]
    async with service(tmp_path / "b", settings={"algo": "pater-i"}) as engine:
        with pytest.raises(Refusal, match="row 1: the label is true, but labels here are numbers such as 2; write the"):
            await learn(engine, [row() | {"label": 2}, row() | {"label": True}])
        await learn(engine, [each | {"label": 1 + k % 2} for k, each in enumerate(some(4))])
        await predict(engine, asked(row(), "a"))
        for label in (True, False):
            told = f"row 0: the label is {str(label).lower()}, but labels here are numbers such as 2"
            with pytest.raises(Refusal, match=told):
                await learn(engine, [row() | {"label": label}])
            with pytest.raises(Refusal, match=told):
                await engine.labels([LabelOf("a", label)])
        assert engine.log.position == 4
    async with service(tmp_path / "c", settings={"algo": "pater-i"}) as engine:  # as texts they stay as they are
        await learn(engine, [each | {"label": ("yes", True)[k % 2]} for k, each in enumerate(some(4))])
        assert engine.classes == ["True", "yes"]
