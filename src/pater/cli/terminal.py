"""Output of the program: everything written for a reader passes through here, and unprintable characters are escaped.

Results go to standard output, everything else to the error stream: a moving bar on a terminal, plain lines elsewhere.
A name, a label or a path may hold anything, even characters that move the cursor or reverse a line.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from .errors import CommandError

if TYPE_CHECKING:
    from pater.formats.errors import Skipped


class Progress(Protocol):
    """A display of the progress of a command."""

    def step(self, label: str, done: int, total: int) -> None:
        """Update the bar: `done` of `total` are done, and `label` is being done; a total of 0 means unknown."""

    def milestone(self, text: str) -> None:
        """Print a plain line for something worth one; a bar ignores it."""


def printable(text: str) -> str:
    r"""The text with unprintable characters replaced by escapes such as \x1b, \n or \u202e."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a path that is not UTF-8, as Python represents it
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def tell(text: str = "") -> None:
    """Print a line of the result on standard output."""
    _write(printable(text))


def tell_json(value: Any, **layout: Any) -> None:
    """Print a result for machines on standard output. It is plain ASCII: JSON has an escape for every character."""
    _write(json.dumps(value, **layout))


def _write(line: str) -> None:
    with output_errors():
        print(line, flush=True)


@contextmanager
def output_errors() -> Iterator[None]:
    """Turn an error in writing a result into a one-line CommandError."""
    try:
        yield
    except OSError as error:
        raise CommandError(why_not(error)) from None


def why_not(error: OSError) -> str:
    """Why a result cannot be written."""
    if error.errno == errno.EPIPE:
        return "standard output: the reader has gone away."
    return "standard output is closed." if error.errno == errno.EBADF else f"standard output: {error.strerror or error}"


def say(message: str) -> None:
    """Print a line for the reader on the error stream. If it cannot be written, the work goes on all the same."""
    with suppress(OSError):
        print(printable(message), file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """Print a message as one line that begins with the program's name."""
    say(f"pater: {' '.join(message.split())}")


def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning of Python's `warnings` without the line of code that raised it."""
    from pater.formats.errors import Hint

    complain(f"{'hint' if isinstance(message, Hint) else 'warning'}: {message}")


def say_skipped(skipped: Skipped) -> None:
    """Print how many lines were skipped, if any, and the first few of them."""
    if not skipped.count:
        return
    n = skipped.count
    say("1 malformed line was skipped:" if n == 1 else f"{n:,} malformed lines were skipped; the first of them:")
    for fault in skipped.first:
        say(f"  {fault}")


def open_streams() -> None:
    """Open the null device for every standard stream that the parent has closed.

    Otherwise the next file to be opened would get the stream's number, and be written to in its place. Messages for the
    reader are then lost; reading input or writing a result fails, as it should.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):  # characters that its encoding lacks are escaped, too
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def terminal() -> IO[bytes] | None:
    """A stream for data if standard output is a terminal; None elsewhere, where data is written as it is."""
    return cast("IO[bytes]", _Terminal()) if sys.stdout.isatty() else None


class _Terminal(io.RawIOBase):
    """A stream that takes whole lines of text, and shows them with escapes."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        lines = bytes(data).decode(errors="backslashreplace").split("\n")
        sys.stdout.write("\n".join(map(printable, lines)))
        sys.stdout.flush()
        return len(data)


def flush() -> None:
    """Flush the rest of the result, so that the interpreter has nothing left to write when it ends."""
    try:
        with output_errors():
            sys.stdout.flush()
    except CommandError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise


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
        description, label = (
            rich.TextColumn(field, markup=False) for field in ("{task.description}", "{task.fields[label]}")
        )
        columns = (description, rich.BarColumn(), amount, rich.TimeElapsedColumn(), label)
        self._bars = rich.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bars.add_task(title, total=None, label="")

    def __enter__(self) -> _Bar:
        self._bars.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bars.stop()

    def step(self, label: str, done: int, total: int) -> None:
        self._bars.update(self._task, completed=done, total=total or None, label=printable(label))

    def milestone(self, text: str) -> None:
        pass


class _Lines:
    def step(self, label: str, done: int, total: int) -> None:
        pass

    def milestone(self, text: str) -> None:
        say(text)
