"""Bytes of compressed files: gzip, bzip2, xz and zstd, by the names that `sources` has for them.

Knows `errors`.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from .errors import InputError

MOST_AT_ONCE = 1 << 18  # decompressed bytes

# What decompressors raise for a damaged or truncated file.
DAMAGE: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)


def decompressed(raw: Any, kind: str, name: str) -> Any:
    """A stream of decompressed bytes."""
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if kind == "bzip2":
        return _Members(raw, bz2.BZ2Decompressor)
    if kind == "xz":
        return _Members(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), padding=b"\0")
    zstandard = _zstandard(f"{name} is compressed with zstd: install the package zstandard to read it.")
    decompressor = zstandard.ZstdDecompressor()
    return _Members(raw, lambda: _ZstdFrame(decompressor.decompressobj()), chunk=_ZstdFrame.CHUNK)


def compressing(raw: Any, kind: str, name: str) -> Any:
    """A file that compresses what is written to it, and when closed leaves `raw` open.

    The same bytes give the same file: neither a time nor a name is kept.
    """
    if kind == "gzip":
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    if kind == "bzip2":
        return bz2.BZ2File(raw, "wb")
    if kind == "xz":
        return lzma.LZMAFile(raw, "wb", format=lzma.FORMAT_XZ)
    zstandard = _zstandard(f"{name}: install the package zstandard to write it, or name a file that ends in .gz.")
    return io.BufferedWriter(zstandard.ZstdCompressor().stream_writer(raw, closefd=False))


def _zstandard(otherwise: str) -> Any:
    try:
        return importlib.import_module("zstandard")
    except ImportError:
        raise InputError(otherwise) from None


class _Members:
    """Compressed streams one after the other, as tools concatenate them.

    Python's own readers ignore bytes after a stream that do not begin another, and zstandard's takes a truncated file
    for a whole one. Here both are errors. `padding` may follow a stream.
    """

    def __init__(self, raw: Any, new: Callable[[], Any], *, padding: bytes = b"", chunk: int = 1 << 14) -> None:
        self._raw, self._new, self._padding, self._chunk = raw, new, padding, chunk
        self._stream = new()
        self._ready = b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            given = b""
            if self._stream.eof:
                given = self._stream.unused_data.lstrip(self._padding)
                while not given:
                    more = self._raw.read(self._chunk)
                    if not more:
                        return b""
                    given = more.lstrip(self._padding)
                self._stream = self._new()
            elif self._stream.needs_input:
                given = self._raw.read(self._chunk)
                if not given:
                    raise EOFError("it ends inside a stream")
            self._ready = self._stream.decompress(given, MOST_AT_ONCE)
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


class _ZstdFrame:
    """One frame of zstd, with the interface of Python's own decompressors."""

    CHUNK = 2048  # compressed bytes to give it at once, few enough that even zeros do not fill the memory
    needs_input = True

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)

    def decompress(self, given: bytes, _: int) -> bytes:
        return bytes(self._frame.decompress(given))
