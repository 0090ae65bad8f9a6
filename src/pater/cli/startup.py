"""What a command that learns does not wait for, and what it says if it has to."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_BLAS = "scipy.linalg.cython_blas"
_YAML, _SETTINGS = "yaml", ".numba_config.yaml"


def prepare() -> None:
    """What a process that is a command wants otherwise than Python and NumPy have it by themselves.

    Garbage is looked for less often: what imports leave is none, and looking takes a tenth of their time. Threads of
    NumPy's linear algebra, which most commands never need, sleep as soon as they have nothing to do: by themselves each
    keeps a processor busy for a tenth of a second first.
    """
    gc.set_threshold(500_000, *gc.get_threshold()[1:])
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


@contextmanager
def announced(compiling: Callable[[], None]) -> Iterator[None]:
    """Call `compiling` before kernels are compiled, which takes seconds, while the block runs."""
    from pater.kernels import compile as _compile

    _compile.on_compiling = compiling
    try:
        yield
    finally:
        _compile.on_compiling = None


def without_blas() -> None:
    """Let Numba begin without SciPy's linear algebra, a tenth of the time it takes `pater train` to begin.

    Numba looks whether it is there as it loads its own functions, and remembers the answer for `np.convolve` and
    `np.correlate` only. No kernel here uses either. YAML it needs for a file of settings, if there is one in this
    folder. Both are imported as ever by whoever needs them later.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    absent = [name for name in (_BLAS, *([] if os.path.exists(_SETTINGS) else [_YAML])) if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        with suppress(ImportError):
            import numba.np.arraymath  # noqa: F401
    finally:
        for name in absent:
            del sys.modules[name]
