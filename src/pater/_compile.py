"""How the hot loops are compiled: one decorator, so that every kernel gets the same options and a safe cache.

Knows Numba; knows nothing of what is compiled.

Numba keys a cached function by its own source file alone, so a kernel in `passes.py` would go on running yesterday's
`rules.py`. Here the stamp of every file of the package is part of the key: after any change all kernels are made anew.

It also numbers the files of a cache one after the other, so that two processes that compile different forms of a kernel
at the same time may both write number 1, and a third then runs the one for the other. Here a file is named after what
it holds: at worst, one of the two is forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import IndexDataCacheFile

# Sums may be reordered, so that a dot product becomes vector code. NaN and infinity keep their meaning: the passes
# recognise bad rows by them.
FAST = {"reassoc", "contract", "nsz"}

_PACKAGE_STAMP = tuple(
    (path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(Path(__file__).parent.rglob("*.py"))
)


class _NamedByContent(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        """Write the machine code of one signature, then the index that names its file."""
        overloads = self._load_index()  # type: ignore[no-untyped-call]
        content = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name = f"{Path(self._index_name).stem}.{content[:16]}.nbc"
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        if overloads.get(key) != name:
            overloads[key] = name
            self._save_index(overloads)  # type: ignore[no-untyped-call]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` without the interpreter lock, cached on disk where a folder can be written."""
    return _compiled(function, fastmath=FAST)


def exact_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with every operation as it is written: for arithmetic that lives by its rounding."""
    return _compiled(function, fastmath=False)


def exact_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, for what is called once a row: it becomes part of its caller."""
    return _compiled(function, fastmath=False, forceinline=True)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache folder can be written
        return njit(**options)(function)  # type: ignore[no-any-return]
    cache_file = compiled._cache._cache_file
    cache_file.__class__ = _NamedByContent
    cache_file._source_stamp = (cache_file._source_stamp, _PACKAGE_STAMP)
    return compiled  # type: ignore[no-any-return]
