"""The broker that librdkafka provides for tests."""

from __future__ import annotations

import confluent_kafka
from patience import WAIT


class Broker:
    """A cluster of one broker in this process, which lives as long as its producer."""

    def __init__(self):
        settings = {"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0}
        self._producer = confluent_kafka.Producer(settings)
        (broker,) = self._producer.list_topics(timeout=WAIT).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def send(self, topic, *values, part=0):
        for value in values:
            self._producer.produce(topic, value if value is None else value.encode(), partition=part)
        assert self._producer.flush(10) == 0
