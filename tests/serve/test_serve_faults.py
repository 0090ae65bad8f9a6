"""Faults while a service learns: the model stays that of the log, and the service keeps running."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Coroutine
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from patience import WAIT
from test_serve_engine import asked, learn, predict, service, trained

from pater.serve import housekeeping
from pater.serve.errors import Refusal
from pater.serve.rows.kinds import JSON
from pater.serve.store import export
from pater.serve.store.check import check
from pater.serve.store.log import Log
from pater.serve.store.records import LabelOf
from pater.serve.store.state import trim
from pater.serve.store.transaction import Transaction
from pater.serve.store.writer import StorageFull, write_now
from pater.stream import train

pytestmark = pytest.mark.filterwarnings("ignore::pater.formats.errors.Hint")
PLAIN: dict[str, Any] = {"algo": "pater-i"}


def numbered(n: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"features": [[j % 5, 1.0], [9, j % 3]], "label": j % 2} for j in range(start, start + n)]


BAD = {"features": [[3, 1e200]], "label": 1}


def running(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs in an event loop, with a time limit."""

    async def bounded(*arguments: Any) -> None:
        async with asyncio.timeout(WAIT):
            await test(*arguments)

    def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        asyncio.run(bounded(*(tmp_path, monkeypatch, caplog)[: len(signature(test).parameters)]))

    run.__name__ = test.__name__
    return run


async def refused(call: Any) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await call
    return refusal.value


async def same_after_a_restart(state: Path, engine_content: bytes, where: Path, **settings: Any) -> None:
    """After a restart, model and quality are those of the killed service, and of the exported log."""
    async with service(state) as engine:
        assert await engine.model_file() == engine_content
    assert trained(state, where, **settings) == engine_content


# Rows that the model refuses


@running
async def test_the_first_rows_of_all_are_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    for _ in range(2):
        async with service(state, settings=PLAIN, stops=False) as engine:
            assert (await refused(learn(engine, [BAD, BAD]))).status == 422
            assert engine.told() == {"version": 1, "rows": 0}
            assert (await refused(engine.model_file())).status == 409
            assert engine.log.position == 0
    async with service(state, stops=False) as engine:
        await learn(engine, numbered(6))
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export", **PLAIN)


def stream(**columns: list[Any]) -> bytes:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@running
async def test_rows_of_arrow_are_refused(tmp_path: Path) -> None:
    state, plain = tmp_path / "state", {"algo": "pater-i", "encoding": "plain"}
    all_of_it, some_of_it = stream(a=[1e308, 1e308], label=[1, 0]), stream(a=[1.0, 1e308, 2.0], label=[1, 0, 0])
    sound = stream(a=[3.0, 4.0], label=[0, 1])
    async with service(state, settings=plain, stops=False) as engine:

        async def send(content: bytes) -> Any:
            return await engine.learn(engine.rows_of(content, labelled=True, arrow=True))

        for content, places in ((all_of_it, [0, 1]), (some_of_it, [1]), (all_of_it, [0, 1])):
            assert [place for place, _ in (await refused(send(content))).rows] == places
        assert await send(sound) == {"learned": 2, "position": 4}
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export", **plain)


