"""What can be wrong with an input, said so that it can be mended: the file, the line, the column."""

from __future__ import annotations

from typing import NamedTuple


class InputError(ValueError):
    """An input that cannot be read, or that is not what its format says."""


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


class MalformedError(InputError):
    """A malformed line, where none is to be skipped."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault
