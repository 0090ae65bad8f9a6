"""From a request to the disk, and from there to the model, in one order: that of the log.

Knows the writer's thread and an event loop; knows no model. What was written comes back in groups. What is to be
learned of them is handed on together, a few rows at a time, and only then are those answered who wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ..formats.errors import InputError
from .errors import Refusal
from .log import Log
from .records import Entry
from .requests import Written, refusal
from .transaction import Transaction
from .writer import Done, Writer

T = TypeVar("T")
say = logging.getLogger("pater.serve")


@dataclass
class _Job:
    """Who waits for a write; if it is to be learned, what was written."""

    future: asyncio.Future[Any]
    learns: bool = False
    written: Written | None = None


class Conveyor:
    """The way to the disk and back.

    take
        Learns entries, pausing after every few rows; an InputError if it cannot.
    repair
        Called after such an error with the number of the last entry: learns up to there without the rows that cannot be
        learned, and gives back those, by the number of their entry.
    taken
        Called when entries were learned.
    """

    def __init__(
        self,
        log: Log,
        take: Callable[[list[Entry]], Iterator[None]],
        repair: Callable[[int], dict[int, list[int]]],
        taken: Callable[[], None],
    ) -> None:
        self._take, self._repair, self._taken = take, repair, taken
        self._loop = asyncio.get_running_loop()
        self._to_learn: deque[_Job] = deque()
        self._wake, self._is_busy = asyncio.Event(), False
        self._looks: list[Callable[[], None]] = []
        self._failure: Refusal | None = None
        self._unmarked: dict[int, list[int]] = {}
        self.writer = Writer(log, self._on_disk)
        self._task = asyncio.create_task(self._learn_for_ever())

    @property
    def waiting(self) -> int:
        """How many requests wait to be written or learned."""
        return self.writer.waiting + len(self._to_learn)

    @property
    def broken(self) -> Refusal | None:
        """Why nothing is learned: what came last could not be written, or learning itself has failed."""
        return self._failure or self.writer.broken

    async def write(self, write: Callable[[Transaction], Any], size: int = 0, *, urgent: bool = False) -> Any:
        """What a write gives back, once it is on the disk."""
        return await self._submitted(_Job(self._loop.create_future()), write, size, urgent=urgent)

    async def learn(self, write: Callable[[Transaction], Written], size: int = 0) -> Written:
        """The same of a write whose entries are to be learned, once they are; a Refusal names rows that cannot be."""
        if self._failure is not None:
            raise self._failure
        written = await self._submitted(_Job(self._loop.create_future(), learns=True), write, size)
        assert isinstance(written, Written)
        return written

    async def _submitted(
        self, job: _Job, write: Callable[[Transaction], Any], size: int, *, urgent: bool = False
    ) -> Any:
        self.writer.submit(job, write, size, urgent=urgent)
        # Whoever waits may go away; what is on its way is written and learned nevertheless.
        return await asyncio.shield(job.future)

    async def at_rest(self, look: Callable[[], T]) -> T:
        """What `look` finds between two entries, when none is learned in part."""
        if not self._is_busy:
            return look()
        future: asyncio.Future[T] = self._loop.create_future()
        self._looks.append(lambda: future.set_result(look()))
        return await future

    async def drained(self) -> None:
        """Wait until all that was taken is on the disk and learned."""
        while self.waiting or self._is_busy:
            await asyncio.sleep(0.002)

    async def stop(self) -> None:
        """End, when nothing waits any more."""
        await self.drained()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)

    def _on_disk(self, group: list[Done]) -> None:
        """Called in the writer's thread."""
        self._loop.call_soon_threadsafe(self._back, group)

    def _back(self, group: list[Done]) -> None:
        for job, result in group:
            if isinstance(result, Exception):
                _answer(job, result)
            elif job.learns and result.entries:
                job.written = result
                self._to_learn.append(job)
            else:
                _answer(job, result)
        if self._to_learn:
            self._wake.set()

    async def _learn_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._to_learn:
                self._is_busy = True
                jobs = list(self._to_learn)
                self._to_learn.clear()
                try:
                    await self._learn(jobs)
                except Exception as error:  # nobody else would hear of it, and those who wait would wait for ever
                    say.exception("learning has failed")
                    self._failure = Refusal(503, "learning has failed, which the log of the server tells more of.")
                    for job in jobs:
                        _answer(job, error)
                looks, self._looks = self._looks, []
                for look in looks:
                    look()
                self._is_busy = False

    async def _learn(self, jobs: list[_Job]) -> None:
        entries = [entry for job in jobs for entry in job.written.entries]  # type: ignore[union-attr]
        refused: dict[int, list[int]] = {}
        try:
            for _ in self._take(entries):
                await asyncio.sleep(0)
        except InputError as error:
            say.warning("rows are refused: %s", error)
            refused = self._repair(entries[-1].number)
        await self.mark(refused)
        self._taken()
        for job in jobs:
            assert job.written is not None
            _answer(job, _refusal(job.written, refused) or job.written)

    async def mark(self, refused: dict[int, list[int]]) -> None:
        """Take rows that cannot be learned out of the log; if it cannot be written, with those that come next.

        A start would find them again.
        """
        self._unmarked |= refused
        marked = dict(self._unmarked)

        def write(transaction: Transaction) -> None:
            for number, places in marked.items():
                transaction.refuse(number, places)

        if not marked:
            return
        try:
            await self.write(write, urgent=True)
        except Refusal as refusal:
            say.error("rows that were refused are in the log as yet: %s", refusal.reason)
        else:
            self._unmarked = {}


def _answer(job: _Job, result: Any) -> None:
    if job.future.done():
        return
    if isinstance(result, Exception):
        job.future.set_exception(result)
    else:
        job.future.set_result(result)


def _refusal(written: Written, refused: dict[int, list[int]]) -> Refusal | None:
    places, before = [], 0
    for entry in written.entries:
        places += [before + place for place in refused.get(entry.number, [])]
        before += entry.rows
    asked = [written.places[place] for place in places] if written.places else places
    return refusal(asked, before) if asked else None
