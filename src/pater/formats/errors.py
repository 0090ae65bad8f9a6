"""What can be wrong with an input, reported so that it can be mended: with the file, the line and the column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ..kernels.errors import SentWhole
from ..models.hints import Hint as Hint  # re-exported for readers

LONGEST_SHOWN = 40  # characters of a word that a message repeats
MOST_SHOWN = 20  # names that a message lists


def shortened(text: bytes | str) -> str:
    """A word of the input, cut short for a message."""
    text = text[: LONGEST_SHOWN + 1] if isinstance(text, str) else text[: 4 * LONGEST_SHOWN].decode("utf-8", "replace")
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def listed(names: Sequence[str]) -> str:
    """Names as a message lists them: the first few, if there are many."""
    shown = ", ".join(shortened(name) for name in names[:MOST_SHOWN])
    return shown if len(names) <= MOST_SHOWN else f"{shown} and {len(names) - MOST_SHOWN:,} more"


class UnseenLabelWarning(UserWarning):
    """A class weight for a label that has not come yet."""


class InputError(ValueError):
    """An input that cannot be read, or that is not what its format says."""


class ArgumentError(SentWhole, InputError):
    """An argument that makes no sense. A command says the name of its option instead of the name in Python."""

    def __init__(self, argument: str, what: str) -> None:
        super().__init__(f"{argument} {what}")
        self.argument, self.what = argument, what


@dataclass
class Skipped:
    """The rows left out of a stream: how many, and the first few of them. The others are not kept."""

    KEPT: ClassVar = 5

    count: int = 0
    first: list[Fault] = field(default_factory=list)

    def add(self, faults: Sequence[Fault]) -> None:
        """Add the faults of one more batch."""
        self.count += len(faults)
        room = self.KEPT - len(self.first)
        if room > 0:
            self.first += sorted(faults, key=lambda fault: fault.line)[:room]


class Fault(NamedTuple):
    """One malformed line. Lines and columns count from 1; column 0 stands for the whole line."""

    source: str
    line: int
    column: int
    what: str
    unit: str = "line"  # or "row", in a file that has no lines

    def __str__(self) -> str:
        place = f"{self.source}, {self.unit} {self.line}"
        return f"{place}, column {self.column}: {self.what}" if self.column else f"{place}: {self.what}"


class MalformedError(SentWhole, InputError):
    """A malformed line, where skipping is not allowed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault}. --on-error skip leaves such {fault.unit}s out.")
        self.fault = fault
