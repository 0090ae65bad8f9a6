"""How a command uses the library: it is imported fast, compilation is announced, and errors become one line.

Knows which parts of Numba and NumPy a command does not need.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from pater.compiler.telling import say_compiling

from .errors import CommandError, UsageError
from .terminal import say_warning

# SciPy's linear algebra, which takes Numba a fifth of a second to import before it compiles anything. Numba remembers
# what it finds only for `np.convolve` and `np.correlate`, which no kernel uses.
_BLAS = "scipy.linalg.cython_blas"
_SETTINGS = ".numba_config.yaml"


def prepare() -> None:
    """Change defaults of Python and NumPy that do not suit a command.

    Garbage is collected less often: imports leave none, and collecting takes a tenth of their time. The threads of
    NumPy's linear algebra, which most commands never need, sleep as soon as they have nothing to do: by default each
    first keeps a processor busy for a tenth of a second.
    """
    gc.set_threshold(1_000_000, *gc.get_threshold()[1:])
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


@contextmanager
def announced(compiling: Callable[[], None], *, alone: bool = True) -> Iterator[None]:
    """Call `compiling` before kernels are compiled, which takes seconds, while the block runs.

    `alone` says that the process runs nothing but the command: no thread of others imports SciPy meanwhile.
    """
    from pater.compiler import telling

    def before() -> None:
        if alone and "scipy.linalg" not in sys.modules:
            _import_without("numba.np.arraymath", _BLAS)
        compiling()

    usual, telling.on_compiling = telling.on_compiling, before
    try:
        yield
    finally:
        telling.on_compiling = usual


def import_numba() -> None:
    """Import Numba without SciPy, of which it would only look up the version, and without YAML, which it needs only for
    a settings file, if there is one in this folder.
    """
    _import_without("numba", "scipy", *([] if os.path.exists(_SETTINGS) else ["yaml"]))


def _import_without(name: str, *others: str) -> None:
    """Import a module as if others were not installed; these can be imported as usual afterwards."""
    if name in sys.modules:
        return
    absent = [each for each in others if each not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        import_module(name)
    finally:
        for each in absent:
            del sys.modules[each]


@contextmanager
def one_line_errors(compiling: Callable[[], None] = say_compiling, *, quiet: bool = False) -> Iterator[None]:
    """Turn errors of inputs and model files into one line; call `compiling` before kernels are compiled."""
    import_numba()
    from pater.files.model_file import ModelFileError
    from pater.formats.errors import ArgumentError, Hint, InputError, UnseenLabelWarning
    from pater.models.warnings import ManyClassesWarning, OneClassWarning, PositiveClassWarning

    try:
        with announced(compiling), warnings.catch_warnings():
            warnings.simplefilter("always", ManyClassesWarning)
            warnings.simplefilter("always", UnseenLabelWarning)
            warnings.simplefilter("once", OneClassWarning)
            warnings.simplefilter("once", PositiveClassWarning)
            warnings.simplefilter("ignore" if quiet else "always", Hint)
            warnings.showwarning = say_warning
            yield
    except ArgumentError as error:
        raise UsageError(f"--{error.argument.replace('_', '-')} {error.what}") from None
    except (InputError, ModelFileError) as error:
        raise CommandError(str(error)) from None
    except MemoryError:
        raise CommandError("there is not enough memory; use fewer --bits or --features.") from None
