"""From a request to the disk, and from there to the model, in one order: that of the log.

Knows the writer's thread and an event loop; knows no model. What was written comes back in groups. What is to be
learned is handed on together, a few rows at a time, and only then are the callers that wait for it answered.
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
from .requests import Written, refusal
from .store.log import Log
from .store.records import Entry
from .store.transaction import Transaction
from .store.writer import Done, Writer

FAILED = "learning has failed, and the server's log says why; start the service again"
Places = dict[int, list[int]]  # by entry number, the places of its rows
T = TypeVar("T")
say = logging.getLogger("pater.serve")


@dataclass(eq=False)
class _Job:
    """A caller that waits for a write, and, if it is to be learned, what was written."""

    future: asyncio.Future[Any]
    learns: bool = False
    written: Written | None = None


class Conveyor:
    """The way to the disk and back.

    take
        Learns entries, pausing after every few rows; raises an InputError if it cannot.
    repair
        Called after such an error with the number of the last entry: learns up to it without the rows that cannot be
        learned, and returns their places by entry number.
    taken
        Called when entries have been learned.
    most
        How many writes may wait.
    """

    def __init__(
        self,
        log: Log,
        take: Callable[[list[Entry]], Iterator[None]],
        repair: Callable[[int], Places],
        taken: Callable[[], None],
        *,
        most: int = 10_000,
    ) -> None:
        self._take, self._repair, self._taken = take, repair, taken
        self._loop = asyncio.get_running_loop()
        self._on_their_way = 0  # to the disk and back; the writer's own count ends before they are back in this thread
        self._learning: set[_Job] = set()  # those that learn and have not been answered yet
        self._to_learn: deque[_Job] = deque()  # those of them that are on the disk
        self._wake, self._is_busy, self._has_failed = asyncio.Event(), False, False
        self._looks: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._unmarked: dict[int, tuple[list[int], list[str]]] = {}  # refused, by entry, and not yet marked on the disk
        self.writer = Writer(log, self._on_disk, most=most)
        self._task = asyncio.create_task(self._learn_for_ever())

    @property
    def waiting(self) -> int:
        """How many requests wait to be written or learned."""
        return self._on_their_way + len(self._to_learn)

    @property
    def broken(self) -> Refusal | None:
        """Why nothing is learned: the last write failed, or learning itself has failed; None if all is well."""
        return Refusal(503, f"{FAILED}.") if self._has_failed else self.writer.broken

    def check(self) -> None:
        """Raise a Refusal if learning has failed: the model may have learned part of an entry."""
        if self._has_failed:
            raise Refusal(503, f"{FAILED}.")

    async def write(self, write: Callable[[Transaction], Any], size: int = 0, *, urgent: bool = False) -> Any:
        """Run a write, and return its result once it is on the disk."""
        return await self._submitted(_Job(self._loop.create_future()), write, size, urgent=urgent)

    async def learn(self, write: Callable[[Transaction], Written], size: int = 0) -> Written:
        """Run a write and learn its entries, then return its result; a Refusal names rows that cannot be learned."""
        self.check()
        written = await self._submitted(_Job(self._loop.create_future(), learns=True), write, size)
        assert isinstance(written, Written)
        return written

    async def _submitted(
        self, job: _Job, write: Callable[[Transaction], Any], size: int, *, urgent: bool = False
    ) -> Any:
        self.writer.submit(job, write, size, urgent=urgent)
        self._on_their_way += 1
        if job.learns:
            self._learning.add(job)
        # The caller may go away; what is on its way is written and learned nevertheless.
        return await asyncio.shield(job.future)

    async def at_rest(self, look: Callable[[], T]) -> T:
        """The result of `look`, called between two entries, when none is half learned."""
        self.check()
        if not self._is_busy:
            return look()
        future: asyncio.Future[T] = self._loop.create_future()
        self._looks.append((look, future))
        return await future

    @property
    def is_marked(self) -> bool:
        """Whether all refused rows are marked so on the disk."""
        return not self._unmarked

    async def drained(self) -> None:
        """Wait until everything accepted for learning is on the disk and learned."""
        while self._learning or self._is_busy:
            await asyncio.sleep(0.002)

    async def stop(self) -> None:
        """Stop once nothing is waiting."""
        await self.drained()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)

    def _on_disk(self, group: list[Done]) -> None:
        """Hand results over; called in the writer's thread."""
        self._loop.call_soon_threadsafe(self._back, group)

    def _back(self, group: list[Done]) -> None:
        self._on_their_way -= len(group)
        for job, result in group:
            if isinstance(result, Exception):
                self._answer(job, result)
            elif job.learns and (result.entry or self._to_learn or self._is_busy):
                job.written = result  # even with nothing to learn: what it reports on is learned first
                self._to_learn.append(job)
            else:
                self._answer(job, result)
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
                    if not self._has_failed:
                        await self._learn(jobs)
                except Exception:  # nobody else would hear of it, and the callers would wait for ever
                    say.exception("learning has failed; what is in the log is learned at the next start")
                    self._has_failed = True
                if self._has_failed:
                    self._put_off(jobs)
                self._look()
                self._is_busy = False

    def _put_off(self, jobs: list[_Job]) -> None:
        """Answer the callers whose rows are on the disk, but will not be learned before the next start."""
        told = "the rows are in the log, and are learned then: do not send them again"
        for job in jobs:
            assert job.written is not None
            self._answer(job, Refusal(500, f"{FAILED}; {told}.") if job.written.entry else job.written)

    def _look(self) -> None:
        looks, self._looks = self._looks, []
        for look, future in looks:
            if future.done():  # the caller has gone away
                continue
            try:
                self.check()
                future.set_result(look())
            except Exception as error:
                future.set_exception(error)

    def _answer(self, job: _Job, result: Any) -> None:
        self._learning.discard(job)
        if job.future.done():
            return
        if isinstance(result, Exception):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)

    async def _learn(self, jobs: list[_Job]) -> None:
        written = {job.written.entry.number: job.written for job in jobs if job.written and job.written.entry}
        entries = [each.entry for each in written.values() if each.entry]
        refused: Places = {}
        try:
            for _ in self._take(entries):
                await _give_way()
        except InputError as error:
            say.warning("rows are refused: %s", error)
            refused = self._repair(entries[-1].number)
        try:
            ids = {number: [written[number].ids[place] for place in places] for number, places in refused.items()}
            await self.mark(refused, ids)
        except Refusal as error:  # the next one tries again; a start from the log would refuse them, too
            say.warning("rows that were refused are not yet marked as refused: %s", error)
        self._taken()
        for job in jobs:
            assert job.written is not None
            self._answer(job, _refusal(job.written, refused) or job.written)

    async def mark(self, refused: Places | None = None, ids: dict[int, list[str | None]] | None = None) -> None:
        """Mark rows as refused in the log, along with any that could not be marked before.

        No model file may replace their entries in the log before that.
        """
        for number, places in (refused or {}).items():
            self._unmarked[number] = places, [name for name in (ids or {}).get(number, ()) if name is not None]
        marks = dict(self._unmarked)

        def write(transaction: Transaction) -> None:
            for number, (places, names) in marks.items():
                transaction.refuse(number, places)
                transaction.disclaim(names)

        if marks:
            await self.write(write, urgent=True)
            for number in marks:
                self._unmarked.pop(number, None)


async def _give_way() -> None:
    """Give others their turn, including requests that arrived while something was being learned."""
    await asyncio.sleep(0)  # they are read after this
    await asyncio.sleep(0)  # and answered after this


def _refusal(written: Written, refused: Places) -> Refusal | None:
    places = [written.places[place] for place in refused.get(written.entry.number, ())] if written.entry else []
    return refusal(places, len(written.places)) if places else None
