"""The state directory: a log, a lock, and a folder of models. Knows files and locks, not their content.

DIR/log.sqlite   what was learned, what waits for its label, and records of the models (`schema`)
DIR/lock         held by the running server
DIR/models/      snapshots (`snapshot-*.pater`), and the models begun with or swapped in (`model-*.pater`)
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path

from ...files.writing import remove_left_overs
from ...formats.errors import InputError

try:
    import fcntl
except ImportError:  # a system without such locks: two servers there would not notice each other
    fcntl = None  # type: ignore[assignment]

_SNAPSHOT = re.compile(r"snapshot-(\d+)\.pater")
_MODEL = re.compile(r"model-\d+\.pater")


class StateError(InputError):
    """A state directory cannot be used: the message says which, why, and what to do."""


class Folder:
    """A state directory by its path; creating this object neither makes nor locks anything."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.log, self.models = self.path / "log.sqlite", self.path / "models"
        self._lock: int | None = None

    def snapshot(self, entry: int) -> Path:
        """The path for a snapshot of the model after an entry of the log."""
        return self.models / f"snapshot-{entry:012}.pater"

    def model(self, version: int) -> Path:
        """The path for a model that the service began with, or that was swapped in."""
        return self.models / f"model-{version:06}.pater"

    def file(self, name: str) -> Path:
        """The path of a model file named in the log; an error if the name is not that of a model file."""
        if not _is_ours(name):
            raise StateError(f"{self.path}: the log names a model {name[:60]!r}, which is not the name of a snapshot.")
        return self.models / name

    def take(self) -> None:
        """Make the directory if it does not exist, and lock it; an error if another server holds it."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)  # what is learned may be personal
            self.models.mkdir(exist_ok=True)
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise self.cannot("it cannot be used as a state directory", error) from None
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 20).decode("ascii", "replace").strip()
            os.close(handle)
            who = f" (process {holder})" if holder.isdecimal() else ""
            raise StateError(
                f"{self.path}: another server{who} is at work in it. One state directory has one server: stop that "
                "one, or name another directory."
            ) from None
        except OSError as error:
            os.close(handle)
            raise self.cannot(
                "it cannot be locked, and what cannot be locked may be written by two at once", error
            ) from None
        self._lock = handle
        with contextlib.suppress(OSError):  # only for the message above
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)

    def check_log(self) -> None:
        """Raise an error if there are models but no log: with a new log, the models would be lost, too."""
        names = sorted(path.name for path in self.models.iterdir() if _is_ours(path.name))
        if names and not (self.log.exists() and self.log.stat().st_size):
            raise StateError(
                f"{self.path}: there are models in it, but {self.log.name} is missing. Put it back; or begin in "
                f"another directory, with {self.models / names[-1]} as its model."
            )

    def release(self) -> None:
        """Let the next server in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def cannot(self, what: str, error: OSError) -> StateError:
        """A StateError for an error of the system, with a hint at what to do."""
        why = os.strerror(error.errno) if error.errno else str(error)
        hint = {
            errno.EROFS: " Name a directory on a disk that can be written.",
            errno.EACCES: " Give the user of the server the right to write there, or name another directory.",
            errno.ENOSPC: " Make room on that disk, or name another directory.",
            errno.ENOTDIR: " Name a directory, not a file.",
            errno.EEXIST: " Name a directory, not a file.",
        }.get(error.errno or 0, "")
        return StateError(f"{self.path}: {what}: {why}.{hint}")

    def sync(self) -> None:
        """Make sure that the names of new files survive a power failure."""
        for folder in (self.path.parent, self.path):
            with contextlib.suppress(OSError):
                handle = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    def remove(self, names: Iterable[str]) -> None:
        """Remove model files. What cannot be removed stays, and `sweep` tries again."""
        for name in names:
            with contextlib.suppress(OSError):
                self.file(name).unlink(missing_ok=True)

    def sweep(self, known: Iterable[str], last: int) -> None:
        """Remove what killed servers have left behind: snapshots that the log does not know, and partial files.

        Snapshots of entries after the `last` one of the log belong to another log, and stay.
        """
        names = set(known)
        with contextlib.suppress(OSError):
            for path in self.models.iterdir():
                found = _SNAPSHOT.fullmatch(path.name)
                if found and path.name not in names and int(found[1]) <= last:
                    path.unlink(missing_ok=True)
                elif path.name.endswith(".part"):
                    remove_left_overs(path.with_name(path.name.rsplit(".", 2)[0]))


def _is_ours(name: str) -> bool:
    return bool(_SNAPSHOT.fullmatch(name) or _MODEL.fullmatch(name))
