"""The container of a model file: a safetensors file with a JSON header and a checksum, written whole or not at all.

Knows NumPy and files; knows nothing of models. Described in docs/model-file.md.

It is written here rather than by the safetensors package, row by row straight to the disk, and read row by row straight
to its place: a model of 200 MB takes that much memory once. Any safetensors reader opens it.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import io
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "pater model"
MAJOR, MINOR = 1, 0
TYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_UNSIGNED = "sha256:" + "0" * 64
_LARGEST_HEADER = 1 << 28

Arrays = dict[str, Any]  # of NDArray, or what is written like one: row by row
Shape = tuple[int, ...]
# From the header, the arrays before it, its shape and its type: where an array goes, as something that takes rows by
# number; or None, and it becomes an array. The checksum has not been seen yet, so the header is not to be trusted.
Room = Callable[[dict[str, Any], Arrays, Shape, Any], Any]


class ModelFileError(ValueError):
    """A file that is no sound model file, or that cannot be written."""

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        super().__init__(f"{os.fspath(path)}: {what}")


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the container: the header and the arrays, with a checksum over all of it."""
    described, offset = {}, 0
    types = {kind: name for name, kind in TYPES.items()}
    for name, array in arrays.items():
        described[name] = {
            "dtype": types[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    told = json.dumps(
        {"checksum": _UNSIGNED, "format": FORMAT, "version": f"{MAJOR}.{MINOR}", **header}, allow_nan=False
    )
    text = json.dumps({"__metadata__": {"pater": told}, **described}).encode()
    text += b" " * (-len(text) % 8)
    target, beside = Path(path), _beside(path)
    try:
        with open(beside, "wb") as file:
            digest = hashlib.sha256()
            for part in itertools.chain((len(text).to_bytes(8, "little"), text), _parts(arrays)):
                digest.update(part)
                file.write(part)
            file.seek(8 + text.index(_UNSIGNED.encode()) + len("sha256:"))
            file.write(digest.hexdigest().encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
        _sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # what is in the way of writing may be in the way of this, too
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ModelFileError(path, f"cannot be written: {error.strerror or error}.") from None
        raise


def check_place(path: str | os.PathLike[str]) -> None:
    """An error if a file could not be written there, before hours are spent on what is to go into it."""
    beside = _beside(path)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with open(beside, "wb"):
            pass
        beside.unlink()
    except OSError as error:
        raise ModelFileError(path, f"cannot be written: {error.strerror or error}.") from None


def remove_left_overs(path: str | os.PathLike[str]) -> None:
    """Of writes that were killed."""
    target = Path(path)
    for part in target.parent.glob(f"{glob.escape(target.name)}.*.part"):
        if part.name[len(target.name) + 1 : -len(".part")].isdecimal():
            part.unlink(missing_ok=True)


def _beside(path: str | os.PathLike[str]) -> Path:
    return Path(path).with_name(f"{Path(path).name}.{os.getpid()}.part")


def _parts(arrays: Arrays) -> Iterator[Any]:
    for array in arrays.values():
        for row in array if array.ndim > 1 else [array]:
            yield _bytes(np.ascontiguousarray(row)) if row.size else b""


def _bytes(array: Any) -> memoryview:
    return memoryview(array).cast("B")


def _sync_folder(folder: Path) -> None:
    """The new name, too, has to outlive a power failure; where folders cannot be synced, the system sees to it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def read(path: str | os.PathLike[str], rooms: Mapping[str, Room]) -> tuple[dict[str, Any], Arrays]:
    """Read the container: the header and the arrays, once the checksum is right.

    `rooms` says of some arrays, by name, where they go, so that a large one need not be in memory twice.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            return _read(path, file, os.fstat(file.fileno()).st_size, rooms)
    except OSError as error:
        raise ModelFileError(path, f"cannot be read: {error.strerror or error}.") from None


def _read(
    path: str | os.PathLike[str], file: io.RawIOBase, size: int, rooms: Mapping[str, Room]
) -> tuple[dict[str, Any], Arrays]:
    start = bytes(_exactly(file, 8, path)) if size >= 8 else b""
    length = int.from_bytes(start, "little")
    if size < 8 or not 2 <= length <= min(_LARGEST_HEADER, size - 8):
        raise ModelFileError(path, "it is not a model file, or it was cut off.")
    text = bytes(_exactly(file, length, path))
    try:
        described = json.loads(text)
        header = json.loads(described.pop("__metadata__")["pater"])
        ours, stored = header["format"] == FORMAT, header["checksum"]
        major = int(header["version"].partition(".")[0])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelFileError(path, "it is not a pater model file, or it is damaged.") from None
    if not ours:
        raise ModelFileError(path, "it is not a pater model file.")
    if major > MAJOR:
        told = f"it has version {header['version']} of the format; this pater reads version {MAJOR}. Update pater."
        raise ModelFileError(path, told)
    try:
        places = _in_order(described, size - 8 - length)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise ModelFileError(path, "its header is damaged, or the file was cut off.") from None
    at = text.find(b"sha256:")
    digest = hashlib.sha256(start + text[:at] + _UNSIGNED.encode() + text[at + len(_UNSIGNED) :])
    arrays: Arrays = {}
    for name, (shape, kind) in places.items():
        room = rooms[name](header, arrays, shape, kind) if name in rooms else None
        if room is None:
            arrays[name] = np.empty(shape, kind)
            _fill(arrays[name], file, digest, path)
        else:
            arrays[name], row = room, np.empty(shape[-1], kind)
            for k in range(math.prod(shape[:-1])):
                _fill(row, file, digest, path)
                room[k] = row
    if stored != f"sha256:{digest.hexdigest()}":
        raise ModelFileError(path, "its checksum is wrong: the file was cut off or changed.")
    return header, arrays


def _fill(array: Any, file: io.RawIOBase, digest: Any, path: str | os.PathLike[str]) -> None:
    if array.size:
        content = _bytes(array)
        _fill_bytes(content, file, path)
        digest.update(content)


def _exactly(file: io.RawIOBase, size: int, path: str | os.PathLike[str]) -> bytearray:
    content = bytearray(size)
    _fill_bytes(memoryview(content), file, path)
    return content


def _fill_bytes(content: memoryview, file: io.RawIOBase, path: str | os.PathLike[str]) -> None:
    while content:
        found = file.readinto(content)
        if not found:
            raise ModelFileError(path, "it was cut off.")
        content = content[found:]


def _in_order(described: dict[str, Any], size: int) -> dict[str, tuple[Shape, Any]]:
    """Shape and type of the arrays that a header describes, in the order of the file, which they fill exactly."""
    places = {}
    offset = 0
    for name, place in sorted(described.items(), key=lambda item: item[1]["data_offsets"]):
        kind, shape, (start, end) = TYPES[place["dtype"]], place["shape"], place["data_offsets"]
        sound = all(type(n) is int and 0 <= n < 1 << 48 for n in (*shape, start, end))
        if not sound or start != offset or end > size or end - start != math.prod(shape) * kind.itemsize:
            raise ValueError(name)
        places[name] = (tuple(shape), kind)
        offset = end
    if offset != size:
        raise ValueError("size")
    return places
