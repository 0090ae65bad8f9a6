"""A topic of librdkafka's test broker, read from given offsets on."""

from __future__ import annotations

import time

import pytest
from patience import WAIT

from pater.formats.errors import InputError

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs Kafka's client: pip install 'pater[kafka]'")
kafka = pytest.importorskip("pater.serve.kafka")
Broker = pytest.importorskip("kafka_broker").Broker


@pytest.fixture(scope="module")
def broker():
    return Broker()


def read(topic, n, seconds=WAIT):
    messages, end = [], time.monotonic() + seconds
    while len(messages) < n and time.monotonic() < end:
        messages += topic.next(wait=0.1)
    return messages


@pytest.fixture
def reading(broker):
    opened = []

    def open_(name, known=None, query=""):
        opened.append(kafka.Topic(kafka.Address.of(f"kafka://{broker.address}/{name}{query}"), known or {}))
        return opened[-1]

    yield open_
    for topic in opened:
        topic.close()


def test_an_address():
    address = kafka.Address.of("kafka://one:9092,two:9093/payments")
    assert (address.servers, address.topic, address.start) == ("one:9092,two:9093", "payments", "earliest")
    assert address.settings == {"group.id": "pater"}
    address = kafka.Address.of("kafka://one/payments?group=desk&from=latest")
    assert (address.start, address.settings) == ("latest", {"group.id": "desk"})


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://one/payments", "it looks like kafka://"),
        ("kafka:///payments", "it looks like kafka://"),
        ("kafka://one", "it looks like kafka://"),
        ("kafka://one/a/b", "it looks like kafka://"),
        ("kafka://one/a#b", "it looks like kafka://"),
        ("kafka://[one/a", "it looks like kafka://"),
        ("kafka://one/a?from=now", "earliest or latest"),
        ("kafka://one/a?form=latest", "there may be group=, from= and config="),
        ("kafka://one/a?from=latest&from=latest", "once each"),
        ("kafka://one/a?config=/nowhere/kafka.properties", "No such file"),
    ],
)
def test_what_is_no_address(url, words):
    with pytest.raises(InputError, match=words):
        kafka.Address.of(url)


def test_settings_from_a_file(tmp_path):
    path = tmp_path / "kafka.properties"
    path.write_text("# of the cluster\n\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n")
    settings = kafka.Address.of(f"kafka://one/payments?config={path}").settings
    assert settings == {"group.id": "pater", "security.protocol": "SASL_SSL", "sasl.password": "a=b"}
    for line, words in [
        ("sasl.password", "line 1: a line is name=value"),
        ("enable.auto.commit=true", "by pater itself"),
    ]:
        path.write_text(line)
        with pytest.raises(InputError, match=words):
            kafka.Address.of(f"kafka://one/payments?config={path}")
    path.write_text("no.such.setting=1")
    with pytest.raises(InputError, match=r"refuses its settings: .*no\.such\.setting"):
        kafka.Topic(kafka.Address.of(f"kafka://one/payments?config={path}"), {})


def test_all_partitions_from_the_beginning(broker, reading):
    broker.send("all", "a", "b", part=0)
    broker.send("all", "c", part=1)
    topic = reading("all")
    messages = read(topic, 3)
    assert sorted(messages) == [(0, 0, b"a"), (0, 1, b"b"), (1, 0, b"c")]
    assert topic.beginnings() == [(part, 0, None) for part in range(4)]
    assert topic.beginnings() == []
    broker.send("all", None, part=1)
    assert read(topic, 1) == [(1, 1, None)]


def test_from_what_is_known(broker, reading):
    broker.send("known", "a", "b", "c")
    topic = reading("known", {0: 2}, "?from=latest")
    assert read(topic, 1) == [(0, 2, b"c")]
    assert topic.beginnings()[:2] == [(0, 2, 2), (1, 0, None)]  # a new partition begins at its start


def test_from_the_end(broker, reading):
    broker.send("late", "a", "b")
    topic = reading("late", query="?from=latest")
    assert topic.next(wait=0.1) == []
    broker.send("late", "c")
    assert read(topic, 1) == [(0, 2, b"c")]
    assert topic.beginnings()[0] == (0, 2, None)


def test_a_topic_that_is_shorter_than_what_is_known_is_another_topic(broker, reading):
    broker.send("short", "a")
    with pytest.raises(kafka.TopicError, match="message 7 is the next to be learned, but the topic ends before 1"):
        read(reading("short", {0: 7}), 1)


def test_a_topic_that_is_not_there_yet(broker, reading):
    topic = reading("not-yet")
    with pytest.raises(confluent_kafka.KafkaException, match="Unknown topic"):
        topic.next(wait=0.1)
    broker.send("not-yet", "a")
    assert read(topic, 1) == [(0, 0, b"a")]


def marks(monkeypatch, *answers):
    """Let the broker report these ends of a partition, in this order, and then the true ones."""
    answers = list(answers)

    class Consumer(confluent_kafka.Consumer):
        def get_watermark_offsets(self, partition, **more):
            told = super().get_watermark_offsets(partition, **more)
            return answers.pop(0) if answers and partition.partition == 0 else told

    monkeypatch.setattr(kafka, "Consumer", Consumer)


def test_messages_that_the_broker_has_dropped_are_told(broker, reading, monkeypatch):
    broker.send("dropped", *"abcde")
    marks(monkeypatch, (3, 5))
    topic = reading("dropped", {0: 1})
    assert read(topic, 2) == [(0, 3, b"d"), (0, 4, b"e")]
    assert topic.beginnings()[0] == (0, 3, 1)


def test_an_offset_that_is_gone_before_it_is_read_is_looked_for_again(broker, reading, monkeypatch):
    broker.send("gone", *"abc")
    marks(monkeypatch, (0, 100), (2, 3))
    topic = reading("gone", {0: 50})
    with pytest.raises(kafka.TopicError, match="message 50 is the next to be learned, but the topic ends before 3"):
        read(topic, 1)
    marks(monkeypatch, (0, 100))
    topic = reading("gone", {0: 50})
    assert topic.next(wait=0.1) == []
    topic._offsets[0] = 1  # as if the broker had dropped the first ones, without being restarted
    assert read(topic, 2) == [(0, 1, b"b"), (0, 2, b"c")]


def test_no_broker_is_an_error_that_passes(monkeypatch):
    monkeypatch.setattr(kafka, "TIMEOUT", 0.5)
    topic = kafka.Topic(kafka.Address.of("kafka://127.0.0.1:1/payments"), {})
    try:
        with pytest.raises(confluent_kafka.KafkaException) as caught:
            topic.next(wait=0.1)
        assert kafka.words(caught.value)
    finally:
        topic.close()


def test_messages_that_come_beside_an_error_are_not_lost(broker, reading, monkeypatch):
    topic = reading("beside")

    class Came:
        def __init__(self, offset, error=None):
            self.offset, self.error, self.partition = lambda: offset, lambda: error, lambda: 0
            self.value = lambda: b"{}"

    away = confluent_kafka.KafkaError(confluent_kafka.KafkaError._TRANSPORT)

    class Consumer:
        came = ([Came(0), Came(1), Came(-1, away)], [Came(-1, away)], [Came(2)])

        def consume(self, most, timeout):
            first, *self.came = self.came
            return first

    with monkeypatch.context() as patch:
        patch.setattr(topic, "_consumer", Consumer())
        patch.setattr(topic, "_refreshed", time.monotonic())
        assert [message.offset for message in topic.next()] == [0, 1]
        with pytest.raises(confluent_kafka.KafkaException):
            topic.next()
        assert [message.offset for message in topic.next()] == [2]
