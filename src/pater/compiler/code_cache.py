"""Compiled kernels, kept on disk: found by what they were compiled from, checked, and loaded in little time.

Numba keys a cached function by its own source file alone, so a kernel in `run.py` would go on running yesterday's
`rules.py`. Here the text of every file that holds kernels, or constants that they are compiled with, is part of the
key: a change to one of them recompiles all kernels, and a change to any other file none.

Numba also numbers the files of a cache, so two processes that compile different forms of a kernel at the same time may
both write number 1, and a third then runs one in place of the other. Here a file is named after its content: at worst,
one of the two is compiled again.

And Numba trusts what it finds: a truncated or corrupted file ends in an exception, or in wrong machine code. Here every
file begins with a digest of the rest, its name and the compiler's version. A file that does not match, or cannot be
read, is ignored; where no file can be written, the kernel is compiled every time.

Finally, Numba gets ready to compile before it loads anything, and reads with each kernel what others need to inline it:
a quarter of the time of a short command. Here that waits until something is compiled.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
from numba.core import codegen, compiler
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime import nrt

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
    """A digest of this package, of that of the passes (and of their constants), and of all other files with kernels."""
    digest, package = hashlib.sha256(), os.path.dirname(os.path.dirname(__file__))
    whole = tuple(os.path.join(package, each, "") for each in ("compiler", "kernels"))
    for path in sorted(_sources_in(package)):
        with open(path, "rb", buffering=0) as file:
            text = file.read()
        if path.startswith(whole) or b"compiler.decorators import" in text:
            digest.update(os.path.basename(path).encode() + b"\0" + text)
    return digest.hexdigest()


_MODES = os.environ.get("PATER_PLAIN", ""), numba.config.BOUNDSCHECK  # type: ignore[attr-defined]
_KERNEL_SOURCES = _kernel_sources(), _MODES


class _SoundFiles(IndexDataCacheFile):
    def load(self, key: Any) -> Any:
        """The machine code of one signature, or None if it has to be compiled."""
        name = self._load_index().get(key)
        return None if name is None else self._read(self._data_path(name))

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


class _LoadedCode(codegen.JITCodeLibrary):
    """Machine code from a file, and, for kernels that call it and have to be compiled, the code to inline."""

    def __init__(self, maker: Any, name: str, machine_code: bytes, to_inline: bytes, symbols: set[str]):
        super().__init__(maker, name)
        self._to_inline = to_inline
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        maker._engine._defined_symbols |= symbols

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = codegen.ll.parse_bitcode(self._to_inline)  # type: ignore[attr-defined]
        return self._shared_module


class _Entries(CompileResultCacheImpl):
    def reduce(self, result: Any) -> Any:
        """What the file of one signature holds."""
        (name, _, code), description, environment, signature, *_, to_begin, referenced = result._reduce()
        assert not to_begin, "a kernel must not need Numba's threads or other parts of it that have to be set up"
        kept = [each for each in referenced if each.consts or not each.globals["__name__"].startswith("numba.")]
        return name, code, description, environment, signature, kept  # others would only import their modules

    def rebuild(self, target_context: Any, entry: Any) -> Any:
        """The compiled function of an entry, as Numba wants it."""
        name, code, description, environment, signature, referenced = entry
        symbols = {description.llvm_func_name, description.llvm_cpython_wrapper_name}
        library = _LoadedCode(target_context.codegen(), name, *code, symbols)
        function = target_context.get_executable(library, description, environment)
        for each in referenced:  # the library has their addresses, the result keeps them alive
            library.codegen.set_env(each.env_name, each)
        return compiler.compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            library=library,
            environment=environment,
            entry_point=function,
            fndesc=description,
            signature=signature,
            objectmode=False,
            lifted=(),
            referenced_envs=referenced,
        )


@cache
def _find_runtime() -> None:
    """Tell the linker where the functions are by which compiled code asks for memory.

    Numba also compiles some of its own then, which takes 15 ms; code from the cache has its copy of these.
    """
    for name, address in nrt._nrt.c_helpers.items():  # type: ignore[attr-defined]
        codegen.ll.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)  # type: ignore[attr-defined]


class CodeCache(FunctionCache):
    """The compiled forms of one kernel; raises RuntimeError if no folder can be written."""

    _impl_class = _Entries

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), _KERNEL_SOURCES
        self._cache_file = _SoundFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form for one signature, or None if it has to be compiled."""
        _find_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
