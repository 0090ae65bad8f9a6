"""Start worker processes on this machine: as forks of the command where that is safe, otherwise from scratch.

A fork has everything that the command has imported, and the compiled code that it has loaded to examine the first rows;
loading these would take each worker the better part of a second.

Knows only processes and signals.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_ENDINGS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def one_thread() -> Iterator[str]:
    """Limit libraries to one thread, here and in processes started inside the block; yield how workers start.

    On Linux they are forks, provided that NumPy has not been imported yet: libraries that read these variables then
    start no threads, which a fork would lack. Arrow starts threads all the same, and starts them again in a fork.
    Elsewhere, forks of a process that has loaded much are not reliable.
    """
    way = "fork" if sys.platform == "linux" and "numpy" not in sys.modules else "spawn"
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield way
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back signals that end the command inside the block, until a new process has set its own handlers."""
    held = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS) if held else set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forks of a process with threads: see above
            yield
    finally:
        if held:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker(inherited: Iterable[Any]) -> None:
    """Set up a worker, before anything else: close inherited pipes, and ignore Ctrl-C, which only the command handles.

    As long as a worker held an end of another worker's pipe, that one would not notice the end of the command.
    """
    for number in _ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # it is under nohup
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
    for connection in inherited:
        connection.close()
    gc.freeze()  # no object of the command becomes garbage here, and examining them would copy their pages
