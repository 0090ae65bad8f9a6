"""The engine of a service: it alone changes the model, in the order of the log.

Knows `served_learner`, the log and its writer, and `operating`. It lives in one thread, that of the event loop: what is
to be learned goes to the writer's thread first, comes back once it is on the disk, and is learned here, a few rows at a
time, so that predictions get their turn in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from ..stream.learner import Learner
from . import requests
from .conveyor import Conveyor
from .engine_facts import facts_of
from .errors import Refusal
from .housekeeping import Housekeeping
from .quality.operating import Operating
from .quality.quality import Quality
from .quality.status import Facts
from .quality.volumes import JOINED, LEARNED, PREDICTED, REFUSED, UNKNOWN, Volumes
from .recovery import Refused, recovered, repaired
from .requests import Settled
from .retention import Retention
from .rows.rows import Rows
from .served_learner import NOTHING_SAID
from .settled_columns import Settling
from .store.log import Log
from .store.records import Entry, LabelOf
from .store.transaction import Transaction
from .store.writer import StorageFull
from .swapping import swap

MANY = 2_000  # most rows predicted in the event loop; more go to a thread
OPERATING_POINT = "operating_point"
say = logging.getLogger("pater.serve")


class Engine:
    """A running service, to be used from one event loop."""

    def __init__(self, log: Log, settings: dict[str, Any], keeps: Retention | None = None, window: int = 1_000) -> None:
        self.log, self.keeping, self.volumes = log, keeps or Retention(), Volumes()
        self.started, self._settings, self._window = log.now(), settings, window
        self.is_stopping = self.is_swapping = False
        self.learned_at: float | None = None
        self._asked = 0  # most rows predicted together since rows were last learned

    # Starting and stopping

    async def start(self) -> None:
        """Recover the state that the log describes, and begin to learn."""
        self.learned, refused = recovered(self.log, self._settings, self._window)
        self.settling = Settling.of(self.log, self.learned, self._settings, self.keeping)
        self.operating = Operating.kept(self.log.meta(OPERATING_POINT, default={}), self.classes)
        self._threshold = self.operating.threshold(self.learned.quality)
        self._alarms = self.quality.n_alarms  # alarms already reported
        self.conveyor = Conveyor(self.log, self._take, self._repair, self._on_learned, most=self.keeping.most_waiting)
        self.housekeeping = Housekeeping(self)
        try:
            await self.conveyor.mark(refused)
            await self.conveyor.write(lambda transaction: transaction.event("start", self.told()))
        except Refusal as refusal:  # with a full disk it can still predict
            say.error("%s", refusal.reason)

    async def stop(self) -> None:
        """Accept nothing more, learn what is on the disk, and write a last snapshot."""
        self.is_stopping = True
        await self.housekeeping.stop()
        await self.model_in_place()
        await self.conveyor.drained()
        try:
            await self.housekeeping.snapshot()
            await self.conveyor.write(lambda transaction: transaction.event("stop", self.told()))
        except Exception as error:
            say.error("the last snapshot was not written, and the next start learns from the log again: %s", error)
        await self.conveyor.stop()
        self.log.close()

    def _take(self, entries: list[Entry]) -> Iterator[None]:
        if self.learned.served is None:
            self.learned.columns = self.settling.columns
        in_steps, self._asked = self._asked == 1, 0  # with many callers, steps would gain nothing
        return self.learned.take(entries, in_steps=in_steps)

    def _repair(self, last: int) -> Refused:
        """Learn the log up to its `last` entry without the rows that cannot be learned, and return their places."""
        until = self.learned.entry
        self.learned, refused = repaired(self.log, self._settings, self._window, until=until, last=last)
        self.count(REFUSED, sum(map(len, refused.values())))
        self.housekeeping.want_snapshot()
        return refused

    def _on_learned(self) -> None:
        self.learned_at = self.log.now()
        self._threshold = self.operating.threshold(self.learned.quality)
        for alarm in self.quality.alarms_after(self._alarms):
            say.warning("answers have become worse: %s", alarm)
        self._alarms = self.quality.n_alarms

    def _check_open(self) -> None:
        if self.is_stopping:
            raise Refusal(503, "the service is stopping; try again.", retry_after=5)

    async def model_in_place(self) -> None:
        """Wait for a model that is being swapped in, since that one is to learn what comes next."""
        while self.is_swapping:
            await asyncio.sleep(0.002)

    # What is known

    @property
    def rows(self) -> int:
        """How many rows the model has learned."""
        return 0 if self.learned.served is None else self.learned.served.rows

    @property
    def version(self) -> int:
        """The version of the model: it grows with each model that is swapped in."""
        return 1 if self.learned.served is None else self.learned.served.version

    def speaker(self) -> Learner | None:
        """The learner that answers; None before anything was learned."""
        return None if self.learned.served is None else self.learned.served.speaker()

    @property
    def quality(self) -> Quality:
        """The quality of the answers whose labels have come."""
        return self.learned.quality

    @property
    def classes(self) -> list[Any]:
        """The labels that the model knows, sorted."""
        speaker = self.speaker()
        return [] if speaker is None else list(speaker.classes.tolist())

    @property
    def threshold(self) -> float | None:
        """The margin by which the service decides; None where the model's own threshold applies."""
        return self._threshold

    @property
    def waiting(self) -> int:
        """How many requests wait to be written or learned."""
        return self.conveyor.waiting

    @property
    def is_settled(self) -> bool:
        """Whether the columns of rows are known."""
        return self.settling.columns is not None

    @property
    def is_fixed(self) -> bool:
        """Whether rows may be read in another thread, since reading them changes nothing."""
        return self.settling.is_fixed

    def facts(self) -> Facts:
        """The current state."""
        return facts_of(self)

    def count(self, kind: int, rows: int) -> None:
        """Count rows of a kind, such as predicted or learned."""
        self.volumes.add(kind, rows, self.log.now())

    def told(self) -> dict[str, int]:
        """The model as answers name it."""
        return {"version": self.version, "rows": self.rows}

    # Requests

    def rows_of(self, body: Any, *, labelled: bool, arrow: bool = False, **limits: Any) -> Rows:
        """The rows of a request, checked; the first ones settle what the columns are."""
        self._check_open()
        if self.is_swapping and not self.is_settled:
            raise Refusal(503, "a model is being swapped in, which has columns of its own; try again.", retry_after=1)
        return self.settling.rows_of(body, labelled=labelled, arrow=arrow, **limits)

    async def predict(self, rows: Rows, *, explain: bool = False) -> dict[str, Any]:
        """The model's current predictions for rows; rows with an id are remembered before the answer.

        For many rows a copy of the model predicts in a thread, so that other requests need not wait.
        """
        if rows.reader is not self.settling:
            raise Refusal(503, "a model was swapped in while the rows were read; try again.", retry_after=1)
        self._asked = max(self._asked, len(rows))
        served, told, is_named = self.learned.served, self.told(), any(name is not None for name in rows.ids)
        classes = self.classes if is_named else []
        if served is None:
            answers: list[dict[str, Any]] = [dict(NOTHING_SAID) for _ in range(len(rows))]
        elif len(rows) <= MANY:
            answers = served.answers(rows.batch, self._threshold, explain=explain)
        else:
            answers = await asyncio.to_thread(deepcopy(served).answers, rows.batch, self._threshold, explain=explain)
        if is_named:
            by = {"version": told["version"], "classes": classes}
            said = [{key: answer[key] for key in ("decision", "margin", "probability")} | by for answer in answers]
            beside = {} if await self._remembered(rows, said) else {"remembered": False}
            answers = [
                answer if name is None else {"id": name, **answer, **beside}
                for name, answer in zip(rows.ids, answers, strict=True)
            ]
        self.count(PREDICTED, len(rows))
        return {"predictions": answers, "model": told}

    async def _remembered(self, rows: Rows, said: list[dict[str, Any]]) -> bool:
        """Whether the rows are on the disk, waiting for their labels; with a full disk, predictions go on without."""
        news = self.settling.news()
        try:
            await self.conveyor.write(requests.remember(rows, said, news), size=rows.size)
        except StorageFull:
            return False
        self.settling.is_on_disk(news)
        return True

    async def learn(
        self, rows: Rows, key: str | None = None, digest: bytes = b"", *, beside: Settled | None = None
    ) -> dict[str, Any]:
        """Learn from rows, and answer once they are on the disk and learned; a key or an id is learned once.

        `beside` writes something else in the same transaction.
        """
        await self.model_in_place()
        news, as_read = self.settling.news(), rows.reader is self.settling
        write = requests.with_(beside, requests.learn(rows, key, digest, news, as_read=as_read))
        with self.settling.under_way(list(rows.labels)) as learned:
            written = await self.conveyor.learn(write, size=rows.size)
            learned.intersection_update(rows.labels[place] for place in written.places)
        known = self.log.answer_to(key) if written.again and key is not None else None
        if known is not None and known.refused:
            raise requests.refusal(known.refused, known.answer["learned"])
        self.settling.is_on_disk(news)
        self.count(LEARNED, len(written.places))
        return written.answer

    async def labels(self, labels: list[LabelOf], *, beside: Settled | None = None) -> dict[str, Any]:
        """Join labels to predicted rows, and learn those that are still remembered, as they were predicted."""
        self._check_open()
        await self.model_in_place()
        sound = self.settling.labels(labels)
        news = self.settling.news()
        write = requests.with_(beside, requests.join(sound, news))
        with self.settling.under_way([each.label for each in sound]) as learned:
            written = await self.conveyor.learn(write, size=100 * len(labels))
            learned.intersection_update(sound[place].label for place in written.places)
        self.settling.is_on_disk(news)
        self.count(JOINED, written.answer["joined"])
        self.count(UNKNOWN, len(written.answer["unknown"]))
        return written.answer

    async def model_file(self) -> bytes:
        """The model file that `pater train` would have written from the exported log."""
        if self.learned.served is None:
            raise Refusal(409, "there is no model yet: nothing has been learned.")
        served = await self.conveyor.at_rest(lambda: deepcopy(self.learned.served))
        assert served is not None
        return await asyncio.to_thread(served.content)

    async def swap(self, content: bytes) -> dict[str, Any]:
        """Replace the model by another, keeping the old file; what was learned so far stays in the log."""
        self._check_open()
        if self.is_swapping:
            raise Refusal(409, "another model is being swapped in; try again.", retry_after=1)
        self.is_swapping = True
        self._swap = asyncio.create_task(self._swapped(content))
        # The caller may go away; a swap that has begun is finished nevertheless, here as on the disk.
        return await asyncio.shield(self._swap)

    async def _swapped(self, content: bytes) -> dict[str, Any]:
        try:
            served, quality, settling = await swap(self, content)
            self.learned.served, self.learned.quality = served, quality
            self.learned.columns, self.settling = settling.columns, settling
            self.housekeeping.is_saved(self.learned.entry, self.learned.position)
            self.operating = Operating.kept(self.operating.to_json(), self.classes)
            self._threshold = self.operating.threshold(quality)
        finally:
            self.is_swapping = False
        return {"model": self.told(), "classes": self.classes}

    async def set_operating_point(self, wish: Any) -> dict[str, Any]:
        """Decide by another operating point from here on; the model is not touched."""
        operating = Operating.from_json(wish, self.classes)

        def write(transaction: Transaction) -> None:
            transaction.set_meta(OPERATING_POINT, operating.to_json())
            transaction.event("operating point", operating.to_json())

        await self.conveyor.write(write)
        self.operating, self._threshold = operating, operating.threshold(self.learned.quality)
        return self.operating_point()

    def operating_point(self) -> dict[str, Any]:
        """The operating point in force, and the effect of moving it."""
        speaker = self.speaker()
        own = speaker.threshold() if speaker is not None and len(self.classes) == 2 else None
        return self.operating.told(self.learned.quality, own)
