"""Files of a data folder: found plain or compressed, read, and never used unverified."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pater.data import lzw
from pater.data.entry import Entry, RawFile, SourceFile
from pater.data.errors import DataError

DECOMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".Z": lzw.decompress,
}


def find(folder: Path, file: SourceFile) -> Path | None:
    """The file in the folder, plain or compressed, if it is there."""
    plain = folder / file.name
    candidates = [plain, *(plain.with_name(plain.name + suffix) for suffix in DECOMPRESS)]
    return next((path for path in candidates if path.is_file()), None)


def holds(folder: Path, entry: Entry) -> bool:
    """Whether all files of the data set are in the folder; says nothing about their content."""
    return all(find(folder, file) for file in entry.files)


def decompress(content: bytes, name: str) -> bytes:
    """Undo the compression that the suffix of the name indicates, if any."""
    undo = DECOMPRESS.get(Path(name).suffix)
    if undo is None:
        return content
    try:
        return undo(content)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{name} cannot be decompressed: {error}") from error


def read(folder: Path, entry: Entry) -> list[RawFile]:
    """The verified files of a data set, in the entry's order."""
    remedy = f"Delete it and run pater.data.fetch([{entry.key!r}]), or copy a good one there."
    raw = []
    for file in entry.files:
        path = find(folder, file)
        if path is None:
            raise DataError(f"{folder / file.name} is not there. {remedy}")
        try:
            raw.append(RawFile(str(path), decompress(path.read_bytes(), str(path))))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error}") from error
        except DataError as error:
            raise DataError(f"{error}. {remedy}") from error
    verify(entry, raw, remedy)
    return raw


def verify(entry: Entry, raw: Sequence[RawFile], remedy: str) -> None:
    """Raise unless the contents have the checksums in the entry.

    Hashing all data sets takes a twentieth of the time of reading them, so no result is remembered between calls.
    """
    for file, (where, content) in zip(entry.files, raw, strict=True):
        actual = hashlib.sha256(content).hexdigest()
        if actual == file.sha256 or (file.any_order and entry.same_data and entry.same_data(raw)):
            continue
        raise DataError(
            f"{where} is not the file expected: sha256 of the uncompressed content is {actual}, "
            f"expected {file.sha256}. {remedy}"
        )
