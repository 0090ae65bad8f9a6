"""Run tasks on the workers of a cluster, or in this process.

Knows Dask's schedulers. The versions on all workers are checked before they get to work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import dask
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, wait

from ..estimators.blocks import BlockError, OtherVersionError, versions
from .tasks import other_versions

AHEAD = 2  # how many blocks of a sequence are submitted ahead
# A text for `eval`: a worker with another Python could not read a function, and one without pater could not import it.
_ASK = (
    "(__import__('pater').__version__ if __import__('importlib.util').util.find_spec('pater') else None, "
    "'%d.%d' % __import__('sys').version_info[:2])"
)


class Engine:
    """Computes tasks on the cluster of a client, by default the current one; without a client, in this process."""

    def __init__(self, client: Any = None) -> None:
        if client is not None and not isinstance(client, Client):
            raise TypeError(f"client must be a dask.distributed.Client, got {client!r}.")
        if client is not None and client.asynchronous:
            raise ValueError("client is asynchronous; give one that is not, or None.")
        found = getattr(get_scheduler(scheduler=client), "__self__", None)
        self.client = found if isinstance(found, Client) else None
        self._token = uuid4().hex[:8]
        self.check()

    def check(self) -> None:
        """Raise an error if a worker has another version of pater or Python."""
        told = self._what_is_wrong()
        if told is not None:
            raise OtherVersionError(told)

    def _what_is_wrong(self) -> str | None:
        """A message about the first worker with other versions; None if there is none."""
        found = {} if self.client is None else self.client.run(eval, _ASK, on_error="return")
        for worker, told in found.items():
            if isinstance(told, OSError):  # it cannot be reached, and others do its work
                continue
            if isinstance(told, BaseException):
                return f"the worker {worker} cannot say which version of pater it has: {told!r}."
            if told != versions():
                return other_versions(worker, told, versions())
        return None

    def task(self, call: Callable[..., Any], number: int, *arguments: Any) -> Delayed:
        """A task with a name of its own."""
        name = f"{call.func.__name__ if isinstance(call, partial) else call.__name__}-{self._token}-{number}"
        return delayed(call, pure=False)(*arguments, dask_key_name=name)

    def chain(self, call: Callable[[int], Callable[[Any, Any], Any]], tasks: list[Delayed]) -> Delayed:
        """Fold the tasks from left to right: task number k is combined with the result so far by `call(k)`."""
        layer, before, name = dict[str, Any](), tasks[0].key, f"chain-{self._token}"
        for number, task in enumerate(tasks[1:], start=1):
            made = f"{name}-{number}"
            layer[made] = (call(number), before, task.key)
            before = made
        graph = HighLevelGraph.from_collections(name, layer, dependencies=tasks)  # one layer, since many would be slow
        return Delayed(before, graph, layer=name) if layer else tasks[0]

    def results(self, *tasks: Delayed) -> tuple[Any, ...]:
        """The results of tasks."""
        with self._said_briefly():
            found: tuple[Any, ...] = dask.compute(*tasks, scheduler=self.client)
            return found

    def kept(self, *tasks: Delayed) -> tuple[Delayed, ...]:
        """The same tasks, computed once and kept where they are."""
        with self._said_briefly():
            found: tuple[Delayed, ...] = dask.persist(*tasks, scheduler=self.client)
            return found

    def in_sequence(self, tasks: Callable[[int, Any], Delayed], n: int, start: Any) -> Any:
        """Run tasks that each take the result of the previous one, a few submitted ahead; return the last result."""
        state, waiting = start, deque[Any]()
        with self._said_briefly():
            for number in range(n):
                task = tasks(number, state)
                if self.client is None:
                    (state,) = dask.compute(task)
                    continue
                state = self.client.compute(task)
                waiting.append(state)
                if len(waiting) > AHEAD:
                    self._wait(waiting.popleft())
            for future in waiting:
                self._wait(future)
        return state

    def _wait(self, future: Any) -> None:
        """Wait without fetching the result, which may be rows; raise the task's error, if any."""
        wait(future)
        if future.status == "error":
            future.result()

    @contextmanager
    def _said_briefly(self) -> Iterator[None]:
        """Raise the errors of tasks without the stack of the worker."""
        try:
            yield
        except BlockError as error:
            raise ValueError(str(error)) from None
        except OtherVersionError as error:
            raise OtherVersionError(str(error)) from None
        except Exception as error:
            told = self._what_is_wrong()  # a worker without pater cannot report that itself
            if told is None:
                raise
            raise OtherVersionError(told) from error
