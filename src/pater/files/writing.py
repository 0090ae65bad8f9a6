"""Safe writing of files: beside their place, synced to the disk, then moved to it in one step.

Knows the operating system only. Every output of the package goes through here:

- A link is followed: its target is replaced or created, and the link stays.
- Only plain files are replaced. Folders, devices and sockets are refused; text may also go directly to a pipe or to a
  standard stream.
- An input is never overwritten, under whatever name.
- A file being written has a name of its own and is locked, so that only the leftovers of dead processes are removed.

Every problem is an OSError with the reason in `strerror`.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # a system where open files cannot be removed anyway; runs there do not notice each other
    fcntl = None  # type: ignore[assignment]

StrPath = str | os.PathLike[str]

STANDARD_INPUT = "-"
_PART = re.compile(r"\d+(-[0-9a-f]{8})?")


def check(path: StrPath, inputs: Iterable[StrPath] = ()) -> None:
    """Raise an error if a file could not be written there, before hours are spent on its content.

    Leftovers of killed writes beside it are removed.
    """
    place = place_of(path, inputs)
    remove_left_overs(place)
    file, beside = _fresh(place)
    file.close()
    beside.unlink()


def place_of(path: StrPath, inputs: Iterable[StrPath] = ()) -> Path:
    """The plain file, existing or not, that a path leads to through links."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a plain file, but a pipe, a device or a socket")
    _refuse_inputs(found, inputs)
    return Path(os.path.realpath(path))


def _refuse_inputs(found: os.stat_result, inputs: Iterable[StrPath]) -> None:
    for name in inputs:
        try:
            other = os.fstat(0) if os.fspath(name) == STANDARD_INPUT else os.stat(name)
        except OSError:
            continue
        if os.path.samestat(found, other):
            shown = "standard input" if os.fspath(name) == STANDARD_INPUT else os.fspath(name)
            raise OSError(errno.EINVAL, f"it is also read, as {shown}; name another file for the output")


@contextlib.contextmanager
def replacing(
    path: StrPath, inputs: Iterable[StrPath] = (), *, check: Callable[[Path], None] | None = None
) -> Iterator[IO[bytes]]:
    """Open a file that replaces the one at `path` when it is complete; after an error, the old one is untouched.

    `check` gets the path of the new file once it is on the disk, and raises an error to prevent the replacement.
    """
    place = place_of(path, inputs)
    file, beside = _fresh(place)
    try:
        with file:
            yield file
            file.flush()
            if _lasting.get():
                os.fsync(file.fileno())
            if check is not None:
                check(beside)
            if fcntl is None:  # where an open file cannot be renamed
                file.close()
            os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):  # whatever prevents writing may prevent this too
            beside.unlink(missing_ok=True)
        raise
    if _lasting.get():
        _sync_folder(place.parent)


_lasting = ContextVar("lasting", default=True)


@contextlib.contextmanager
def in_passing() -> Iterator[None]:
    """Skip syncing to the disk in this context: files are read and removed at once, and need not survive a crash."""
    token = _lasting.set(False)
    try:
        yield
    finally:
        _lasting.reset(token)


@contextlib.contextmanager
def writing(path: StrPath | None, inputs: Iterable[StrPath] = ()) -> Iterator[IO[bytes]]:
    """Like `replacing`, for text: without a path to standard output, and directly to a pipe or a standard stream."""
    stream = _stream(path, inputs)
    if stream is not None:
        with stream:
            yield stream
    elif path is not None:
        remove_left_overs(place_of(path, inputs))
        with replacing(path, inputs) as file:
            yield file


def is_stream(path: StrPath | None) -> bool:
    """Whether this is a pipe or a standard stream, which `writing` does not replace."""
    return path is None or _kind_of_stream(path) is not None


def _stream(path: StrPath | None, inputs: Iterable[StrPath]) -> Any:
    if path is None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        number: int | None = sys.stdout.fileno()
    else:
        number = _kind_of_stream(path)
    if number is None:
        return None
    if number < 0:
        return open(path, "wb")  # type: ignore[arg-type]
    if stat.S_ISREG(os.fstat(number).st_mode):  # reading one's own output would never end
        _refuse_inputs(os.fstat(number), inputs)
    return open(number, "wb", closefd=False)


def _kind_of_stream(path: StrPath) -> int | None:
    """The number of the standard stream that a path leads to, −1 for another pipe, None for anything else."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(found, os.fstat(number)):
                return number
    return -1 if stat.S_ISFIFO(found.st_mode) else None


@contextlib.contextmanager
def alone(path: StrPath) -> Iterator[None]:
    """Hold a lock on writing the file at `path`; raise an error if another process holds it.

    It is a lock of the system on an empty file beside the place, and ends with the process that holds it. Where there
    are no such locks, nothing is locked.
    """
    if fcntl is None:
        yield
        return
    place = place_of(path)
    beside = place.with_name(f"{place.name}.lock")
    handle = _locked(beside)
    _LOCKS.add(handle)
    try:
        yield
    finally:
        _LOCKS.discard(handle)
        with contextlib.suppress(OSError):
            if os.fstat(handle).st_size == 0:  # otherwise it is another file of this name
                beside.unlink(missing_ok=True)
        os.close(handle)


_LOCKS: set[int] = set()  # handles of the locks that are held


def _let_go() -> None:
    """Close the locks in a forked child: a lock belongs to the process that took it, and ends with it."""
    while _LOCKS:
        os.close(_LOCKS.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def _locked(path: Path) -> int:
    """The handle of a lock, opened for reading only, so that a disk can be made read-only during a run."""
    mode = os.O_RDONLY
    while True:
        handle = os.open(path, mode | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)  # a pipe would wait
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EEXIST, f"{path.name} beside it is not a plain file, so it cannot be a lock; remove it")
        try:
            taken = _lock(handle)
            if taken and _is_at(handle, path):
                return handle
        except OSError as error:
            if error.errno != errno.EBADF or mode == os.O_RDWR:
                return handle  # a file system without locks is no obstacle
            mode = os.O_RDWR  # as network file systems require
            taken = True
        os.close(handle)  # if it was taken, its former holder has removed the file since
        if not taken:
            raise OSError(errno.EBUSY, f"another run is at work on it and holds {path.name}; wait for it to end")


def _lock(handle: int) -> bool:
    """Lock an open file; return False if another process holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _fresh(place: Path) -> tuple[IO[bytes], Path]:
    """A new, locked file beside the place, with a name of its own."""
    while True:
        beside = place.with_name(f"{place.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        file = open(beside, "xb")  # noqa: SIM115
        try:
            if fcntl is None or (_lock(file.fileno()) and _is_at(file.fileno(), beside)):
                return file, beside
        except OSError:  # a file system without locks
            return file, beside
        file.close()  # it was removed as a leftover just before it was locked


def remove_left_overs(path: StrPath) -> None:
    """Remove what killed writes have left beside a place. The files of a living process are locked, and stay."""
    place = Path(path)
    for part in place.parent.glob(f"{glob.escape(place.name)}.*.part"):
        if _PART.fullmatch(part.name[len(place.name) + 1 : -len(".part")]):
            with contextlib.suppress(OSError):
                _remove_if_dead(part)


def _remove_if_dead(part: Path) -> None:
    if fcntl is None:  # the system does not remove what is open
        part.unlink()
        return
    handle = os.open(part, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(handle) and _is_at(handle, part):
            part.unlink()
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power failure too; where folders cannot be synced, the system takes care of it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(handle)
    os.close(handle)
