"""Primitives written in LLVM, for what Numba cannot express; they know nothing of learning.

Each has a plain twin (`plain`), which takes its place when `PATER_PLAIN=1` is set (for debugging, or to check bounds),
in the interpreter (`NUMBA_DISABLE_JIT=1`), and where the LLVM form cannot be built.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ...compiler.decorators import COMPILES, allocating


def _chosen() -> Any:
    if COMPILES and os.environ.get("PATER_PLAIN", "") in ("", "0"):
        try:
            return import_module(".primitives", __name__)
        except (ImportError, AttributeError):  # a version of the compiler with other names
            pass
    return import_module(".plain", __name__)


_FORM = _chosen()


def with_pairs(function: Any) -> Any:
    """Mark a function that works with pairs, which are arrays in the plain form."""
    return allocating(function) if _FORM.__name__.endswith(".plain") else function


def __getattr__(name: str) -> Any:
    """A primitive, in the form that was chosen."""
    return getattr(_FORM, name)
