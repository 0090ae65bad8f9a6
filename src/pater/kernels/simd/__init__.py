"""What the passes need of the processor that Numba has no word for: where kernels are written in LLVM.

Knows Numba and LLVM; knows nothing of learning. Each primitive has a plain twin (`plain`), which takes its place when
`PATER_PLAIN=1` is set, to be debugged or run with every place checked, in the interpreter (`NUMBA_DISABLE_JIT=1`), and
where LLVM's own form cannot be had.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ..compile import COMPILES


def _chosen() -> Any:
    if COMPILES and os.environ.get("PATER_PLAIN", "") in ("", "0"):
        try:
            return import_module(".primitives", __name__)
        except (ImportError, AttributeError):  # a version of the compiler with other names
            pass
    return import_module(".plain", __name__)


_FORM = _chosen()
PLAIN = _FORM.__name__.endswith(".plain")


def __getattr__(name: str) -> Any:
    """A primitive, in the form that was chosen."""
    return getattr(_FORM, name)
