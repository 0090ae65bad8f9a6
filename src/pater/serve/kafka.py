"""Messages of a Kafka topic, from given offsets on. Knows `confluent_kafka`, and neither the log nor the model.

The caller keeps track of which messages were learned: nothing is committed to the broker, and no group is joined. All
partitions are read, including those that a topic gains later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ..formats.errors import InputError

EXAMPLE = "kafka://host:9092/topic"
REFRESH = 30.0  # seconds between searches for new partitions
TIMEOUT = 5.0  # seconds for a question to the broker
OWN = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # an offset that no longer exists is an error, not skipped
    "queued.max.messages.kbytes": 16_384,
    "isolation.level": "read_committed",
}
say = logging.getLogger("pater.serve")


class Address(NamedTuple):
    """Where messages come from.

    start
        Where to begin with a topic that nothing is known of: "earliest" or "latest".
    settings
        Those of librdkafka.
    """

    servers: str
    topic: str
    start: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, url: str) -> Address:
        """Parse `kafka://host:port[,host:port…]/topic[?group=…&from=earliest|latest&config=FILE]`."""
        try:
            parts = urlsplit(url)
            asked = parse_qsl(parts.query, strict_parsing=True, keep_blank_values=True) if parts.query else []
        except ValueError:
            raise InputError(f"{url!r} is not the address of a topic; it looks like {EXAMPLE}.") from None
        topic, wishes = unquote(parts.path.strip("/")), dict(asked)
        if parts.scheme != "kafka" or not parts.netloc or not topic or "/" in topic or parts.fragment:
            raise InputError(f"{url!r} is not the address of a topic; it looks like {EXAMPLE}.")
        if len(wishes) < len(asked) or not wishes.keys() <= {"group", "from", "config"}:
            raise InputError(f"{url!r}: after the ? there may be group=, from= and config=, once each.")
        start = wishes.get("from", "earliest")
        if start not in ("earliest", "latest"):
            raise InputError(f"{url!r}: from is earliest or latest, not {start!r}.")
        settings = {"group.id": wishes.get("group") or "pater"}
        if "config" in wishes:
            settings |= _properties(Path(wishes["config"]))
        return cls(parts.netloc, topic, start, settings)


def _properties(path: Path) -> dict[str, str]:
    """Settings of librdkafka from a file of name=value lines, a better place for passwords than a command."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not a text in UTF-8'}") from None
    settings = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, equals, value = line.partition("=")
            if not equals:
                raise InputError(f"{path}, line {number}: a line is name=value, as sasl.username=pater.")
            if name.strip() in OWN or name.strip() == "bootstrap.servers":
                raise InputError(f"{path}, line {number}: {name.strip()} is set by pater itself.")
            settings[name.strip()] = value.strip()
    return settings


class Message(NamedTuple):
    """A message and its place in the topic."""

    part: int
    offset: int
    value: bytes | None


class Beginning(NamedTuple):
    """Where reading a partition begins; `known` is where it should have begun, if anything was known of it.

    Messages between the two are gone: the broker did not keep them until they could be read.
    """

    part: int
    offset: int
    known: int | None


class TopicError(InputError):
    """The topic can no longer be read, whatever is tried."""


class Topic:
    """A topic being read. All methods may block, so they are called outside the event loop's thread.

    known
        For each partition, the offset of the first message that has not been read.
    """

    def __init__(self, address: Address, known: Mapping[int, int]) -> None:
        self.name, self._start, self._offsets = address.topic, address.start, dict(known)
        self._beginnings: list[Beginning] = []
        self._begun = bool(known)
        self._assigned: set[int] = set()
        self._refreshed = 0.0
        try:
            self._consumer = Consumer({**address.settings, **OWN, "bootstrap.servers": address.servers}, logger=say)
        except (KafkaException, ValueError, TypeError) as error:
            raise InputError(f"Kafka's client refuses its settings: {words(error)}") from None

    def next(self, most: int = 200, wait: float = 0.5) -> list[Message]:
        """Messages that have come, in order within each partition; maybe none. A TopicError if no more can come."""
        if time.monotonic() > self._refreshed + REFRESH:
            self._assign()
            self._refreshed = time.monotonic()
        messages, trouble = [], None
        for message in self._consumer.consume(most, timeout=wait):
            error, part, offset = message.error(), message.partition(), message.offset()
            if error is None:
                assert part is not None
                assert offset is not None
                value = message.value()
                messages.append(Message(part, offset, value.encode() if isinstance(value, str) else value))
                self._offsets[part] = offset + 1
            elif error.code() == KafkaError._AUTO_OFFSET_RESET and part is not None:
                self._consumer.incremental_unassign([TopicPartition(self.name, part)])
                self._assigned.discard(part)
                self._refreshed = 0.0
            elif error.code() != KafkaError._PARTITION_EOF:
                trouble = error
        if trouble is not None and not messages:  # otherwise they would be lost; trouble that stays is met again
            raise KafkaException(trouble)
        return messages

    def beginnings(self) -> list[Beginning]:
        """The beginnings of the partitions first read since the last call."""
        beginnings, self._beginnings = self._beginnings, []
        return beginnings

    def close(self) -> None:
        """Close the connection to the broker."""
        self._consumer.close()

    def _assign(self) -> None:
        """Begin to read new partitions, each from its known offset or from where it has to begin."""
        told = self._consumer.list_topics(self.name, timeout=TIMEOUT).topics[self.name]
        if told.error is not None:
            raise KafkaException(told.error)
        for part in sorted(told.partitions.keys() - self._assigned):
            found = self._consumer.get_watermark_offsets(TopicPartition(self.name, part), timeout=TIMEOUT)
            if found is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            low, high = found
            # A partition that was added since is new from its first message on.
            known = self._offsets.get(part)
            offset = (low if self._begun or self._start == "earliest" else high) if known is None else max(known, low)
            if offset > high:
                raise TopicError(
                    f"{self.name}, partition {part}: message {offset:,} is the next to be learned, but the topic ends "
                    f"before {high:,}; it is not the same topic as before. Consume it under another name."
                )
            self._beginnings.append(Beginning(part, offset, known))
            self._offsets[part] = offset
            self._consumer.incremental_assign([TopicPartition(self.name, part, offset)])
            self._assigned.add(part)
        self._begun = True


def words(error: Exception) -> str:
    """The client's message without its error codes."""
    first = error.args[0] if error.args else error
    return str(first.str() if isinstance(first, KafkaError) else first)