@running
async def test_a_request_that_was_refused_is_refused_again_by_its_key(tmp_path: Path) -> None:
    async with service(tmp_path, settings=PLAIN) as engine:
        await learn(engine, numbered(4))
        calls = [learn(engine, [numbered(1)[0], BAD], key="k", digest=b"1") for _ in range(3)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [(type(each), each.status) for each in answers] == [(Refusal, 422)] * 3  # type: ignore[union-attr]
        assert (await refused(learn(engine, [numbered(1)[0], BAD], key="k", digest=b"1"))).status == 422
        assert engine.rows == engine.log.position == 5


@running
async def test_who_sends_rows_that_are_refused_does_not_have_all_learned_again_each_time(tmp_path: Path) -> None:
    async with service(tmp_path, settings=PLAIN) as engine:
        await learn(engine, numbered(20))
        await refused(learn(engine, [BAD]))
        async with asyncio.timeout(WAIT):
            while engine.housekeeping.saved_position != 20:
                await asyncio.sleep(0.05)


@running
async def test_a_row_that_was_refused_may_come_again_under_its_id(tmp_path: Path) -> None:
    async with service(tmp_path, settings=PLAIN) as engine:
        good = numbered(3)
        await learn(engine, [good[0] | {"id": "a"}])
        refusal = await refused(learn(engine, [good[0] | {"id": "a"}, good[1] | {"id": "b"}, BAD | {"id": "c"}]))
        assert [place for place, _ in refusal.rows] == [2]  # in the caller's numbering, though the first is known
        again = await learn(engine, [good[1] | {"id": "b"}, good[2] | {"id": "c"}])
        assert again == {"learned": 1, "position": 3, "already": ["b"]}


@running
async def test_marks_of_refused_rows_wait_for_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, refuse, is_full = tmp_path / "state", Transaction.refuse, True

    def full(self: Transaction, *arguments: Any) -> int:
        if is_full:
            raise MemoryError  # like a full disk, not the fault of the write
        return refuse(self, *arguments)

    monkeypatch.setattr(Transaction, "refuse", full)
    async with service(state, settings=PLAIN, stops=False, keeping={"snapshot_rows": 1}) as engine:
        await learn(engine, numbered(4))
        refusal = await refused(learn(engine, [BAD]))
        assert refusal.status == 422  # not 507: that would mean that nothing is on disk
        assert (await refused(engine.housekeeping.snapshot())).status == 507
        assert (await refused(engine.swap(b""))).status in (422, 507)
    async with service(state, stops=False) as engine:  # nor is it marked at the start
        assert engine.rows == 4
        assert engine.log.position == 5
        is_full = False
        assert await learn(engine, numbered(2)) == {"learned": 2, "position": 7}
        assert engine.rows == engine.log.position == 6
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export", **PLAIN)


@running
async def test_a_log_is_trimmed_after_rows_were_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with service(state, settings=PLAIN) as engine:
        await asyncio.gather(
            *(learn(engine, part) for part in (numbered(4), [BAD], [BAD], numbered(2))), return_exceptions=True
        )
    assert trim(state)[0] == 4
    async with service(state, stops=False) as engine:
        await learn(engine, numbered(3))
        assert [each.position for each in engine.log.snapshots()] == [6]
        content = await engine.model_file()
    log = Log.open_to_read(state)
    assert len(list(export.lines(log))) == 1 + 3
    log.close()
    await same_after_a_restart(state, content, tmp_path / "export")


# Learning that fails


@running
async def test_nothing_is_built_on_learning_that_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    async with service(state, settings=PLAIN, keeping={"snapshot_rows": 1}) as engine:
        await learn(engine, numbered(600))
        await engine.housekeeping.snapshot()
        take, n = engine.learned.take, 0

        def fails(entries: Any) -> Any:
            for pause in take(entries):
                yield pause
                raise RuntimeError("half of it is learned")

        monkeypatch.setattr(engine.learned, "take", fails)
        first = asyncio.create_task(learn(engine, numbered(600, 600)))
        await asyncio.sleep(0.001)
        second = asyncio.create_task(learn(engine, numbered(5, 1200)))
        for task in (first, second):
            assert "do not send them again" in (await refused(task)).reason
        assert (await refused(learn(engine, numbered(1)))).status == 503
        assert (await refused(engine.model_file())).status == 503
        assert (await refused(engine.swap(b"a model"))).status == 503
        assert not engine.facts().learning
        n = len(await predict(engine, asked(numbered(1)[0])))
        assert n == 1
    async with service(state, stops=False) as engine:  # there was no snapshot of it
        assert engine.rows == engine.log.position == 1205
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export", **PLAIN)


@running
async def test_who_looks_at_the_model_may_go_away_or_fail(tmp_path: Path) -> None:
    async with service(tmp_path, settings=PLAIN) as engine:
        learning = asyncio.create_task(learn(engine, numbered(3000)))
        while not engine.conveyor._is_busy:
            await asyncio.sleep(0)
        gone, failed = asyncio.create_task(engine.model_file()), engine.conveyor.at_rest(lambda: 1 // 0)
        failing = asyncio.create_task(failed)
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(ZeroDivisionError):
            await failing
        assert (await learning)["learned"] == 3000
        assert (await learn(engine, numbered(1)))["learned"] == 1


# Models that are swapped in


def other_model(folder: Path) -> bytes:
    folder.mkdir()
    (folder / "rows.libsvm").write_text("".join(f"{k % 2} 0:1 {1 + k % 5}:{k % 3}\n" for k in range(40)))
    train(folder / "rows.libsvm", model=folder / "other", algo="arow")
    return (folder / "other").read_bytes()


@running
async def test_what_is_on_its_way_back_from_the_disk_is_learned_before_a_swap(tmp_path: Path) -> None:
    state, other = tmp_path / "state", other_model(tmp_path / "other")
    async with service(state, settings=PLAIN, stops=False) as engine:
        await learn(engine, numbered(10))
        back = engine.conveyor._on_disk

        def late(group: Any) -> None:  # in the writer's thread, as if the system had suspended it
            if any(job.learns for job, _ in group):
                engine.conveyor._loop.call_soon_threadsafe(engine.conveyor._loop.call_later, 0.05, back, group)
            else:
                back(group)

        engine.conveyor.writer._committed = late
        learning = asyncio.create_task(learn(engine, numbered(2000)))
        while engine.log.position != 2010:
            await asyncio.sleep(0.001)
        assert (await engine.swap(other))["model"] == {"version": 2, "rows": 40}
        assert (await learning)["learned"] == 2000
        assert engine.rows == 40  # the previous model has learned them
        content = await engine.model_file()
    async with service(state) as engine:
        assert await engine.model_file() == content


@running
async def test_a_swap_ends_though_its_caller_goes_away_and_others_predict(tmp_path: Path) -> None:
    state, other = tmp_path / "state", other_model(tmp_path / "other")
    async with service(state, settings=PLAIN) as engine:
        await learn(engine, numbered(10))
        ended = False

        async def predicting(name: str) -> None:
            k = 0
            while not ended:
                k += 1
                await predict(engine, asked(numbered(1)[0], f"{name}{k}"))

        others = [asyncio.create_task(predicting(name)) for name in "abcdefgh"]
        swap = asyncio.create_task(engine.swap(other))
        while not engine.is_swapping:
            await asyncio.sleep(0)
        swap.cancel()
        async with asyncio.timeout(WAIT):
            await learn(engine, numbered(3))  # waits for the new model
        ended = True
        await asyncio.gather(*others)
        assert engine.told() == {"version": 2, "rows": 43}
        content = await engine.model_file()
    async with service(state) as engine:
        assert engine.told() == {"version": 2, "rows": 43}
        assert await engine.model_file() == content


@running
async def test_rows_that_were_read_before_a_swap_are_read_again_for_the_model_that_came(tmp_path: Path) -> None:
    state, plain = tmp_path / "state", {"algo": "pater-i", "encoding": "plain"}
    rows = [{"features": {"a": k % 7, "b": -(k % 3)}, "label": k % 2} for k in range(300)]
    turned = [{"b": row["features"]["b"], "a": row["features"]["a"], "label": row["label"]} for row in rows]
    (tmp_path / "turned.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in turned))
    train(tmp_path / "turned.jsonl", model=tmp_path / "other", label="label", **plain)
    async with service(state, settings=plain, stops=False) as engine:
        await learn(engine, rows)
        read = engine.rows_of({"rows": rows[:200]}, labelled=True)
        unlabelled = engine.rows_of({"rows": [asked(rows[1])]}, labelled=False)
        await engine.swap((tmp_path / "other").read_bytes())
        assert (await engine.learn(read))["learned"] == 200
        assert (await refused(engine.predict(unlabelled))).status == 503
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export")


@running
async def test_an_operating_point_outlives_classes_that_it_does_not_fit(tmp_path: Path) -> None:
    for wish in ({"threshold": 0.5}, {"cost": {"0": 1.0, "1": 5.0}}):
        state = tmp_path / str(next(iter(wish)))
        async with service(state, settings=PLAIN) as engine:
            await learn(engine, numbered(10))
            await engine.set_operating_point(wish)
            await learn(engine, [numbered(1)[0] | {"label": 2}])
        async with service(state) as engine:
            assert engine.operating.to_json() == wish
            assert engine.threshold is None
            assert len(await predict(engine, asked(numbered(1)[0]))) == 1


# What columns and labels are


@running
async def test_labels_of_unknown_ids_settle_what_labels_are_here_and_on_the_disk(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with service(state, settings=PLAIN, stops=False) as engine:
        await predict(engine, {"features": {"a": 1.0}, "id": "a"})
        assert (await engine.labels([LabelOf("nobody", "x")]))["unknown"] == ["nobody"]
        await learn(engine, [{"features": {"a": k}, "label": str(k % 2)} for k in range(1200)])
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export", **PLAIN)


@running
async def test_what_was_settled_by_a_request_that_fails_is_written_by_the_next(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with service(state, settings=PLAIN, stops=False) as engine:
        rows = [{"features": {"a": k}, "label": f"{k % 2}"} for k in range(1200)]
        first = asyncio.create_task(predict(engine, {"features": {"a": 1.0}, "id": "a"}))
        await asyncio.sleep(0)
        asked_ = engine.rows_of({"rows": rows[:1]}, labelled=True)  # settles that labels are text

        def full(transaction: Transaction) -> None:
            raise StorageFull("the disk is full")

        assert (await refused(engine.learn(asked_, beside=full))).status == 507
        await first
        await learn(engine, rows)
        content = await engine.model_file()
    await same_after_a_restart(state, content, tmp_path / "export", **PLAIN)


# Disks


@running
async def test_a_snapshot_that_cannot_be_written_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(housekeeping, "LONGEST_REST", 0.1)
    async with service(tmp_path, settings=PLAIN, keeping={"snapshot_rows": 1}) as engine:
        shutil.rmtree(tmp_path / "models")
        await learn(engine, numbered(10))
        await predict(engine, asked(numbered(1)[0], "old"))
        now = engine.log.now()
        engine.log.clock = lambda: now + 40 * 86_400.0
        await asyncio.sleep(1.8)
        async with asyncio.timeout(WAIT):
            while engine.log.count("pending"):  # independent of snapshots
                await asyncio.sleep(0.05)
        assert engine.housekeeping.saved_at is None
        assert len([record for record in caplog.records if "tries again" in record.message]) == 1  # after a pause
        assert not engine.housekeeping._task.done()
        (tmp_path / "models").mkdir()
        await engine.housekeeping.snapshot()
        assert engine.housekeeping.saved_position == 10
        shutil.rmtree(tmp_path / "models")
        await learn(engine, numbered(10))
    async with service(tmp_path) as engine:  # it has stopped all the same
        assert engine.rows == 20


@running
async def test_a_service_starts_on_a_full_disk_and_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with service(tmp_path, settings=PLAIN) as engine:
        await learn(engine, numbered(10))
    event, is_full = Transaction.event, True

    def full(self: Transaction, *arguments: Any) -> int:
        if is_full:
            raise MemoryError
        return event(self, *arguments)

    monkeypatch.setattr(Transaction, "event", full)
    async with service(tmp_path) as engine:
        assert len(await predict(engine, asked(numbered(1)[0]))) == 1
        assert not engine.facts().learning
        is_full = False
        await learn(engine, numbered(1))
        assert engine.facts().learning


# Reading while others write


def entered(state: Path, n: int) -> Log:
    log = Log.open(state)
    write_now(log, lambda t: [t.append(JSON, b'{"features":[[1,1.0]],"label":1}\n', 1) for _ in range(n)])
    return log


def test_who_reads_slowly_does_not_keep_the_log_from_being_folded(tmp_path: Path) -> None:
    log = entered(tmp_path, 600)
    slow = Log.open_to_read(tmp_path)
    entries = slow.entries()
    assert next(entries).number == 1
    assert log.connection is not None
    assert log.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0  # nobody blocks it
    assert [entry.number for entry in entries] == list(range(2, 601))
    slow.close()
    log.close()


def test_a_log_is_sound_though_it_is_written_while_it_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, entries = entered(tmp_path, 3), Log.entries

    def meanwhile(self: Log, *arguments: Any) -> Any:
        yield from entries(self, *arguments)
        write_now(log, lambda t: (t.append(JSON, b"{}\n", 1), t.remember([("a", b"{}", None)])))

    monkeypatch.setattr(Log, "entries", meanwhile)
    assert check(tmp_path).wrong == []
    log.close()


@running
async def test_all_that_is_too_old_is_forgotten_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    async with service(tmp_path, settings=PLAIN, keeping={"remember": 100.0}) as engine:
        rows = numbered(50)
        await learn(engine, [row | {"id": f"done{k}"} for k, row in enumerate(rows)])
        await predict(engine, *(asked(row, f"waits{k}") for k, row in enumerate(rows[:7])))
        now = engine.log.now()
        engine.log.clock = lambda: now + 101.0
        assert await engine.housekeeping.expire() == 7
        assert engine.log.count("pending") == engine.log.count("done") == 0


@running
async def test_rows_that_go_nowhere_settle_nothing(tmp_path: Path) -> None:
    async with service(tmp_path, settings=PLAIN) as engine:
        assert (await predict(engine, {"features": {"a typo": 1.0}}))[0]["label"] is None
        assert not engine.is_settled
        await learn(engine, numbered(3))


def test_a_state_directory_is_for_its_owner(tmp_path: Path) -> None:
    entered(tmp_path / "state", 1).close()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
