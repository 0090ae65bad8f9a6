"""What is said when kernels have to be compiled, so that nobody wonders why nothing happens. Knows nothing of Numba."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress

COMPILING = "compiling, once, up to half a minute; kept for next time"
_said = False


def say_compiling() -> None:
    """Say, once a process and on a terminal only, why nothing happens for a while."""
    global _said
    if not _said and sys.stderr is not None and sys.stderr.isatty():
        with suppress(OSError):
            print(f"pater: {COMPILING}", file=sys.stderr, flush=True)
    _said = True


on_compiling: Callable[[], None] = say_compiling
"""Called whenever a kernel is about to be compiled. The command line has its own ways to show it."""
