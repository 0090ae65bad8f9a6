"""Work done in threads ahead of demand, bounded and in order.

Knows threads only. The results are the same as without threads, item by item, errors included.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_END = object()


def ahead(items: Iterable[T], *, depth: int) -> Generator[T]:
    """The items, taken by a separate thread, at most `depth` ahead of demand."""
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> bool:
        while not stopped.is_set():
            try:
                ready.put((item, error), timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def run() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(_END)
        except BaseException as error:
            put(_END, error)

    # A daemon: a thread that waits for standard input cannot be woken, and must not keep the program from ending.
    threading.Thread(target=run, daemon=True, name="pater-read").start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()


def in_order(work: Callable[[T], R], items: Iterable[T], *, threads: int, depth: int) -> Generator[R]:
    """work(item) for each item, in order, computed by `threads` threads, at most `depth` ahead of demand."""
    pending: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="pater-parse") as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) >= depth:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
