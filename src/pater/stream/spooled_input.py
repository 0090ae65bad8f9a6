"""Standard input kept in a temporary file, for callers that have to read it twice.

Knows `sources`. Messages still call it standard input.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..formats.errors import InputError
from ..formats.reading import Input
from ..formats.sources import STANDARD_INPUT, Source

_AT_ONCE = 1 << 20
_BY_FOOTER = ("parquet", "arrow")  # which cannot come through a pipe


@dataclass
class Spooled(Source):
    """A file in place of standard input."""

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return "standard input"


@contextmanager
def spooled(source: Input) -> Iterator[Input]:
    """The input, with a file in place of standard input; it is removed afterwards."""
    piped = [each for each in source.sources if each.name == STANDARD_INPUT and each.format not in _BY_FOOTER]
    if not piped:
        yield source
        return
    with tempfile.NamedTemporaryFile(prefix="pater-") as file:
        reader = piped[0].open()
        while part := reader.read(_AT_ONCE):
            try:
                file.write(part)
                file.flush()
            except OSError as error:
                what = f"{file.name}, a copy of standard input, cannot be written: {error.strerror or error}"
                raise InputError(f"{what}. TMPDIR names another folder for it.") from None
        copy = Spooled(file.name, piped[0].format, os.path.getsize(file.name))
        yield replace(source, sources=[copy if each is piped[0] else each for each in source.sources])
