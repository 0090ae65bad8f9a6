"""Learn shards with the workers of dask.distributed: a cluster that can read the files.

Knows `stream/shards.py` and Dask, which is imported only when needed. A worker sends back the bytes of a model file;
errors in the input come back as text.
"""

from __future__ import annotations

import gc
import logging
import os
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pater import __version__

from .errors import WorkersError

if TYPE_CHECKING:
    from pater.stream.sharded_training import Progress
    from pater.stream.shards import Learned, Refused, Shard, Task

PATIENCE, ANSWER = 60.0, 10.0  # seconds to wait for a worker, and for the scheduler
_TICK, _TOLD_EVERY, _LOOK_EVERY = 0.1, 0.2, 2.0  # seconds


class Cluster:
    """An engine for `train_in_shards`: the cluster of a scheduler.

    It connects while the command imports what it needs. `compiling` is called when a worker has to compile code.
    """

    def __init__(self, scheduler: str, compiling: Callable[[], None]) -> None:
        self._scheduler, self._compiling = scheduler, compiling
        self._client: Any = None
        self._failed = ""
        self._workers = 1
        self._seen = time.monotonic()  # when there was last a worker
        self._looked = 0.0
        self._topic = f"pater-{os.getpid()}-{time.time_ns()}"

    def __enter__(self) -> Cluster:
        import_module("distributed")
        warnings.filterwarnings("ignore", module=r"(dask|distributed)\b")  # about ports and sizes of graphs
        self._starting = threading.Thread(target=self._start, daemon=True, name="pater-workers")
        self._starting.start()
        return self

    def _start(self) -> None:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            client = import_module("distributed").Client
            self._client = client(self._scheduler, timeout=ANSWER, set_as_default=False)
        except BaseException as error:  # raised again where the client is waited for
            self._failed = " ".join(str(error).split()) or type(error).__name__
        if self._failed:
            gc.collect()  # a failed client that is collected while another starts would keep that one from starting

    def _started(self) -> Any:
        self._starting.join()
        if self._failed:
            raise WorkersError(f"no scheduler answers at {self._scheduler}: {self._failed[:200].rstrip('.')}.")
        return self._client

    def __exit__(self, *_: object) -> None:
        self._starting.join()
        if self._client is not None:
            with suppress(Exception):
                self._client.close(timeout=5)

    def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of work(*arguments), or a `Refused`; runs on a worker, where the files are."""
        future = self._started().submit(_do, __version__, work, *arguments, pure=False)
        while future.status == "pending":
            time.sleep(_TICK)
            self._look_for_workers()
        return self._result(future, "the files")

    def over(
        self, task: Task, shards: Sequence[Shard], *, wanted: Callable[[int], bool], tick: Callable[[Progress], None]
    ) -> Iterator[tuple[int, Learned | Refused]]:
        """Learn shards; only as many are handed out at a time as keep the workers busy."""
        client, waiting = self._started(), deque(shards)
        ready, futures, progress = queue.Queue[int](), dict[int, Any](), dict[int, tuple[int, int]]()
        by_number = {shard.number: shard for shard in shards}

        def note(event: tuple[float, tuple[int, int, int]]) -> None:
            number, rows, done = event[1]
            if rows >= 0:
                progress[number] = rows, done
            else:
                self._compiling()

        client.subscribe_topic(self._topic, note)
        while waiting or futures:
            while waiting and len(futures) < 2 * max(1, self._look_for_workers()):
                shard = waiting.popleft()
                if wanted(shard.number):
                    future = client.submit(
                        _learn, __version__, self._topic, task, shard, pure=False, priority=-shard.number
                    )
                    futures[shard.number] = future
                    future.add_done_callback(lambda _, number=shard.number: ready.put(number))
            for number in [number for number in futures if not wanted(number)]:
                futures.pop(number).cancel()
            if not futures:
                continue
            tick(dict(progress))
            with suppress(queue.Empty):
                number = ready.get(timeout=_TICK)
                if number in futures:
                    yield number, self._result(futures.pop(number), by_number[number].shown)

    def _result(self, future: Any, what: str) -> Any:
        killed = import_module("distributed").KilledWorker
        try:
            return future.result()
        except killed:
            raise WorkersError(
                f"worker processes died again and again on {what}, perhaps for lack of memory."
            ) from None
        except Exception as error:
            why = " ".join(str(error).split())[:200].rstrip(".")
            raise WorkersError(f"a worker could not do its part: {type(error).__name__}: {why}.") from None

    def _look_for_workers(self) -> int:
        """The number of workers' threads; an error if there has been no worker for too long."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            try:
                self._workers = sum(self._client.nthreads().values())
            except Exception as error:
                raise WorkersError(f"the workers are lost: {type(error).__name__}.") from None
            if self._workers:
                self._seen = now
            elif now - self._seen > PATIENCE:
                raise WorkersError(f"there has been no worker for {PATIENCE:.0f} seconds.")
        return self._workers


def _do(version: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work on a worker, unless the worker has another version of the package than the caller."""
    from pater.stream.shards import Refused, safely

    if version != __version__:
        return Refused(f"a worker has pater {__version__}, but here it is {version}; install the same everywhere.")
    return safely(work, *arguments)


def _learn(version: str, topic: str, task: Task, shard: Shard) -> Any:
    """Learn a shard on a worker, reporting progress every now and then."""
    from pater.stream.shards import learn_shard

    from .library import announced

    worker, last = import_module("distributed").get_worker(), time.monotonic()

    def tell(rows: int, done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _TOLD_EVERY:
            last = time.monotonic()
            worker.log_event(topic, (shard.number, rows, done))

    with announced(lambda: worker.log_event(topic, (shard.number, -1, 0)), alone=False):
        return _do(version, learn_shard, task, shard, tell)
