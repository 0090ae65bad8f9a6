"""Messages of a topic are learned exactly once, whatever happens to the process that learns them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import signal
import subprocess
import sys
import time

import pytest
from patience import WAIT

pytest.importorskip("confluent_kafka", reason="needs Kafka's client: pip install 'pater[kafka]'")

from kafka_broker import Broker

from pater.cli import main
from pater.serve.consume import LEFT_OUT, MOST_NAMED, Consumption
from pater.serve.engine import Engine
from pater.serve.errors import Refusal
from pater.serve.kafka import Address, Topic
from pater.serve.store.log import Log
from pater.serve.store.state import opened
from pater.serve.store.writer import write_now
from pater.serve.web.limits import Limits


@pytest.fixture(scope="module")
def broker():
    return Broker()


def row(k, label=None, **more):
    label = "yes" if k % 3 == 0 else "no" if label is None else label
    return json.dumps({"features": {"amount": k, "country": "DE" if k % 3 else "FR"}, "label": label, **more})


@contextlib.asynccontextmanager
async def consuming(folder, url):
    """An engine that learns from a topic during the block."""
    log, settings = opened(folder)
    engine = Engine(log, settings)
    await engine.start()
    consumption = Consumption(engine, Address.of(url), Limits())
    task = asyncio.create_task(consumption.run())
    try:
        yield engine
    finally:
        consumption.stop()
        await asyncio.wait_for(task, WAIT)
        await engine.stop()


async def until(condition, seconds=WAIT):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come to be"
        await asyncio.sleep(0.02)


def offsets(folder):
    log = Log.open_to_read(folder)
    try:
        return {part: following for (_, part), following in log.offsets().items() if following}
    finally:
        log.close()


def events(engine, kind):
    return [event.content for event in engine.log.events() if event.kind == kind]


def amounts(folder):
    """The rows of the log, in order."""
    log = Log.open_to_read(folder)
    try:
        return [json.loads(line)["features"]["amount"] for entry in log.entries() for line in entry.lines()]
    finally:
        log.close()


def test_messages_are_learned_once_over_restarts(broker, tmp_path):
    url = f"kafka://{broker.address}/restarts"

    async def learn(n):
        async with consuming(tmp_path / "state", url) as engine:
            await until(lambda: engine.log.position >= n)

    broker.send("restarts", *map(row, range(20)))
    broker.send("restarts", *map(row, range(20, 30)), part=2)
    asyncio.run(learn(30))
    assert offsets(tmp_path / "state") == {0: 20, 2: 10}
    broker.send("restarts", *map(row, range(30, 40)), part=1)
    asyncio.run(learn(40))
    assert offsets(tmp_path / "state") == {0: 20, 1: 10, 2: 10}
    assert sorted(amounts(tmp_path / "state")) == list(range(40))


BAD = [
    ("not JSON at all", "it is not JSON"),
    (None, "it is not JSON"),
    ("[1, 2]", "it is not an object"),
    (row(1).replace("amount", "amuont"), "amuont"),
    ('{"features": {"amount": 1}}', "label"),
    ('{"label": "yes"}', "id"),
    ('{"features": {"amount": NaN}, "label": "yes"}', "it is not JSON"),
]


def test_a_bad_message_is_named_and_left_out(broker, tmp_path, caplog):
    broker.send("bad", row(0), row(1))

    async def learn():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/bad") as engine:
            await until(lambda: engine.log.position == 2)
            broker.send("bad", row(2), *(text for text, _ in BAD), row(3))
            await until(lambda: engine.log.position == 4)
            return engine.log.meta(LEFT_OUT)["bad"]

    with caplog.at_level(logging.WARNING, "pater.serve"):
        told = asyncio.run(learn())
    assert told["n"] == len(BAD)
    named = {each["offset"]: each for each in told["latest"]}
    assert sorted(named) == list(range(3, 3 + len(BAD)))
    for place, (_, words) in enumerate(BAD):
        assert named[3 + place]["partition"] == 0
        assert words in named[3 + place]["reason"]
    assert amounts(tmp_path / "state") == [0, 1, 2, 3]
    assert offsets(tmp_path / "state") == {0: 4 + len(BAD)}
    assert "partition 0: message 3 is left out: it is not JSON" in caplog.text


def test_a_flood_of_bad_messages_is_counted_and_the_latest_are_named(broker, tmp_path, capsys):
    broker.send("flood", *["nonsense"] * 300, row(0), *["nonsense"] * 300)

    async def learn():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/flood") as engine:
            await until(lambda: engine.log.offsets().get(("flood", 0)) == 601)
            assert {event.kind for event in engine.log.events()} == {"begin", "start"}
            return engine.log.meta(LEFT_OUT)["flood"]

    told = asyncio.run(learn())
    assert told["n"] == 600
    assert [each["offset"] for each in told["latest"]] == list(range(601 - MOST_NAMED, 601))
    with pytest.raises(SystemExit, match="0"):
        main(["log", "info", str(tmp_path / "state")])
    assert "messages of the topic flood left out: 600\n" in capsys.readouterr().out


def test_labels_that_come_late(broker, tmp_path, caplog):
    broker.send("labels", row(0), row(1))

    async def learn():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/labels") as engine:
            await until(lambda: engine.log.position == 2)
            asked = {"rows": [{"id": "t1", "features": {"amount": 7, "country": "FR"}}]}
            await engine.predict(engine.rows_of(asked, labelled=False))
            broker.send("labels", '{"id": "t1", "label": "yes"}', '{"id": "t9", "label": "no"}', row(3))
            await until(lambda: engine.log.position == 4)
            broker.send("labels", '{"id": "t1", "label": "yes"}')  # again
            await until(lambda: engine.log.offsets()["labels", 0] == 6)
            return engine.log.position

    with caplog.at_level(logging.WARNING, "pater.serve"):
        assert asyncio.run(learn()) == 4
    assert amounts(tmp_path / "state") == [0, 1, 7, 3]
    assert "unknown" in caplog.text
    assert "t9" in caplog.text


def test_a_full_disk_puts_learning_off(broker, tmp_path, monkeypatch):
    monkeypatch.setattr("pater.serve.consume.PAUSE", 0.05)
    broker.send("full", *map(row, range(5)))
    learn, refusals = Engine.learn, iter([Refusal(507, "the disk is full"), Refusal(429, "busy")])

    async def refused_at_first(engine, rows, *rest, **more):
        for refusal in refusals:
            raise refusal
        return await learn(engine, rows, *rest, **more)

    monkeypatch.setattr(Engine, "learn", refused_at_first)

    async def run():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/full") as engine:
            await until(lambda: engine.log.position == 5)
            assert engine.log.meta(LEFT_OUT) is None

    asyncio.run(run())
    assert amounts(tmp_path / "state") == list(range(5))


def test_rows_that_the_model_refuses_after_they_were_written_are_not_sent_again(broker, tmp_path, monkeypatch):
    broker.send("after", *map(row, range(5)))
    learn = Engine.learn

    async def refused_at_last(engine, rows, *rest, **more):
        await learn(engine, rows, *rest, **more)
        raise Refusal(422, "numbers too large", rows=[(0, "too large")])

    monkeypatch.setattr(Engine, "learn", refused_at_last)

    async def run():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/after") as engine:
            await until(lambda: engine.log.offsets().get(("after", 0)) == 5)
            await asyncio.sleep(0.2)

    asyncio.run(run())
    assert amounts(tmp_path / "state") == list(range(5))


def test_a_refusal_that_names_no_row_is_for_one_message_only(broker, tmp_path, monkeypatch):
    broker.send("whole", *map(row, range(5)))
    rows_of = Engine.rows_of

    def refused(engine, body, **more):
        if any(each["features"]["amount"] == 3 for each in body["rows"]):
            raise Refusal(422, "one class too many")
        return rows_of(engine, body, **more)

    monkeypatch.setattr(Engine, "rows_of", refused)

    async def run():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/whole") as engine:
            await until(lambda: engine.log.offsets().get(("whole", 0)) == 5)
            return engine.log.meta(LEFT_OUT)["whole"]

    assert asyncio.run(run()) == {"n": 1, "latest": [{"partition": 0, "offset": 3, "reason": "one class too many"}]}
    assert amounts(tmp_path / "state") == [0, 1, 2, 4]


def test_another_topic_of_the_same_name_is_not_learned_from(broker, tmp_path, caplog):
    broker.send("another", row(0))
    log, _ = opened(tmp_path / "state")
    write_now(log, lambda transaction: transaction.set_offset("another", 0, 7))
    log.close()

    async def run():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/another") as engine:
            await until(lambda: events(engine, "topic stopped"))

    with caplog.at_level(logging.WARNING, "pater.serve"):
        asyncio.run(run())
    assert "nothing more is learned from the topic another" in caplog.text
    assert amounts(tmp_path / "state") == []


@contextlib.contextmanager
def server(state, url):
    """A server that is ready; killed at the end of the block, unless it has ended."""
    command = [sys.executable, "-m", "pater", "serve", "--state", str(state), "--port", "0", "--consume", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout.readline().startswith("serving on ")
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_killed_again_and_again_each_message_is_learned_once(broker, tmp_path):
    state, url, rng, sent = tmp_path / "state", f"kafka://{broker.address}/kills", random.Random(0), 0
    for _ in range(2):
        with server(state, url):
            before, late = sum(offsets(state).values()), time.monotonic() + WAIT
            end = late
            while time.monotonic() < end:
                more = rng.randint(1, 100)
                broker.send("kills", *map(row, range(sent, sent + more)), part=rng.randrange(4))
                sent += more
                if end == late and sum(offsets(state).values()) > before:  # it is at work
                    end = time.monotonic() + rng.uniform(0, 0.3)
        assert sum(offsets(state).values()) == len(amounts(state)) > before
    with server(state, url) as process:
        end = time.monotonic() + WAIT
        while sum(offsets(state).values()) < sent:
            assert time.monotonic() < end
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 0
    assert sorted(amounts(state)) == list(range(sent))


@pytest.mark.slow
def test_what_is_no_topic_is_wrong_usage(tmp_path):
    command = [sys.executable, "-m", "pater", "serve", "--state", str(tmp_path / "state"), "--consume", "kafka://here"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 2
    assert "--consume: 'kafka://here' is not the address of a topic; it looks like kafka://" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "state").exists()


@pytest.mark.slow
def test_without_the_client_of_kafka_it_says_what_to_install(tmp_path):
    script = "import sys; sys.modules['confluent_kafka'] = None; from pater.cli import main; main(sys.argv[1:])"
    state, url = str(tmp_path / "state"), "kafka://here/payments"
    command = [sys.executable, "-c", script, "serve", "--state", state, "--port", "0", "--consume", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 1
    assert done.stderr == 'pater: --consume needs the Kafka client: pip install "pater[kafka]".\n'


def test_a_broker_that_is_away_is_told_of_once_and_waited_for(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("pater.serve.consume.PAUSE", 0.05)
    monkeypatch.setattr("pater.serve.kafka.TIMEOUT", 0.2)

    async def run():
        async with consuming(tmp_path / "state", "kafka://127.0.0.1:1/payments") as engine:
            rows = {"rows": [json.loads(row(0))]}
            await engine.learn(engine.rows_of(rows, labelled=True))
            await asyncio.sleep(1)

    with caplog.at_level(logging.WARNING, "pater.serve"):
        asyncio.run(run())
    assert caplog.text.count("the topic payments cannot be read now") == 1
    assert amounts(tmp_path / "state") == [0]


def test_messages_that_are_gone_are_an_event(broker, tmp_path, caplog):
    broker.send("gone-by", *map(row, range(5)))
    log, _ = opened(tmp_path / "state")
    write_now(log, lambda transaction: transaction.set_offset("gone-by", 0, 1))
    log.close()

    class Dropped(Topic):
        def _assign(self):
            super()._assign()
            self._beginnings = [each._replace(known=each.known and each.known - 1) for each in self._beginnings]

    async def run():
        async with consuming(tmp_path / "state", f"kafka://{broker.address}/gone-by") as engine:
            await until(lambda: engine.log.position == 4)
            return events(engine, "messages gone")

    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING, "pater.serve"):
        patch.setattr("pater.serve.consume.Topic", Dropped)
        told = asyncio.run(run())
    assert told == [{"topic": "gone-by", "messages": [{"partition": 0, "from": 0, "to": 1}]}]
    assert "partition 0: messages 0 to 0 are gone" in caplog.text
