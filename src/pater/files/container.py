"""The container of a model file: a safetensors file with a JSON header and a checksum, written whole or not at all.

Knows NumPy and files; knows nothing of models. Described in docs/model-file.md.

Whoever forges a file can compute its checksum too: it reveals damage, not intent, so nothing in a file is trusted.

The file is written here rather than by the safetensors package: row by row straight to the disk, and read row by row
straight to its place, so that a model of 200 MB takes that much memory only once. Any safetensors reader opens it.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.errors import SentWhole
from .writing import alone, replacing
from .writing import check as check_output

FORMAT = "pater model"
MAJOR, MINOR = 1, 7
TYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_UNSIGNED = "sha256:" + "0" * 64
_LARGEST_HEADER = 1 << 28
_PIECE = 1 << 20
MOST_DIMENSIONS = 4

# The errors that values of other types, missing names and numbers out of range lead to.
OF_ANOTHER_KIND = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)

Arrays = dict[str, Any]  # of NDArray, or of an object that is written like one, row by row
Shape = tuple[int, ...]
Places = dict[str, tuple[Shape, Any]]  # shape and type of each array, in the order of the file
# A function of the header, the arrays before this one, its shape and its type. It returns where the array goes, as an
# object that takes rows by number, or None to make it a NumPy array.
Room = Callable[[dict[str, Any], Arrays, Shape, Any], Any]


class ModelFileError(SentWhole, ValueError):
    """A file is not a sound model file, or cannot be written."""

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        super().__init__(f"{os.fspath(path)}: {what}")


def minor(version: Any) -> int:
    """The second number of a version."""
    return int(str(version).partition(".")[2] or 0)


def is_newer(version: Any) -> bool:
    """Whether this version of the format, which can be read, is newer than the one that this program writes."""
    return minor(version) > MINOR


def write(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Arrays,
    *,
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write the container: the header and the arrays, with a checksum over all of it.

    `check` gets the temporary path of the new file before it replaces the old one.
    """
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
    try:
        with replacing(path, check=check) as file:
            digest = hashlib.sha256()
            for part in itertools.chain((len(text).to_bytes(8, "little"), text), _parts(arrays)):
                digest.update(part)
                file.write(part)
            file.seek(8 + text.index(_UNSIGNED.encode()) + len("sha256:"))
            file.write(digest.hexdigest().encode())
    except OSError as error:
        raise ModelFileError(path, f"cannot be written: {error.strerror or error}.") from None


