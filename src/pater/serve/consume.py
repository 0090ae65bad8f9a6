"""Learn from the messages of a Kafka topic, each once.

A message is a row as `/v1/learn` takes it, or `{"id", "label"}`, a label that comes late. The next offset is written to
the log in the transaction that appends the rows, so the log says what has been learned, however the process ended. A
message that cannot be learned is left out; the log counts such messages, and names the latest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import orjson
from confluent_kafka import KafkaException

from ..formats.errors import InputError
from .engine import Engine
from .errors import Refusal
from .kafka import Address, Message, Topic, TopicError, words
from .rows import bodies
from .store.transaction import Transaction
from .web.labels import labels_of_json
from .web.limits import Limits

ROWS, LABELS, BAD = "rows", "labels", "bad"
AGAIN = (429, 503, 507)  # refused for now, and nothing was written
PAUSE = 1.0  # seconds before the next attempt
LEFT_OUT = "messages left out"  # the name under which the log counts them, by topic: {"n", "latest"}
MOST_NAMED, MOST_TOLD = 20, 5  # messages that the log names, and that are warned of one by one
say = logging.getLogger("pater.serve")


class Read(NamedTuple):
    """A message and its content: a row, a label, or the reason why it is neither."""

    message: Message
    kind: str
    value: Any


class _StoppedError(Exception):
    """Raised when stopped while waiting for the log; what was not written comes again at the next start."""


class Consumption:
    """Learns from one topic."""

    def __init__(self, engine: Engine, address: Address, limits: Limits) -> None:
        self._engine, self._address, self._limits, self._stopping = engine, address, limits, False

    def stop(self) -> None:
        """Take no more messages; `run` ends when those under way have been learned."""
        self._stopping = True

    async def run(self) -> None:
        """Learn what comes until stopped, or until the topic can no longer be read."""
        name, trouble = self._address.topic, ""
        topic = Topic(self._address, self._known())
        try:
            while not self._stopping:
                try:
                    messages = await asyncio.to_thread(topic.next)
                except KafkaException as error:
                    if words(error) != trouble:  # warned of once
                        trouble = words(error)
                        say.warning("the topic %s cannot be read now: %s", name, trouble)
                    await asyncio.sleep(PAUSE)
                    continue
                trouble = ""
                await self._begin(topic)
                for kind, read in _runs([_read(message) for message in messages]):
                    await self._learn(kind, read)
        except _StoppedError:
            pass
        except Exception as error:  # of the topic, or one that nobody foresaw: the service goes on without it
            told = error if isinstance(error, TopicError) else f"{type(error).__name__}: {error}"
            say.error("nothing more is learned from the topic %s: %s", name, told)
            with suppress(Refusal):
                stopped = {"topic": name, "reason": str(told)}
                await self._engine.conveyor.write(lambda transaction: transaction.event("topic stopped", stopped))
        finally:
            await asyncio.to_thread(topic.close)

    def _known(self) -> dict[int, int]:
        topic = self._address.topic
        return {part: following for (name, part), following in self._engine.log.offsets().items() if name == topic}

    async def _begin(self, topic: Topic) -> None:
        """Record the offsets at which partitions begin, so that a restart begins there, too."""
        beginnings = topic.beginnings()
        gone = {each.part: (each.known, each.offset) for each in beginnings if each.known not in (None, each.offset)}
        for part, (known, offset) in gone.items():
            say.error("the topic %s, partition %s: messages %s to %s are gone", topic.name, part, known, offset - 1)

        def write(transaction: Transaction) -> None:
            for part, offset, _ in beginnings:
                transaction.set_offset(topic.name, part, offset)
            if gone:
                told = [{"partition": part, "from": known, "to": to} for part, (known, to) in gone.items()]
                transaction.event("messages gone", {"topic": topic.name, "messages": told})

        if beginnings:
            await self._tried(partial(self._engine.conveyor.write, write))

    async def _learn(self, kind: str, read: list[Read]) -> None:
        """Learn messages of one kind in one transaction; those that are malformed or refused are left out."""
        out = {each.message: str(each.value) for each in read if each.kind == BAD}
        while True:
            good = [each for each in read if each.message not in out]
            beside = self._beside([each.message for each in read], out)
            try:
                await self._tried(partial(self._hand_over, kind, [each.value for each in good], beside))
            except Refusal as refusal:
                if self._is_written(read[-1].message):  # the model has refused rows that are on the disk
                    say.warning("the topic %s: %s", self._address.topic, refusal.reason)
                    return
                if refusal.rows:
                    out |= {good[place].message: reason for place, reason in refusal.rows}
                elif len(good) == 1:
                    out[good[0].message] = refusal.reason
                else:
                    for each in read:
                        await self._learn(each.kind, [each])
                    return
            else:
                for message, why in islice(out.items(), MOST_TOLD):
                    place = self._address.topic, message.part, message.offset
                    say.warning("the topic %s, partition %s: message %s is left out: %s", *place, why)
                if len(out) > MOST_TOLD:
                    say.warning(
                        "the topic %s: %s more messages are left out", self._address.topic, len(out) - MOST_TOLD
                    )
                return

    async def _hand_over(self, kind: str, values: list[Any], beside: Callable[[Transaction], None]) -> None:
        """Learn rows or join labels, with `beside` writing in the same transaction."""
        engine, unknown = self._engine, []
        try:
            if not values:
                await engine.conveyor.write(beside)
            elif kind == ROWS:
                limits = bodies.Limits(columns=self._limits.columns, id=self._limits.ids)
                rows = engine.rows_of({"rows": values}, labelled=True, limits=limits)
                await engine.learn(rows, beside=beside)
            else:
                labels = labels_of_json({"labels": values}, self._limits)
                unknown = (await engine.labels(labels, beside=beside))["unknown"]
        except InputError as error:
            raise Refusal(422, str(error)) from None
        if unknown:
            told = self._address.topic, len(unknown), unknown[:MOST_NAMED]
            say.warning("the topic %s: %s labels are of unknown ids, such as %r", *told)

    async def _tried(self, call: Callable[[], Awaitable[None]]) -> None:
        """Call until no temporary refusal is raised."""
        while True:
            try:
                return await call()
            except Refusal as refusal:
                if refusal.status not in AGAIN:
                    raise
                say.warning("the topic %s waits: %s", self._address.topic, refusal.reason)
                await asyncio.sleep(refusal.retry_after or PAUSE)
            if self._stopping:
                raise _StoppedError

    def _beside(self, messages: list[Message], out: dict[Message, str]) -> Callable[[Transaction], None]:
        """A function that writes the next offsets, and which messages were left out."""
        topic, following = self._address.topic, {message.part: message.offset + 1 for message in messages}
        named = [{"partition": each.part, "offset": each.offset, "reason": why} for each, why in out.items()]

        def write(transaction: Transaction) -> None:
            for part, offset in following.items():
                transaction.set_offset(topic, part, offset)
            if out:
                known = transaction.meta(LEFT_OUT, default={})
                before = known.get(topic, {"n": 0, "latest": []})
                told = {"n": before["n"] + len(out), "latest": [*before["latest"], *named][-MOST_NAMED:]}
                transaction.set_meta(LEFT_OUT, {**known, topic: told})

        return write

    def _is_written(self, message: Message) -> bool:
        return self._known().get(message.part, 0) > message.offset


def _runs(reads: list[Read]) -> list[tuple[str, list[Read]]]:
    """Runs of consecutive messages of one kind; malformed ones belong to the run around them."""
    runs: list[tuple[str, list[Read]]] = []
    for each in reads:
        kind, run = runs[-1] if runs else (each.kind, [])
        if not runs or (each.kind != kind and BAD not in (each.kind, kind)):
            runs.append((each.kind, [each]))
        else:
            run.append(each)
            runs[-1] = (each.kind if kind == BAD else kind, run)
    return runs


def _read(message: Message) -> Read:
    try:
        value = orjson.loads(message.value or b"")
    except ValueError:
        return Read(message, BAD, "it is not JSON")
    if not isinstance(value, dict):
        return Read(message, BAD, "it is not an object")
    return Read(message, ROWS if "features" in value else LABELS, value)
