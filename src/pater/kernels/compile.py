"""How the hot loops are compiled: one decorator, so that every kernel gets the same options and a safe cache.

Numba keys a cached function by its own source file alone, so a kernel in `run.py` would go on running yesterday's
`rules.py`. Here the text of every file that holds kernels, or constants that they are compiled with, is part of the
key: a change to one of them recompiles all kernels, and a change to any other file none.

Numba also numbers the files of a cache, so two processes that compile different forms of a kernel at the same time may
both write number 1, and a third then runs one in place of the other. Here a file is named after its content: at worst,
one of the two is compiled again.

And Numba trusts what it finds: a truncated or corrupted file ends in an exception, or in wrong machine code. Here every
file begins with a digest of the rest, its name and the compiler's version. A file that does not match, or cannot be
read, is ignored; where no file can be written, the kernel is compiled every time.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile
from numba.extending import register_jitable

# Sums may be reordered, so that a dot product becomes vector code. NaN and infinity keep their meaning: the passes
# recognise bad rows by them.
FAST = {"reassoc", "contract", "nsz"}

COMPILES = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # else all runs in the interpreter

# of what Python does not call
PART: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_DIGEST = hashlib.sha256().digest_size
_COMPILER = f"{sys.version} {numba.__version__} {version('llvmlite')}"


def _sources_in(folder: str) -> Iterator[str]:
    """The Python files of a package, found with few system calls: every command waits for this."""
    with os.scandir(folder) as found:
        for each in found:
            if each.name.endswith(".py"):
                yield each.path
            elif each.is_dir():
                yield from _sources_in(each.path)


def _kernel_sources() -> str:
    """A digest of all files that hold kernels, and of this package, which holds the constants in them."""
    digest, here = hashlib.sha256(), os.path.dirname(__file__)
    for path in sorted(_sources_in(os.path.dirname(here))):
        with open(path, "rb", buffering=0) as file:
            text = file.read()
        if path.startswith(here + os.sep) or b".compile import" in text:
            digest.update(os.path.basename(path).encode() + b"\0" + text)
    return digest.hexdigest()


_MODES = os.environ.get("PATER_PLAIN", ""), numba.config.BOUNDSCHECK  # type: ignore[attr-defined]
_KERNEL_SOURCES = _kernel_sources(), _MODES


on_compiling: Callable[[], None] | None = None
"""Called whenever a kernel is about to be compiled and kept, so that the command line can say why it waits."""


class _SoundFiles(IndexDataCacheFile):
    def load(self, key: Any) -> Any:
        """The machine code of one signature, or None if it has to be compiled."""
        name = self._load_index().get(key)
        data = None if name is None else self._read(self._data_path(name))
        if data is None and on_compiling is not None:
            on_compiling()
        return data

    def save(self, key: Any, data: Any) -> None:
        """Write the machine code of one signature, then the index that names its file."""
        overloads = self._load_index()
        content = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name = f"{Path(self._index_name).stem}.{content[:16]}.nbc"
        with suppress(OSError):  # what cannot be kept is compiled again next time
            self._write(self._data_path(name), data)
            if overloads.get(key) != name:
                self._save_index(overloads | {key: name})

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = self._read(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _read(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        digest, data = content[:_DIGEST], content[_DIGEST:]
        return pickle.loads(data) if _digest(path, data) == digest else None

    def _write(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(_digest(path, data) + data)


def _digest(path: str, data: bytes) -> bytes:
    return hashlib.sha256(f"{_COMPILER} {Path(path).name}\0".encode() + data).digest()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` without the interpreter lock, cached on disk where a folder can be written."""
    return _compiled(function, fastmath=FAST) if COMPILES else _interpreted(function)


def exact_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, with every operation as it is written: for arithmetic that depends on its rounding."""
    return _compiled(function, fastmath=False) if COMPILES else _interpreted(function)


def straight(compiled: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The compiled form of a kernel for arguments of these types, which does not check them.

    Finding the form takes two thirds of the time of a call that learns from one short row.
    """
    if not COMPILES:
        return compiled
    key = compiled, _kind(arguments)
    if key not in _STRAIGHT:  # Numba takes a millisecond to name the types of records
        kinds = tuple(compiled.typeof_pyval(each) for each in arguments)  # type: ignore[attr-defined]
        _STRAIGHT[key] = compiled.compile(kinds)  # type: ignore[attr-defined]
    return _STRAIGHT[key]


_STRAIGHT: dict[Any, Callable[..., Any]] = {}


def _kind(value: Any) -> Any:
    """Everything that the Numba type of a value depends on."""
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    if not isinstance(value, np.ndarray):
        return type(value)
    flags = value.flags
    return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.aligned, flags.writeable


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `kernel`, for what only kernels call (Python cannot); it is cached with them."""
    return _part(function, fastmath=FAST)


def exact_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `exact_kernel`, for what only kernels call; it is cached with them."""
    return _part(function, fastmath=False)


def merged_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `exact_part`, for what a short row passes through: the machine code is inlined, without a call."""
    return _part(function, fastmath=False, forceinline=True)


def entrance(part: Callable[..., Any]) -> Callable[..., Any]:
    """A part as a kernel that Python can call."""
    return exact_kernel(getattr(part, "py_func", part))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `exact_part`, for what is called once a row or in one place: its text is inlined before it is compiled."""
    return _part(function, fastmath=False, inline="always")


def part_of_callers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled functions call this one, which is unchanged for everyone else."""
    return register_jitable(fastmath=False, forceinline=True, **PART)(function) if COMPILES else function


def filled_in(text: Callable[..., Any], name: str, **parts: Any) -> FunctionType:
    """A copy of a function with other globals: one text, compiled for each set of `parts`.

    A branch on a constant that is not taken is not compiled. Each copy needs its own name, by which the cache finds it
    and the linker tells apart what several processes have compiled.
    """
    function = FunctionType(text.__code__, text.__globals__ | parts, name)
    function.__qualname__ = name
    return function


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, with records whose fields are attributes, and with 1/0 as in compiled code."""

    def call(*arguments: Any) -> Any:
        records = (a.view(np.recarray) if getattr(a, "dtype", None) and a.dtype.names else a for a in arguments)
        with np.errstate(all="ignore"):
            return function(*records)

    return call


def _part(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return njit(**PART, **options)(function) if COMPILES else function


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache folder can be written
        return njit(**options)(function)  # type: ignore[no-any-return]
    cache_file = compiled._cache._cache_file
    cache_file.__class__ = _SoundFiles
    cache_file._source_stamp = (cache_file._source_stamp, _KERNEL_SOURCES)
    return compiled  # type: ignore[no-any-return]
