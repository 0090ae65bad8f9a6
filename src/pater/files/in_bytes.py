"""Model files that travel: as bytes in memory, for those who send them from one process to another.

Knows `writing` only. What is sent is what a file would hold, by the same checks, and never code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .writing import in_passing

T = TypeVar("T")


def to_bytes(save: Callable[[Path], object]) -> bytes:
    """What `save` writes to a file."""
    with tempfile.TemporaryDirectory(prefix="pater-") as folder, in_passing():
        path = Path(folder, "model.pater")
        save(path)
        return path.read_bytes()


def from_bytes(content: bytes, load: Callable[[Path], T]) -> T:
    """What `load` makes of a file of this content."""
    with tempfile.TemporaryDirectory(prefix="pater-") as folder:
        path = Path(folder, "model.pater")
        path.write_bytes(content)
        return load(path)
