"""The process that workers of this machine are forked from: it imports what they need while the command does so, too.

Knows `multiprocessing` only.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def start_early() -> str:
    """Start the process, unless it is there; how workers are started.

    It has one thread for each kind of work, and it does not hear of Ctrl-C, which is for the command alone.
    """
    if not hasattr(os, "fork"):
        return "spawn"
    from multiprocessing import forkserver, get_context

    get_context("forkserver").set_forkserver_preload(["pater.cli.ready_worker"])
    told = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker")))  # of a killed command
    with _environment({**_ONE_THREAD, "PYTHONWARNINGS": told}), _deaf():
        forkserver.ensure_running()
    return "forkserver"


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf() -> Iterator[None]:
    """What starts meanwhile does not hear of Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
