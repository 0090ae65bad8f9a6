"""Where bytes come from: files, globs, standard input; plain or compressed.

Knows no format. A file keeps the name that the caller wrote, so that messages point to where the caller can look.
"""

from __future__ import annotations

import glob
import io
import os
import select
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .compression import DAMAGE, decompressed
from .errors import InputError
from .suggestions import file_like

STANDARD_INPUT = "-"

BY_ENDING = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".lzma": "xz", ".zst": "zstd", ".zstd": "zstd"}
BY_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
MAGIC_BYTES, MOST_LOOKED_AT = 6, 32
FORMAT_BY_ENDING = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "libsvm",
    ".dat": "libsvm",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
FORMATS = ("libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow")

# Files that are not what their names say, known by their first bytes.
_AS_FORMAT = "say --format {0}, or give it a name that ends in .{0}."
_PAGE = "open it to see what was downloaded in the place of the data."
_BOOK = "save the sheet as CSV first."
_OTHER_KINDS = (
    (b"PAR1", "a Parquet file", _AS_FORMAT.format("parquet")),
    (b"ARROW1", "an Arrow file", _AS_FORMAT.format("arrow")),
    (b"FEA1", "a Feather file of version 1", "write it again with a newer version, or as Parquet."),
    (b"PK\x03\x04", "an Excel workbook or a zip archive", f"unpack the archive, or {_BOOK}"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", _BOOK),
    (b"\x93NUMPY", "an array of NumPy", "write it as CSV, or give it to an estimator in Python."),
    (b"\x80\x04\x95", "a pickle of Python", "write what it holds as CSV or Parquet."),
    (b"\x80\x05\x95", "a pickle of Python", "write what it holds as CSV or Parquet."),
    (b"\x89PNG", "a picture", "name the data."),
    (b"%PDF-", "a PDF document", "name the data."),
    (b"<!doct", "a web page", _PAGE),
    (b"<!DOCT", "a web page", _PAGE),
    (b"<html", "a web page", _PAGE),
    (b"<?xml", "an XML document", "write the table that it holds as CSV."),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8."),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8."),
)


@dataclass
class Source:
    """One input. `size` and `done` count stored bytes, before decompression; `size` is None for a pipe.

    A piece of a plain file (see `pieces`) runs from `start` to before `stop`, in bytes or, for Parquet, in groups of
    rows; `before` counts the lines or rows of the file in front of it, as far as they are known.
    """

    name: str
    format: str
    size: int | None
    done: int = field(default=0, compare=False)
    start: int = 0
    stop: int | None = None
    before: int = 0

    @property
    def shown(self) -> str:
        """What messages call it."""
        return "standard input" if self.name == STANDARD_INPUT else self.name

    def open(self) -> _Reader:
        return _Reader(self)


class _Reader:
    """An open source: decompressed bytes, with every mishap as an `InputError` that names the source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        try:
            self._raw: IO[bytes] = _standard_input() if source.name == STANDARD_INPUT else open(source.name, "rb")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{source.name}: {_reason(error)}") from None
        with ExitStack() as if_it_fails:
            if_it_fails.callback(self.close)
            buffered = io.BufferedReader(_Counted(self._raw, source), 1 << 18)
            start = buffered.peek(MAGIC_BYTES)[:MOST_LOOKED_AT]
            kind = next((kind for magic, kind in BY_MAGIC.items() if start.startswith(magic)), None)
            if kind is not None:
                self._stream: Any = decompressed(buffered, kind, source.shown)
            else:
                _refuse_other_kinds(start, source.shown, source.format)
                # A plain file needs no buffer: a block is one call to the system.
                self._stream = buffered if source.size is None else _Plain(self._raw, source)
            if_it_fails.pop_all()

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes, fewer only at the end: blocks must not depend on how a pipe delivers."""
        parts: list[bytes] = []
        while size > 0:
            try:
                part = self._stream.read(size)
            except DAMAGE as error:
                raise InputError(f"{self._source.shown}: {_reason(error)}") from None
            except Exception as error:  # zstandard's own error class is known only once it is imported
                if type(error).__name__ != "ZstdError":
                    raise
                raise InputError(f"{self._source.shown}: {error}") from None
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        if self._source.name != STANDARD_INPUT:
            self._raw.close()


