"""How the hot loops are compiled: one decorator, so that every kernel gets the same options and a safe cache."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any, cast

import numba
import numpy as np
from numba import njit
from numba.core import event
from numba.extending import register_jitable

from . import telling
from .code_cache import CodeCache
from .pipeline import InlinedCompiler, KernelCompiler, PartCompiler

# Sums may be reordered, so that a dot product becomes vector code. NaN and infinity keep their meaning: the passes
# recognise bad rows by them.
FAST = {"reassoc", "contract", "nsz"}

COMPILES = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]  # else all runs in the interpreter

# of what Python does not call
PART: Any = {
    "_nrt": False,  # see `allocating`
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": PartCompiler,
}
KERNEL: Any = {
    "_nrt": False,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "nogil": True,
    "pipeline_class": KernelCompiler,
}

SELDOM = 1_000_000  # new objects between two collections of garbage


class _Patience(event.Listener):
    """Asks for patience when a kernel is compiled, and lets garbage be collected seldom meanwhile: there is little of
    it, and looking takes an eighth of the time.
    """

    def __init__(self) -> None:
        self._depth, self._before = 0, gc.get_threshold()

    def on_start(self, event: Any) -> None:
        """Called for each function that is compiled, and in between for those that it calls."""
        if self._depth or (event.data["dispatcher"].__module__ or "").startswith("pater."):
            if not self._depth:
                telling.on_compiling()
                self._before = gc.get_threshold()
                gc.set_threshold(max(SELDOM, self._before[0]) if self._before[0] else 0, *self._before[1:])
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """Called when a function is compiled, or cannot be."""
        if self._depth:
            self._depth -= 1
            if not self._depth:
                gc.set_threshold(*self._before)


event.register("numba:compile", _Patience())


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


def unfused_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `part`, but a·b − c·d is minus c·d − a·b, to the last bit: it would not be if one product were fused."""
    return _part(function, fastmath=FAST - {"contract"})


def exact_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `exact_kernel`, for what only kernels call; it is cached with them."""
    return _part(function, fastmath=False)


def merged_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `exact_part`, for what a short row passes through: the machine code is inlined, without a call."""
    return _part(function, fastmath=False, forceinline=True)


def short_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `merged_part`, optimised before it is inlined: for short loops over bytes, which are slow otherwise."""
    return _part(function, fastmath=False, forceinline=True, pipeline_class=InlinedCompiler)


def entrance(part: Callable[..., Any]) -> Callable[..., Any]:
    """A part as a kernel that Python can call."""
    return exact_kernel(getattr(part, "py_func", part))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `exact_part`, for what is called once a row or in one place: its text is inlined before it is compiled."""
    return _part(function, fastmath=False, inline="always")


def allocating(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that makes arrays, returns one, copies a slice to another, or raises an error that holds a value.

    Other marks go above it.

    All others do without Numba's counting of references: whoever calls a kernel holds its arrays. Counting took 50 ns a
    row where each row looked at a few vectors of a matrix, more than everything else on a short row.
    """
    function.allocates = True  # type: ignore[attr-defined]
    return function


def part_of_callers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled functions call this one, which is unchanged for everyone else."""
    options = PART | {"fastmath": False, "forceinline": True, "pipeline_class": InlinedCompiler}
    return register_jitable(**options)(function) if COMPILES else function


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


class _Part:
    """A function for kernels, which Numba meets only when it is needed: wrapping all of them delays each start."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self.py_func, self.targetoptions = function, options
        update_wrapper(self, function)  # type: ignore[arg-type]

    @cached_property
    def _known_to_numba(self) -> Any:
        return njit(**self.targetoptions)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self._known_to_numba._numba_type_


class _Kernel(_Part):
    """A function that Python can call, too, and that is cached. It has all attributes of a function of Numba's."""

    _one_at_a_time = RLock()

    @cached_property
    def _known_to_numba(self) -> Any:
        with self._one_at_a_time:
            if "_known_to_numba" not in vars(self):
                compiled = njit(**self.targetoptions)(self.py_func)
                with suppress(RuntimeError):  # neither the package's folder nor the user's cache folder can be written
                    compiled._cache = CodeCache(self.py_func)
                vars(self)["_known_to_numba"] = compiled
            return vars(self)["_known_to_numba"]

    def __call__(self, *arguments: Any) -> Any:
        return self._known_to_numba(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._known_to_numba, name)


def _part(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return cast("Callable[..., Any]", _Part(function, _for(function, PART) | options)) if COMPILES else function


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return _Kernel(function, _for(function, KERNEL) | options)


def _for(function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    return options | {"_nrt": True} if hasattr(function, "allocates") else options
