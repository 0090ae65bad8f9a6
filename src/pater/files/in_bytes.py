"""Model files as bytes in memory, to send them from one process to another.

Knows `writing` only. The bytes are those of a file, with the same checks, and never contain code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .writing import in_passing

T = TypeVar("T")


def to_bytes(save: Callable[[Path], object]) -> bytes:
    """The bytes that `save` writes to a file."""
    with tempfile.TemporaryDirectory(prefix="pater-") as folder, in_passing():
        path = Path(folder, "model.pater")
        save(path)
        return path.read_bytes()


def from_bytes(content: bytes, load: Callable[[Path], T]) -> T:
    """The result of `load` for a file with this content."""
    with tempfile.TemporaryDirectory(prefix="pater-") as folder:
        path = Path(folder, "model.pater")
        path.write_bytes(content)
        return load(path)