def check_place(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise a `ModelFileError` if a file could not be written there, or is among the inputs."""
    try:
        check_output(path, inputs)
    except OSError as error:
        raise ModelFileError(path, f"cannot be written: {error.strerror or error}.") from None


@contextmanager
def lock_place(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a path for writing; raise a `ModelFileError` at once if another process holds the lock."""
    with ExitStack() as stack:
        try:
            stack.enter_context(alone(path))
        except OSError as error:
            raise ModelFileError(path, f"cannot be written: {error.strerror or error}.") from None
        yield


def _parts(arrays: Arrays) -> Iterator[Any]:
    for array in arrays.values():
        for row in array if array.ndim > 1 else [array]:
            yield _bytes(np.ascontiguousarray(row)) if row.size else b""


def _bytes(array: Any) -> memoryview:
    return memoryview(array).cast("B")


def read(
    path: str | os.PathLike[str],
    rooms: Mapping[str, Room],
    claims: Callable[[dict[str, Any], Places], None] | None = None,
) -> tuple[dict[str, Any], Arrays]:
    """Read the container: the header and the arrays, once the checksum is right.

    The checksum is verified first, in a pass that keeps nothing in memory. Then the header is parsed, and the arrays
    that it describes must fill the file exactly. Then `claims` may object to the header and to the shapes and types of
    the arrays. Only then is memory allocated. `rooms` says where some arrays go, by name, so that a large one need not
    be in memory twice.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise ModelFileError(path, "it is not a model file, but a folder, a pipe or a device.")
            result = _read(path, file, before.st_size, rooms, claims)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise ModelFileError(path, f"cannot be read: {error.strerror or error}.") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ModelFileError(path, "it was changed while it was read.")
    return result


def _read(
    path: str | os.PathLike[str],
    file: io.RawIOBase,
    size: int,
    rooms: Mapping[str, Room],
    claims: Callable[[dict[str, Any], Places], None] | None,
) -> tuple[dict[str, Any], Arrays]:
    start = bytes(_exactly(file, 8, path)) if size >= 8 else b""
    length = int.from_bytes(start, "little")
    if size < 8 or not 2 <= length <= min(_LARGEST_HEADER, size - 8):
        raise ModelFileError(path, "it is not a model file, or it was cut off.")
    text = bytes(_exactly(file, length, path))
    _check_sum(path, file, start + text)
    header, places = _taken_apart(path, text, size - 8 - length)
    if claims is not None:
        claims(header, places)
    file.seek(8 + length)
    arrays: Arrays = {}
    for name, (shape, kind) in places.items():
        room = rooms[name](header, arrays, shape, kind) if name in rooms else None
        if room is None:
            arrays[name] = np.empty(shape, kind)
            _fill(arrays[name], file, path)
        else:
            arrays[name], row = room, np.empty(shape[-1], kind)
            for k in range(math.prod(shape[:-1])):
                _fill(row, file, path)
                room[k] = row
    return header, arrays


def _check_sum(path: str | os.PathLike[str], file: io.RawIOBase, start: bytes) -> None:
    """Check that the digits after the first `sha256:` are those of the whole file with zeros in their place."""
    at = start.find(b"sha256:")
    if at < 0:
        raise ModelFileError(path, "it is not a pater model file, or it is damaged.")
    end = at + len(_UNSIGNED)
    digest = hashlib.sha256(start[:at] + _UNSIGNED.encode() + start[end:])
    piece = memoryview(bytearray(_PIECE))
    while found := file.readinto(piece):
        digest.update(piece[:found])
    if start[at:end] != f"sha256:{digest.hexdigest()}".encode():
        raise ModelFileError(path, "its checksum is wrong: the file was cut off or changed.")


def _taken_apart(path: str | os.PathLike[str], text: bytes, size: int) -> tuple[dict[str, Any], Places]:
    """The header, and the shapes and types of the arrays, which must fill `size` bytes."""
    try:
        described = _json(text.decode())
        header = _json(described.pop("__metadata__")["pater"])
        ours, version = header["format"] == FORMAT, header["version"]
        major = int(version.partition(".")[0])
    except (*OF_ANOTHER_KIND, RecursionError):
        raise ModelFileError(path, "it is not a pater model file, or it is damaged.") from None
    if not ours:
        raise ModelFileError(path, "it is not a pater model file.")
    if major > MAJOR:
        told = f"it has version {version[:20]} of the format; this pater reads version {MAJOR}. Update pater."
        raise ModelFileError(path, told)
    try:
        return header, _in_order(described, size)
    except OF_ANOTHER_KIND:
        raise ModelFileError(path, "its header is damaged, or the file was cut off.") from None


def _json(text: str) -> Any:
    """The value of a JSON text. Raises a ValueError where readers might disagree, or where it cannot be written."""
    value = json.loads(text, object_pairs_hook=_no_name_twice, parse_float=_finite, parse_constant=_finite)
    json.dumps(value, ensure_ascii=False).encode()  # raises for half a surrogate pair
    return value


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def _fill(array: Any, file: io.RawIOBase, path: str | os.PathLike[str]) -> None:
    if array.size:
        _fill_bytes(_bytes(array), file, path)


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


def _in_order(described: dict[str, Any], size: int) -> Places:
    """The shape and type of each array in a header, in the order of the file, which they must fill exactly."""
    places: Places = {}
    offset = 0
    for name, place in sorted(described.items(), key=lambda item: item[1]["data_offsets"]):
        kind, shape, (start, end) = TYPES[place["dtype"]], place["shape"], place["data_offsets"]
        sound = isinstance(shape, list) and 1 <= len(shape) <= MOST_DIMENSIONS
        sound = sound and all(type(n) is int and 0 <= n < 1 << 48 for n in (*shape, start, end))
        # Even the shape of an empty array must be one that an array can have.
        if not sound or math.prod(max(1, n) for n in shape) >= 1 << 48:
            raise ValueError(name)
        if start != offset or end > size or end - start != math.prod(shape) * kind.itemsize:
            raise ValueError(name)
        places[name] = (tuple(shape), kind)
        offset = end
    if offset != size:
        raise ValueError("size")
    return places
