"""How worker processes of this machine begin: as copies of the command where that is safe, else from nothing.

A copy has all that the command has imported, and the compiled code that it has loaded to look at the first rows, which
would take each worker the better part of a second.

Knows `multiprocessing` only.
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
    """One thread for each kind of work, here and in what starts meanwhile; how workers start.

    They are copies on Linux, if NumPy is yet to be imported: libraries that read this then start no threads, of which a
    copy would have none. Those that Arrow starts all the same it starts again in a copy. Elsewhere copies of a process
    that has loaded much are not reliable.
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
    """Signals that end the command wait meanwhile, so that what starts can say first that they are not for it."""
    held = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS) if held else set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of copies of a process with threads: see above
            yield
    finally:
        if held:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker(inherited: Iterable[Any]) -> None:
    """In a worker, first: let go of what is not its own, and do not hear of Ctrl-C, which is for the command alone.

    As long as it held an end of the pipe of another worker, that one would not hear of the end of the command.
    """
    for number in _ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
    for connection in inherited:
        connection.close()
    gc.freeze()  # nothing of the command becomes garbage here, and looking would copy it
