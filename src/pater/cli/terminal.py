"""What a running command shows: a moving bar on a terminal, plain lines elsewhere. Always on the error stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pater.stream.errors import Skipped


class Progress(Protocol):
    """Something that shows how far a command is."""

    def step(self, label: str, done: int, total: int) -> None:
        """For the bar: `done` of `total` are done, `label` is what is being done; a total of 0 is not known."""

    def milestone(self, text: str) -> None:
        """For the plain lines: something worth a line has happened."""


def say(message: str) -> None:
    """A line for the reader, not for a pipe."""
    print(message, file=sys.stderr, flush=True)


def say_skipped(skipped: Skipped) -> None:
    """How many lines were left out, if any, and the first few of them."""
    if not skipped.count:
        return
    n = skipped.count
    say("1 malformed line was skipped:" if n == 1 else f"{n:,} malformed lines were skipped; the first of them:")
    for fault in skipped.first:
        say(f"  {fault}")


@contextmanager
def progress(title: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """Show progress while the block runs."""
    if sys.stderr.isatty():
        with _Bar(title, in_bytes) as bar:
            yield bar
    else:
        yield _Lines()


class _Bar:
    def __init__(self, title: str, in_bytes: bool) -> None:
        from rich import progress as rich
        from rich.console import Console

        amount: rich.ProgressColumn = rich.DownloadColumn() if in_bytes else rich.MofNCompleteColumn()
        description, label = rich.TextColumn("{task.description}"), rich.TextColumn("{task.fields[label]}")
        columns = (description, rich.BarColumn(), amount, rich.TimeElapsedColumn(), label)
        self._bars = rich.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task(title, total=None, label="")

    def __enter__(self) -> _Bar:
        self._bars.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bars.stop()

    def step(self, label: str, done: int, total: int) -> None:
        self._bars.update(self._task, completed=done, total=total or None, label=label)

    def milestone(self, text: str) -> None:
        pass


class _Lines:
    def step(self, label: str, done: int, total: int) -> None:
        pass

    def milestone(self, text: str) -> None:
        say(text)
