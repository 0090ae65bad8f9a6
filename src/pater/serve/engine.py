"""The engine of a service: the only one who changes the model, in the order of the log.

Knows `learned`, the log and its writer, and `operating`. It lives in one thread, that of the event loop: what is to be
learned goes to the writer's thread first, comes back when it is on the disk, and is learned here, a few rows at a time,
so that predictions find their turn in between.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from ..formats.errors import InputError
from . import requests
from .errors import Refusal
from .log import Log
from .operating import Operating
from .records import Entry, LabelOf
from .recovery import MODEL, Refused, entries_of, recovered, repaired
from .requests import Written
from .rows import Rows
from .settling import Settling
from .swapping import checked_model
from .transaction import Transaction
from .writer import Done, Writer

OPERATING_POINT = "operating_point"
EXPIRED = 1_000  # rows that wait for a label and are forgotten in one go
KEPT = 3  # snapshots
say = logging.getLogger("pater.serve")


@dataclass(frozen=True)
class Keeping:
    """How long and how much is kept.

    remember, expire_as
        For how many seconds a row waits for its label, and what it is taken for when none comes; None for nothing.
    snapshot_rows, snapshot_seconds
        How often the model is written to a file: after so many rows, or so much time.
    most_classes
        How many labels there may be.
    """

    remember: float = 30 * 86_400.0
    expire_as: Any = None
    snapshot_rows: int = 100_000
    snapshot_seconds: float = 60.0
    most_classes: int = 100


@dataclass
class Counts:
    """What has happened since the start of this process, in rows."""

    predicted: int = 0
    learned: int = 0
    joined: int = 0
    unknown: int = 0
    refused: int = 0
    expired: int = 0


@dataclass
class _Job:
    """What is being written, and who waits for it."""

    future: asyncio.Future[Any]
    written: Written | None = None


class Engine:
    """A service under way, to be used from one event loop."""

    def __init__(self, log: Log, settings: dict[str, Any], keeping: Keeping | None = None, window: int = 1_000) -> None:
        self.log, self.keeping, self.counts = log, keeping or Keeping(), Counts()
        self._settings, self._window = settings, window
        self.writer = Writer(log, self._on_disk)
        self._to_learn: deque[_Job] = deque()
        self._wake, self._idle = asyncio.Event(), asyncio.Event()
        self._open = asyncio.Event()  # closed while a model is swapped in
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self.snapshot_time: float | None = None

    # Starting and stopping

    async def start(self) -> None:
        """Recover what the log comes to, and begin to learn."""
        self._loop = asyncio.get_running_loop()
        self.learned, refused = recovered(self.log, self._settings, self._window)
        self.settling = Settling.of(self.log, self.learned, self._settings, self.keeping.most_classes)
        self.operating = Operating.from_json(self.log.meta(OPERATING_POINT, default={}), self.classes)
        self._threshold = self.operating.threshold(self.learned.quality)
        self._saved_entry, self._saved_rows, self._saved_at = self.learned.entry, self.rows, time.monotonic()
        self.log.folder.sweep(snapshot.file for snapshot in self.log.snapshots())
        self._idle.set()
        self._open.set()
        self._tasks = [asyncio.create_task(self._learn_for_ever()), asyncio.create_task(self._keep_for_ever())]
        await self._mark(refused)
        await self._write(lambda transaction: transaction.event("start", self.told()))

    async def stop(self) -> None:
        """Take nothing more, learn what is on the disk, and write a last snapshot."""
        self._stopping = True
        await self._drained()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self.snapshot()
            await self._write(lambda transaction: transaction.event("stop", self.told()))
        except (Refusal, InputError, OSError) as error:
            say.error("the last snapshot was not written, and the next start learns from the log again: %s", error)
        await asyncio.to_thread(self.writer.stop)
        self.log.close()

    async def _drained(self) -> None:
        """Wait until all that was taken is on the disk and learned."""
        while self.writer.waiting or self._to_learn or not self._idle.is_set():
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
        return self.writer.broken is None

    @property
    def waiting(self) -> int:
        """How many requests wait to be written or learned."""
        return self.writer.waiting + len(self._to_learn)

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
            await self._write(requests.remember(rows, said, self.settling.news()), size=rows.size)
        self.counts.predicted += len(rows)
        named = [({} if name is None else {"id": name}) | answer for name, answer in zip(rows.ids, answers, strict=True)]
        return {"predictions": named, "model": told}

    async def learn(self, rows: Rows, key: str | None = None, digest: bytes = b"") -> dict[str, Any]:
        """Learn from rows; the answer comes when they are on the disk and learned. A key or an id is learned once."""
        written = await self._learned(requests.learn(rows, key, digest, self.settling.news()), size=rows.size)
        self.counts.learned += sum(entry.rows for entry in written.entries)
        return written.answer

    async def labels(self, labels: list[LabelOf]) -> dict[str, Any]:
        """Labels of rows that were predicted: those that are remembered are learned, as they were predicted."""
        self._check_open()
        sound = self.settling.labels(labels)
        written = await self._learned(requests.join(sound, self.settling.news()), size=100 * len(labels))
        self.counts.joined += written.answer["joined"]
        self.counts.unknown += len(written.answer["unknown"])
        return written.answer

    async def model_file(self) -> bytes:
        """The model file, as `pater train` would have written it from the exported log."""
        if self.learned.served is None:
            raise Refusal(409, "there is no model yet: nothing was learned.")
        return await asyncio.to_thread(deepcopy(self.learned.served).content)

    async def swap(self, content: bytes) -> dict[str, Any]:
        """Put another model in the place of this one, which is kept; what was learned so far stays in the log."""
        self._check_open()
        if not self._open.is_set():
            raise Refusal(409, "another model is being swapped in; try again.", retry_after=1)
        self._open.clear()
        try:
            version = 1 + max((each.version for each in self.log.snapshots()), default=self.version)
            path = self.log.folder.model(version)
            served = await asyncio.to_thread(checked_model, content, path, version, self.settling.columns)
            await self._drained()
            quality = deepcopy(self.learned.quality)
            quality.swapped()
            settled = self.settling.as_of(served.learner)

            def write(transaction: Transaction) -> None:
                settled.news()(transaction)
                at = {"entry": self.learned.entry, "position": self.learned.position}
                transaction.snapshot(path.name, **at, version=version, quality=quality.to_json(), kind=MODEL)
                transaction.event("model", {"version": version, "rows": served.rows, "file": path.name})

            await self._write(write)
            self.learned.served, self.learned.quality = served, quality
            self.learned.columns, self.settling = settled.columns, settled
            self._saved_entry = self.learned.entry
            self._threshold = self.operating.threshold(quality)
        finally:
            self._open.set()
        return {"model": self.told(), "classes": self.classes}

    async def set_operating_point(self, wish: Any) -> dict[str, Any]:
        """Decide by another operating point from here on; the model is not touched."""
        operating = Operating.from_json(wish, self.classes)

        def write(transaction: Transaction) -> None:
            transaction.set_meta(OPERATING_POINT, operating.to_json())
            transaction.event("operating point", operating.to_json())

        await self._write(write)
        self.operating, self._threshold = operating, operating.threshold(self.learned.quality)
        return self.operating_point()

    def operating_point(self) -> dict[str, Any]:
        """The operating point in force, and what moving it would do."""
        speaker = self.learned.served.speaker() if self.learned.served is not None else None
        own = speaker.threshold() if speaker is not None and len(self.classes) == 2 else None
        return self.operating.told(self.learned.quality, own)
