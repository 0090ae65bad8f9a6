"""What a service does by itself: write snapshots of the model, and forget rows whose labels never came.

Knows the engine. What fails is tried again: the log has all that was learned, so without a snapshot the next start only
takes longer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from copy import deepcopy
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..files.container import ModelFileError
from ..formats.errors import InputError
from ..stream.learner import Learner
from . import requests
from .errors import Refusal
from .quality.volumes import EXPIRED
from .store.transaction import Transaction

if TYPE_CHECKING:
    from .engine import Engine

TICK = 0.5  # seconds
SHORTEST_REST, LONGEST_REST, AFTER_A_FAILURE = 1.0, 60.0, 10.0
AT_ONCE = 1_000  # rows forgotten in one transaction
KEPT = 3  # snapshots
TOLD = 5  # snapshots listed in the history
say = logging.getLogger("pater.serve")


class Housekeeping:
    """The background tasks of an engine that has started.

    saved_at, saved_position
        When the last snapshot was written, in seconds since 1970, and how many rows of the log it covers.
    snapshots
        The last few, as listed in the model's history.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        snapshots = engine.log.snapshots()
        self.saved_at = snapshots[-1].time if snapshots else None
        self.saved_position = snapshots[-1].position if snapshots else None
        self._entry = snapshots[-1].entry if snapshots else 0
        self.snapshots: deque[dict[str, Any]] = deque(maxlen=TOLD)
        for each in snapshots:
            if each.kind == "snapshot":
                self._note(each.time, each.version, each.position)
        self._last_look, self._is_wanted = monotonic(), False
        self._ended = asyncio.Event()
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Stop, after finishing what is being written."""
        self._ended.set()
        await self._task

    def is_saved(self, entry: int, position: int) -> None:
        """Note that a model file covers everything up to an entry."""
        self._entry, self.saved_position, self.saved_at = entry, position, self._engine.log.now()
        self._last_look = monotonic()

    def _note(self, time: float, version: int, position: int) -> None:
        self.snapshots.append({"time": time, "kind": "snapshot", "version": version, "position": position})

    def want_snapshot(self) -> None:
        """Ask for a snapshot soon: what came since the last one had to be learned again."""
        self._is_wanted = True

    async def snapshot(self) -> None:
        """If there is anything new, write the model to a file that the next start can continue from."""
        engine, self._is_wanted = self._engine, False
        await engine.conveyor.mark()
        taken = await engine.conveyor.at_rest(self._copied)
        if taken is None:
            self._last_look = monotonic()
            return
        learner, version, quality, entry, position = taken
        path = engine.log.folder.snapshot(entry)
        await asyncio.to_thread(learner.save, path, progress={"entry": entry, "position": position, "version": version})

        def write(transaction: Transaction) -> list[str]:
            transaction.snapshot(path.name, entry=entry, position=position, version=version, quality=quality)
            return transaction.forget_snapshots(keep=KEPT)

        engine.log.folder.remove(await engine.conveyor.write(write))
        self.is_saved(entry, position)
        self._note(engine.log.now(), version, position)

    def _copied(self) -> tuple[Learner, int, dict[str, Any], int, int] | None:
        """What a snapshot is made of; None if the last one is up to date, or rows are still held back."""
        learned, served = self._engine.learned, self._engine.learned.served
        if served is None or not served.is_settled or learned.entry == self._entry:
            return None
        if not self._engine.conveyor.is_marked:  # only a start from the log would find those rows again
            return None
        quality = learned.quality.to_json()
        return deepcopy(served.learner), served.version, quality, learned.entry, learned.position

    async def expire(self) -> int:
        """Forget rows that have waited too long for their label; return how many."""
        engine, keeping, expired, more = self._engine, self._engine.keeping, 0, True
        while more and not self._ended.is_set():
            await engine.model_in_place()
            label = None
            if keeping.expire_as is not None and engine.log.count("pending"):
                label = engine.settling.label_of_text(keeping.expire_as)
            write = requests.expire(keeping.remember, label, AT_ONCE, engine.settling.news())
            with engine.settling.under_way([] if label is None else [label]) as learned:
                written = await engine.conveyor.learn(write)
                learned.difference_update(() if written.entry else (label,))
            answer = written.answer
            expired, more = expired + answer["expired"], answer["more"]
            engine.count(EXPIRED, answer["expired"])
        return expired

    async def _has_ended(self) -> bool:
        """Wait a moment, then return whether it is time to stop."""
        try:
            await asyncio.wait_for(self._ended.wait(), TICK)
        except TimeoutError:
            return False
        return True

    async def _work(self) -> None:
        next_snapshot = next_expiry = monotonic()
        keeping = self._engine.keeping
        rest = min(LONGEST_REST, max(SHORTEST_REST, keeping.remember / 10))
        while not await self._has_ended():
            if monotonic() >= next_snapshot and self._is_due() and not await self._tried(self.snapshot):
                next_snapshot = monotonic() + AFTER_A_FAILURE
            if monotonic() >= next_expiry:
                next_expiry = monotonic() + (rest if await self._tried(self.expire) else AFTER_A_FAILURE)

    def _is_due(self) -> bool:
        keeping, new = self._engine.keeping, self._engine.learned.position - (self.saved_position or 0)
        late = monotonic() - self._last_look >= keeping.snapshot_seconds
        return not self._engine.is_swapping and (self._is_wanted or new >= keeping.snapshot_rows or (new != 0 and late))

    async def _tried(self, work: Callable[[], Awaitable[Any]]) -> bool:
        """Whether the work succeeded; if it failed, the service goes on, and so does this task."""
        try:
            await work()
        except Exception as error:
            foreseen = isinstance(error, (Refusal, InputError, ModelFileError, OSError))
            say.error("housekeeping has failed, and tries again: %s", error, exc_info=not foreseen)
            return False
        return True
