"""Download data sets into the per-user cache.

A download stays in memory until its checksum is right, and is then moved into the cache in one step. So whatever goes
wrong (no network, a cut connection, a wrong file, a full disk), the cache holds only whole and verified files.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from pater.data import files
from pater.data.entry import Archive, Entry, RawFile, SourceFile
from pater.data.errors import DataError
from pater.data.registry import entry_of

CHUNK_BYTES = 1 << 16
REMEDY = (
    "Try again later, or get the file elsewhere, put it in a folder under that name and point PATER_DATA at the folder."
)

Progress = Callable[[str, int, int], None]


def fetch(
    keys: str | Iterable[str],
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    timeout: float = 30.0,
    on_progress: Progress | None = None,
) -> Path:
    """Download the missing files of the data sets from their public sources; return the folder.

    Files that are there and have the right checksum are not downloaded again. ``base_url`` replaces the scheme and host
    of the sources (a mirror with the same paths). ``timeout`` is the longest silence to wait for, in seconds. As bytes
    arrive, ``on_progress(file, done_bytes, total_bytes)`` is called; the total is 0 if the server does not state it.

    Needs pooch, which comes with ``pip install "pater[study]"``.
    """
    entries = [entry_of(key) for key in ([keys] if isinstance(keys, str) else keys)]
    pooch = _pooch()
    folder = Path(cache_dir if cache_dir is not None else pooch.os_cache("pater"))
    source = _Source(pooch, base_url, timeout, on_progress)
    for entry in entries:
        _fetch_entry(entry, folder, source)
    return folder


def cache_folder() -> Path | None:
    """The per-user cache; ``None`` without pooch, as only pooch fills it."""
    try:
        return Path(_pooch().os_cache("pater"))
    except DataError:
        return None


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise DataError('downloading data needs pooch: pip install "pater[study]"') from None
    return pooch


def _fetch_entry(entry: Entry, folder: Path, source: _Source) -> None:
    """Complete a data set; everything is verified before any file is put in its place."""
    if _holds_good(folder, entry):
        return
    known = {file.name: _at_hand(folder, file) for file in entry.files}
    to_make = any(known[file.name] is None and not file.addresses for file in entry.files)
    unpacked = source.unpack(entry.archive) if entry.archive and to_make else {}
    raw = [known[file.name] or source.content(file, unpacked) for file in entry.files]
    files.verify(entry, raw, REMEDY)
    for file, (_, content) in zip(entry.files, raw, strict=True):
        if known[file.name] is None:
            _put(folder / file.name, content)


def _at_hand(folder: Path, file: SourceFile) -> RawFile | None:
    path = files.find(folder, file)
    try:
        content = files.decompress(path.read_bytes(), str(path)) if path else b""
    except (OSError, DataError):
        return None
    return RawFile(str(path), content) if _sha256(content) == file.sha256 else None


def _holds_good(folder: Path, entry: Entry) -> bool:
    try:
        files.read(folder, entry)
    except DataError:
        return False
    return True


def _put(path: Path, content: bytes) -> None:
    """Write a new file, then rename it: a reader sees the whole file or none."""
    partial = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(content)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error}. Free some space or choose another folder.") from error


@dataclass
class _Source:
    """The public sources, as one call of ``fetch`` sees them."""

    pooch: Any
    base_url: str | None
    timeout: float
    on_progress: Progress | None
    archives: dict[str, bytes] = field(default_factory=dict)

    def content(self, file: SourceFile, unpacked: Mapping[str, bytes]) -> RawFile:
        """A file's content: from the archive, or from the first address that has the right one."""
        if file.name in unpacked:
            return RawFile(f"{file.name} made from the archive", unpacked[file.name])
        failures = []
        for address in map(self._mirrored, file.addresses):
            try:
                content = files.decompress(self._download(address, file.name), address)
            except DataError as error:
                failures.append(str(error))
                continue
            if _sha256(content) == file.sha256:
                return RawFile(address, content)
            failures.append(
                f"{address} has another file: sha256 of the uncompressed content is "
                f"{_sha256(content)}, expected {file.sha256}"
            )
        raise DataError(f"{file.name} could not be downloaded: {'; '.join(failures)}. {REMEDY}")

    def unpack(self, archive: Archive) -> Mapping[str, bytes]:
        """The files made from an archive, which several data sets may share."""
        address = self._mirrored(archive.address)
        try:
            if address not in self.archives:
                name = address.rsplit("/", 1)[-1]
                self.archives[address] = self._download(address, name)
            return archive.unpack(self.archives[address])
        except DataError as error:
            raise DataError(f"{address} could not be used: {error}. {REMEDY}") from error

    def _mirrored(self, address: str) -> str:
        if self.base_url is None:
            return address
        return self.base_url.rstrip("/") + urlsplit(address).path

    def _download(self, address: str, name: str) -> bytes:
        progress = _ProgressBar(name, self.on_progress) if self.on_progress else False
        get = self.pooch.HTTPDownloader(
            progressbar=progress,
            chunk_size=CHUNK_BYTES,
            timeout=self.timeout,
            # Compression in transit would make the byte counts of the progress meaningless.
            headers={"Accept-Encoding": "identity"},
        )
        content = io.BytesIO()
        try:
            get(address, content, None)
        except (OSError, ValueError) as error:
            raise DataError(f"{address} did not deliver: {error}") from error
        return content.getvalue()


class _ProgressBar:
    """Gives pooch the progress bar that it expects, and the caller a plain function."""

    def __init__(self, name: str, report: Progress) -> None:
        self.name, self.report = name, report
        self.done, self.total = 0, 0

    def update(self, count: int) -> None:
        """Count bytes; pooch counts whole chunks, so the last one may overshoot."""
        self.done += count
        if self.total:
            self.done = min(self.done, self.total)
        self.report(self.name, self.done, self.total)

    def reset(self) -> None:
        """Called before the final update, which needs no fresh start here."""

    def close(self) -> None:
        """Called at the end; there is nothing to close."""


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
