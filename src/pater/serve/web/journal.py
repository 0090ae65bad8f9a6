"""The journal of the service: one line per event on the error stream, for people or, as JSON, for machines."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class Journal:
    """Writes lines. Whatever a name or a label holds, it stays on one line and cannot move the cursor."""

    def __init__(self, *, as_json: bool = False, stream: TextIO | None = None) -> None:
        self._as_json, self._stream = as_json, stream

    def say(self, event: str, *, level: str = "info", **fields: Any) -> None:
        """Write a line for an event; `fields` are its details."""
        now = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        if self._as_json:
            line = json.dumps({"time": at, "level": level, "event": event, **fields}, default=str)
        else:
            told = " ".join(f"{name}={_shown(value)}" for name, value in fields.items())
            line = f"{at} {level} {_printable(event)} {told}".rstrip()
        with suppress(OSError, ValueError):  # if the line cannot be written, the work goes on all the same
            print(line, file=self._stream or sys.stderr, flush=True)

    def fault(self, event: str, error: BaseException, **fields: Any) -> None:
        """Write a line for an unforeseen error, with its traceback."""
        import traceback

        self.say(event, level="error", **fields, traceback="".join(traceback.format_exception(error)))


def _shown(value: Any) -> str:
    if isinstance(value, str) and value and value.isprintable() and not any(c in value for c in ' "='):
        return value
    return _printable(json.dumps(value, default=str, ensure_ascii=False))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class Handler(logging.Handler):
    """Writes what loggers log to a journal."""

    def __init__(self, journal: Journal, above: int) -> None:
        super().__init__(above + 1)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as an event."""
        message = record.getMessage().strip()
        if record.exc_info and record.exc_info[1]:
            self._journal.fault(record.name, record.exc_info[1], message=message)
        else:
            self._journal.say(record.name, level=record.levelname.lower(), message=message)

    @classmethod
    @contextmanager
    def at(cls, loggers: Iterable[logging.Logger], journal: Journal, above: int = logging.DEBUG) -> Iterator[None]:
        """While the block runs, send what the loggers log above a level to the journal, and nowhere else."""
        loggers, handler = list(loggers), cls(journal, above)
        before = [(logger, logger.propagate, logger.level) for logger in loggers]
        for logger in loggers:
            logger.addHandler(handler)
            logger.propagate = False
            logger.setLevel(max(logging.INFO, above))
        try:
            yield
        finally:
            for logger, propagate, level in before:
                logger.removeHandler(handler)
                logger.propagate = propagate
                logger.setLevel(level)
