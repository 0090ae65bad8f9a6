"""Make commands start faster, and announce compilation when it cannot be avoided."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_BLAS = "scipy.linalg.cython_blas"
_YAML, _SETTINGS = "yaml", ".numba_config.yaml"


def prepare() -> None:
    """Change defaults of Python and NumPy that do not suit a command.

    Garbage is collected less often: imports leave none, and collecting takes a tenth of their time. The threads of
    NumPy's linear algebra, which most commands never need, sleep as soon as they have nothing to do: by default each
    first keeps a processor busy for a tenth of a second.
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
    """Import Numba without SciPy's linear algebra, which saves a tenth of the start-up time of `pater train`.

    When Numba loads its own functions, it looks for SciPy's linear algebra, and remembers the answer only for
    `np.convolve` and `np.correlate`. No kernel here uses either. It needs YAML only for a settings file, if there is
    one in this folder. Both can be imported as usual later.
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
