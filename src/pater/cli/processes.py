"""Learn shards with processes of this machine.

Knows `stream/shards.py` and `multiprocessing`. A process is given one shard at a time and sends back the bytes of a
model file; errors in the input come back as text. A process that dies is replaced, and its shard is learned again.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import wait
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import WorkersError
from .forking import begin_worker, one_thread, signals_held
from .library import announced, import_numba

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pater.stream.sharded_training import Progress
    from pater.stream.shards import Learned, Refused, Shard, Task

_MOST_DEATHS = 4  # on one shard
_TICK, _TOLD_EVERY = 0.1, 0.2  # seconds


class Processes:
    """An engine for `train_in_shards`: a number of processes.

    They start once the files have been examined. `compiling` is called when one has to compile code.
    """

    def __init__(self, number: int, compiling: Callable[[], None]) -> None:
        self._number, self._compiling = number, compiling
        self._workers: list[_Worker] = []
        self._until_the_end = ExitStack()

    def __enter__(self) -> Processes:
        self._context: Any = get_context(self._until_the_end.enter_context(one_thread()))
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        self._until_the_end.close()

    def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of work(*arguments), or a `Refused`."""
        from pater.stream.shards import safely

        return safely(work, *arguments)

    def over(
        self, task: Task, shards: Sequence[Shard], *, wanted: Callable[[int], bool], tick: Callable[[Progress], None]
    ) -> Iterator[tuple[int, Learned | Refused]]:
        """Learn shards, in any order."""
        while len(self._workers) < min(self._number, len(shards)):
            self._workers.append(self._new())
        waiting, deaths, progress = deque(shards), Counter[int](), dict[int, tuple[int, int]]()
        while busy := self._busy(task, waiting, wanted):
            tick(dict(progress))
            for connection in wait(list(busy), _TICK):
                worker, shard = busy[connection]
                kind, answer = worker.heard()
                if kind == "done":
                    worker.shard = None
                    yield shard.number, answer
                elif kind == "so far":
                    progress[shard.number] = answer
                elif kind == "compiling":
                    self._compiling()
                elif kind == "failed":
                    raise WorkersError(f"a worker could not do its part: {answer}.")
                else:
                    deaths[shard.number] += 1
                    if deaths[shard.number] == _MOST_DEATHS:
                        died = f"worker processes died again and again on {shard.shown}"
                        raise WorkersError(f"{died}, perhaps for lack of memory.")
                    waiting.appendleft(shard)
                    self._replace(worker)
        for worker in self._workers:
            worker.stop()  # they end while the model is being written

    def _busy(
        self, task: Task, waiting: deque[Shard], wanted: Callable[[int], bool]
    ) -> dict[Any, tuple[_Worker, Shard]]:
        """Give each idle worker a waiting shard, if there is one; return the busy workers by their connections."""
        for worker in self._workers:
            if worker.shard is not None and not wanted(worker.shard.number):
                self._replace(worker)
        for worker in self._workers:
            while worker.shard is None and waiting:
                shard = waiting.popleft()
                if wanted(shard.number):
                    worker.begin(task, shard)
        return {worker.connection: (worker, worker.shard) for worker in self._workers if worker.shard is not None}

    def _replace(self, worker: _Worker) -> None:
        place = self._workers.index(worker)
        del self._workers[place]  # if no new one can be started, this one is not ended twice
        worker.end()
        self._workers.insert(place, self._new())

    def _new(self) -> _Worker:
        return _Worker(self._context, [worker.connection for worker in self._workers])


class _Worker:
    """A process, and the shard that it learns."""

    def __init__(self, context: Any, others: list[Any]) -> None:
        self.connection, theirs = context.Pipe()
        self.shard: Shard | None = None
        self._task: Task | None = None
        inherited = [self.connection, *others] if context.get_start_method() == "fork" else []
        self._process = context.Process(target=_learn, args=(theirs, inherited), daemon=True, name="pater-worker")
        try:
            with signals_held(), _without_main():
                self._process.start()
        except (EOFError, OSError):
            raise WorkersError("a worker process could not be started, perhaps for lack of memory.") from None
        theirs.close()

    def begin(self, task: Task, shard: Shard) -> None:
        """Let the process learn a shard. If it is dead, that is noticed when it is waited for."""
        self.shard = shard
        with suppress(OSError):
            self.connection.send((None if task is self._task else task, shard))
        self._task = task

    def heard(self) -> tuple[str, Any]:
        """The next message, as its kind and content; ("dead", None) if the process has died."""
        try:
            return self.connection.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            return "dead", None

    def stop(self) -> None:
        """Kill the process without waiting for its end."""
        self.connection.close()
        self._process.kill()

    def end(self) -> None:
        """Kill the process, and wait for its end."""
        self.stop()
        self._process.join()
        self._process.close()


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep processes started inside the block from importing the main program, which would begin another run."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _learn(connection: Connection[Any, Any], inherited: list[Any]) -> None:
    """Learn shards in the process, reporting progress every now and then, until the connection is closed."""
    begin_worker(inherited)
    import_numba()
    from pater.stream.shards import learn_shard, safely

    task: Any = None
    last = time.monotonic()

    def tell(rows: int, done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _TOLD_EVERY:
            last = time.monotonic()
            connection.send(("so far", (rows, done)))

    with suppress(EOFError, ConnectionError), announced(lambda: connection.send(("compiling", None))):
        while True:
            changed, shard = connection.recv()
            task = changed or task
            try:
                answer = "done", safely(learn_shard, task, shard, tell)
            except ConnectionError:
                raise
            except Exception as error:
                why = " ".join(str(error).split())[:200].rstrip(".")
                answer = "failed", f"{type(error).__name__}: {why}"
            connection.send(answer)
