"""The engine of a service: the only one who changes the model, in the order of the log.

Knows `learned`, the log and its writer, and `operating`. It lives in one thread, that of the event loop: what is to be
learned goes to the writer's thread first, comes back when it is on the disk, and is learned here, a few rows at a time,
so that predictions find their turn in between.
"""

from __future__ import annotations

import asyncio
import logging
from copy import deepcopy
from time import monotonic
from typing import Any

from ..formats.errors import InputError
from ..stream.learner import Learner
from . import requests
from .conveyor import Conveyor
from .errors import Refusal
from .keeping import Counts, Keeping
from .log import Log
from .operating import Operating
from .records import LabelOf
from .recovery import MODEL, Refused, recovered, repaired
from .rows import Rows
from .settling import Settling
from .swapping import checked_model
from .transaction import Transaction

OPERATING_POINT = "operating_point"
EXPIRED = 1_000  # rows that wait for a label and are forgotten in one go
KEPT = 3  # snapshots
say = logging.getLogger("pater.serve")


class Engine:
    """A service under way, to be used from one event loop."""

    def __init__(self, log: Log, settings: dict[str, Any], keeping: Keeping | None = None, window: int = 1_000) -> None:
        self.log, self.keeping, self.counts = log, keeping or Keeping(), Counts()
        self._settings, self._window = settings, window
        self._stopping = self._swapping = False
        self.snapshot_time: float | None = None

    # Starting and stopping

    async def start(self) -> None:
        """Recover what the log comes to, and begin to learn."""
        self.learned, refused = recovered(self.log, self._settings, self._window)
        self.settling = Settling.of(self.log, self.learned, self._settings, self.keeping.most_classes)
        self.operating = Operating.from_json(self.log.meta(OPERATING_POINT, default={}), self.classes)
        self._threshold = self.operating.threshold(self.learned.quality)
        snapshots = self.log.snapshots()
        self.log.folder.sweep(snapshot.file for snapshot in snapshots)
        self.snapshot_time = snapshots[-1].time if snapshots else None
        self._saved_entry, self._saved_position, self._saved_at = self.learned.entry, self.learned.position, monotonic()
        self.conveyor = Conveyor(self.log, lambda entries: self.learned.take(entries), self._repair, self._on_learned)
        self._housekeeping = asyncio.create_task(self._keep_for_ever())
        await self.conveyor.mark(refused)
        await self.conveyor.write(lambda transaction: transaction.event("start", self.told()))

    async def stop(self) -> None:
        """Take nothing more, learn what is on the disk, and write a last snapshot."""
        self._stopping = True
        self._housekeeping.cancel()
        await asyncio.gather(self._housekeeping, return_exceptions=True)
        await self.conveyor.drained()
        try:
            await self.snapshot()
            await self.conveyor.write(lambda transaction: transaction.event("stop", self.told()))
        except (Refusal, InputError, OSError) as error:
            say.error("the last snapshot was not written, and the next start learns from the log again: %s", error)
        await self.conveyor.stop()
        self.log.close()

    def _repair(self, last: int) -> Refused:
        """Learn what is in the log up to its `last` entry, without the rows that cannot be learned."""
        until = self.learned.entry
        self.learned, refused = repaired(self.log, self._settings, self._window, until=until, last=last)
        self.counts.refused += sum(map(len, refused.values()))
        return refused

    def _on_learned(self) -> None:
        self._threshold = self.operating.threshold(self.learned.quality)

    def _check_open(self) -> None:
        if self._stopping:
            raise Refusal(503, "the service is stopping; try again.", retry_after=5)

    async def _model_in_place(self) -> None:
        """Wait for a model that is being swapped in, which is to learn what comes from here on."""
        while self._swapping:
            await asyncio.sleep(0.002)

    # What is known

    @property
    def rows(self) -> int:
        """How many rows the model has learned."""
        return 0 if self.learned.served is None else self.learned.served.rows

    @property
    def version(self) -> int:
        """One more with each model that is swapped in."""
        return 1 if self.learned.served is None else self.learned.served.version

    @property
    def classes(self) -> list[Any]:
        """The labels that the model knows, sorted."""
        speaker = self.learned.served.speaker() if self.learned.served is not None else None
        return [] if speaker is None else list(speaker.classes.tolist())

    @property
    def threshold(self) -> float | None:
        """The margin that the service decides by; None where the model's own threshold does."""
        return self._threshold

    @property
    def is_learning(self) -> bool:
        """Whether what came last could be written; a full disk turns learning off, and predicting goes on."""
        return self.conveyor.writer.broken is None

    @property
    def waiting(self) -> int:
        """How many requests wait to be written or learned."""
        return self.conveyor.waiting

    def told(self) -> dict[str, int]:
        """The model, as answers name it."""
        return {"version": self.version, "rows": self.rows}

    # Requests

    def rows_of(self, body: Any, *, labelled: bool, arrow: bool = False, **limits: Any) -> Rows:
        """The rows of a request, checked; the first ones settle what the columns are."""
        self._check_open()
        return self.settling.rows_of(body, labelled=labelled, arrow=arrow, **limits)

    async def predict(self, rows: Rows, *, explain: bool = False) -> dict[str, Any]:
        """What the model says of rows now; those that have an id are remembered before the answer."""
        served = self.learned.served
        if served is None:
            nothing = {"label": None, "decision": None, "probability": None, "margin": None}
            answers: list[dict[str, Any]] = [dict(nothing) for _ in range(len(rows))]
        else:
            answers = served.answers(rows.batch, self._threshold, explain=explain)
        told = self.told()
        if any(name is not None for name in rows.ids):
            beside = {"version": told["version"], "classes": self.classes}
            said = [{key: answer[key] for key in ("decision", "margin", "probability")} | beside for answer in answers]
            await self.conveyor.write(requests.remember(rows, said, self.settling.news()), size=rows.size)
            self.settling.is_on_disk()
        self.counts.predicted += len(rows)
        named = [
            ({} if name is None else {"id": name}) | answer for name, answer in zip(rows.ids, answers, strict=True)
        ]
        return {"predictions": named, "model": told}

    async def learn(self, rows: Rows, key: str | None = None, digest: bytes = b"") -> dict[str, Any]:
        """Learn from rows; the answer comes when they are on the disk and learned. A key or an id is learned once."""
        await self._model_in_place()
        written = await self.conveyor.learn(requests.learn(rows, key, digest, self.settling.news()), size=rows.size)
        self.settling.is_on_disk()
        self.counts.learned += sum(entry.rows for entry in written.entries)
        return written.answer

    async def labels(self, labels: list[LabelOf]) -> dict[str, Any]:
        """Labels of rows that were predicted: those that are remembered are learned, as they were predicted."""
        self._check_open()
        await self._model_in_place()
        sound = self.settling.labels(labels)
        written = await self.conveyor.learn(requests.join(sound, self.settling.news()), size=100 * len(labels))
        self.settling.is_on_disk()
        self.counts.joined += written.answer["joined"]
        self.counts.unknown += len(written.answer["unknown"])
        return written.answer

    async def model_file(self) -> bytes:
        """The model file, as `pater train` would have written it from the exported log."""
        if self.learned.served is None:
            raise Refusal(409, "there is no model yet: nothing was learned.")
        served = await self.conveyor.at_rest(lambda: deepcopy(self.learned.served))
        assert served is not None
        return await asyncio.to_thread(served.content)

    async def swap(self, content: bytes) -> dict[str, Any]:
        """Put another model in the place of this one, which is kept; what was learned so far stays in the log."""
        self._check_open()
        if self._swapping:
            raise Refusal(409, "another model is being swapped in; try again.", retry_after=1)
        self._swapping = True
        try:
            version = 1 + max((each.version for each in self.log.snapshots()), default=self.version)
            path = self.log.folder.model(version)
            served = await asyncio.to_thread(checked_model, content, path, version, self.settling.columns)
            await self.conveyor.drained()
            quality = deepcopy(self.learned.quality)
            quality.swapped()
            settled = self.settling.as_of(served.learner)

            def write(transaction: Transaction) -> None:
                settled.news()(transaction)
                at = {"entry": self.learned.entry, "position": self.learned.position}
                transaction.snapshot(path.name, **at, version=version, quality=quality.to_json(), kind=MODEL)
                transaction.event("model", {"version": version, "rows": served.rows, "file": path.name})

            await self.conveyor.write(write)
            self.learned.served, self.learned.quality = served, quality
            self.learned.columns, self.settling = settled.columns, settled
            self._saved_entry = self.learned.entry
            self._threshold = self.operating.threshold(quality)
        finally:
            self._swapping = False
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
        """The operating point in force, and what moving it would do."""
        speaker = self.learned.served.speaker() if self.learned.served is not None else None
        own = speaker.threshold() if speaker is not None and len(self.classes) == 2 else None
        return self.operating.told(self.learned.quality, own)

    # Keeping house

    async def snapshot(self) -> None:
        """Write the model to a file, from which the next start goes on, if there is anything new."""
        taken = await self.conveyor.at_rest(self._copied)
        if taken is None:
            return
        learner, version, quality, entry, position = taken
        path = self.log.folder.snapshot(entry)
        await asyncio.to_thread(learner.save, path, progress={"entry": entry, "position": position, "version": version})

        def write(transaction: Transaction) -> list[str]:
            transaction.snapshot(path.name, entry=entry, position=position, version=version, quality=quality)
            return transaction.forget_snapshots(keep=KEPT)

        self.log.folder.remove(await self.conveyor.write(write))
        self._saved_entry, self._saved_position = entry, position
        self._saved_at, self.snapshot_time = monotonic(), self.log.now()

    def _copied(self) -> tuple[Learner, int, dict[str, Any], int, int] | None:
        """What a snapshot is made of; None if the last one says it all, or rows are held back yet."""
        learned, served = self.learned, self.learned.served
        if served is None or not served.is_settled or learned.entry == self._saved_entry:
            return None
        quality = learned.quality.to_json()
        return deepcopy(served.learner), served.version, quality, learned.entry, learned.position

    async def expire(self) -> int:
        """Forget rows that have waited too long for their label; how many there were."""
        await self._model_in_place()
        write = requests.expire(self.keeping.remember, self.keeping.expire_as, EXPIRED)
        expired = (await self.conveyor.learn(write)).answer["expired"]
        self.counts.expired += expired
        return int(expired)

    async def _keep_for_ever(self) -> None:
        next_expiry = monotonic()
        while True:
            await asyncio.sleep(0.5)
            try:
                new = self.learned.position - self._saved_position
                late = monotonic() - self._saved_at >= self.keeping.snapshot_seconds
                if not self._swapping and (new >= self.keeping.snapshot_rows or (new and late)):
                    await self.snapshot()
                if monotonic() >= next_expiry:
                    full = await self.expire() >= EXPIRED
                    next_expiry = monotonic() + (0 if full else min(60.0, self.keeping.remember / 10))
            except (Refusal, InputError, OSError) as error:
                say.error("housekeeping has failed, and tries again: %s", error)
                self._saved_at, next_expiry = monotonic(), monotonic() + 10.0
