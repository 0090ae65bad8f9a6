"""What the name of an output says: its format, and whether the text in it is compressed.

Knows `sources` and `compression`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

from .compression import compressing
from .errors import InputError
from .sources import BY_ENDING, FORMAT_BY_ENDING

_NOT_WRITTEN = {".zip": "a zip archive", ".7z": "an archive", ".xlsx": "an Excel workbook", ".xls": "an Excel workbook"}
_NOT_PACKED = ("parquet", "arrow")


def ending_of(name: str | os.PathLike[str]) -> str:
    """The ending that names the format, in lower case: .csv of table.csv.gz. An error for what is never written."""
    path = Path(name)
    ending = path.suffix.lower()
    if ending in _NOT_WRITTEN:
        what = f"{path}: {_NOT_WRITTEN[ending]} cannot be written"
        raise InputError(f"{what}; name a file that ends in .csv or .csv.gz, for example.")
    return path.with_suffix("").suffix.lower() if ending in BY_ENDING else ending


def format_of_output(name: str | os.PathLike[str]) -> str | None:
    """The format that the ending of an output names, if it names one."""
    return FORMAT_BY_ENDING.get(ending_of(name))


def check_output(name: str | os.PathLike[str] | None, format: str) -> None:
    """Raise an error if a file of this name could not be read again, whatever its format is said to be."""
    if name is None:
        return
    ending_of(name)
    if Path(name).suffix.lower() in BY_ENDING and format in _NOT_PACKED:
        raise InputError(f"{name}: {format} is compressed inside; name it {Path(name).with_suffix('')}.")


@contextmanager
def packed(opened: AbstractContextManager[IO[bytes]], name: str | os.PathLike[str] | None) -> Iterator[IO[bytes]]:
    """An output to write, which compresses what it is given if its name says so."""
    kind = None if name is None else BY_ENDING.get(Path(name).suffix.lower())
    with opened as file:
        if kind is None:
            yield file
            return
        with compressing(file, kind, str(name)) as inside:
            yield inside