def _standard_input() -> Any:
    """Standard input without the interpreter's own buffer, whose lock the interpreter takes when it ends.

    A thread that waits for a pipe would hold that lock forever.
    """
    if sys.stdin is None:
        raise InputError("standard input is closed.")
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (AttributeError, io.UnsupportedOperation):  # something else stands in for it
        return sys.stdin.buffer


class _Plain:
    """A plain file from its beginning, or a piece of it."""

    def __init__(self, file: IO[bytes], source: Source) -> None:
        file.seek(source.start)
        self._file, self._source = file, source
        source.done = 0

    def read(self, size: int) -> bytes:
        source = self._source
        if source.stop is not None:
            size = min(size, source.stop - source.start - source.done)
        part = self._file.read(size)
        self._source.done += len(part)
        return part


class _Counted(io.RawIOBase):
    """Raw bytes, counted as they pass. The first part is long enough to tell the compression, even from a slow pipe."""

    def __init__(self, raw: IO[bytes], source: Source) -> None:
        self._raw, self._source, self._begun = raw, source, False
        source.done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._part(len(buffer))
        while not self._begun and len(part) < MAGIC_BYTES:
            more = self._part(len(buffer) - len(part))
            if not more:
                break
            part += more
        self._begun = True
        buffer[: len(part)] = part
        self._source.done += len(part)
        return len(part)

    def _part(self, size: int) -> bytes:
        read = self._raw.read1 if hasattr(self._raw, "read1") else self._raw.read
        part: bytes | None = read(size)
        while part is None:  # the pipe is non-blocking
            select.select([self._raw], [], [])
            part = read(size)
        return part


def _refuse_other_kinds(start: bytes, shown: str, format: str) -> None:
    """Raise an error if the first bytes of a file to be read as text show that it is something else."""
    for magic, what, todo in _OTHER_KINDS:
        if start.startswith(magic):
            raise InputError(f"{shown} is {what}, but is read as {format}: {todo}")
    if start[6:10] == b'\0\0{"' and b"__metadata__" in start:
        raise InputError(f"{shown} is a model, but is read as {format}: name the data here, and the model as --model.")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"the compressed data is damaged or cut off ({error})"


def sources(paths: Iterable[str | os.PathLike[str]], format: str | None = None) -> list[Source]:
    """The inputs that `paths` name, in order; a glob stands for its sorted matches."""
    found: list[Source] = []
    for path in paths:
        text = os.fspath(path)
        names = [text]
        if text != STANDARD_INPUT and glob.has_magic(text) and not os.path.exists(text):
            names = sorted(glob.glob(text, recursive=True))
            if not names:
                raise InputError(f"{text}: no file has a name like this.")
        found += [Source(name, format or format_of(name), _size(name)) for name in names]
        for source in () if format else found[-len(names) :]:
            _check_unknown_ending(source)
    if not found:
        raise InputError("there is no input: name a file, or - for standard input.")
    if sum(source.name == STANDARD_INPUT for source in found) > 1:
        raise InputError("standard input (-) can be named once only.")
    return found


def _check_unknown_ending(source: Source) -> None:
    """Raise an error for another kind of file, such as data.csv.zip, before its columns are compared with a model's."""
    if source.size is not None and Path(source.name).suffix.lower() not in {"", *FORMAT_BY_ENDING, *BY_ENDING}:
        with suppress(OSError), open(source.name, "rb") as file:
            _refuse_other_kinds(file.read(MOST_LOOKED_AT), source.shown, source.format)


def as_text(name: str) -> str:
    """The name of a file as text; bytes that are not text are shown by their numbers."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def format_of(name: str) -> str:
    if name == STANDARD_INPUT:
        return "libsvm"
    path = Path(name)
    if path.suffix.lower() in BY_ENDING:
        path = path.with_suffix("")
    return FORMAT_BY_ENDING.get(path.suffix.lower(), "libsvm")


def _size(name: str) -> int | None:
    if name == STANDARD_INPUT:
        return None
    try:
        found = os.stat(name)
    except OSError as error:
        raise InputError(f"{name}: {_reason(error)}{file_like(name)}") from None
    if os.path.isdir(name):
        raise InputError(f"{name} is a folder; name the files in it, for example with '{name}/*'.")
    return found.st_size if os.path.isfile(name) else None
