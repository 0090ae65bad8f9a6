"""Ctrl-C and termination signals: end at once while nothing is at stake, and in good order otherwise.

A short command spends most of its time importing. An exception raised at an arbitrary point of an import may turn into
another one, or get lost. So the program then exits on the spot, and only code with files to tidy up asks for an
exception.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if hasattr(signal, "SIGHUP"):
    _WORDS[signal.SIGHUP] = "hung up"


class Stopped(KeyboardInterrupt):
    """The program has to end: Ctrl-C, or a signal to the same effect."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.word, self.code = _WORDS[signal.Signals(number)], 128 + number


class _State:
    watching = False
    in_order = False
    ending = False
    heard: int | None = None


_state = _State()


def watch() -> None:
    """From here on, signals end the program with the right line and code; what the parent ignores stays ignored."""
    _state.watching = True
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _hear)
    sys.unraisablehook = _unraisable


def stop_in_order() -> None:
    """From here on there is something to tidy up: the first signal raises `Stopped`, the second exits at once."""
    _state.in_order = True


def stop_at_once() -> None:
    """From here on there is nothing left to tidy up."""
    _state.in_order = False


def ignore() -> None:
    """Ignore signals while the last line is being written."""
    if _state.watching:
        for number in _WORDS:
            signal.signal(number, signal.SIG_IGN)


def heard() -> Stopped | None:
    """The first signal, if there was one; any failure after it is attributed to it."""
    return None if _state.heard is None else Stopped(_state.heard)


def _hear(number: int, frame: FrameType | None) -> None:
    first = _state.heard is None
    if first:
        _state.heard = number
    stopped = Stopped(number)
    if _state.in_order and first:
        raise stopped
    if _state.ending:  # a handler may be interrupted by itself: the outer call ends the program
        return
    _state.ending = True
    try:
        os.write(2, f"pater: {stopped.word}\n".encode())
    finally:
        os._exit(stopped.code)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Repeat a signal a moment later if its exception was raised in a destructor or a callback, where it is lost."""
    stopped = what.exc_value
    if isinstance(stopped, Stopped) and hasattr(signal, "setitimer"):
        number = stopped.code - 128
        _state.heard = None
        signal.signal(signal.SIGALRM, lambda _, frame: _hear(number, frame))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
    else:
        sys.__unraisablehook__(what)
