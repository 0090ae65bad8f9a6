"""An encoder that has begun, as bytes, for shards of a stream that start from it elsewhere.

Knows `encoder`, and the container of model files: what is sent is read by the same checks, and is never code.
"""

from __future__ import annotations

from pathlib import Path

from ..files.container import OF_ANOTHER_KIND, ModelFileError, read, write
from ..files.in_bytes import from_bytes, to_bytes
from .encoder import Encoder


def encoder_to_bytes(encoder: Encoder) -> bytes:
    """An encoder that has decided how to encode its columns."""
    told, arrays = encoder.state()
    return to_bytes(lambda path: write(path, {"encoder": told}, arrays))


def encoder_from_bytes(content: bytes) -> Encoder:
    """The encoder of such bytes, for a shard to start from; a `ModelFileError` if they hold none."""
    return from_bytes(content, _read)


def _read(path: Path) -> Encoder:
    header, arrays = read(path, {})
    try:
        return Encoder.from_state(header["encoder"], arrays).of_shard()
    except OF_ANOTHER_KIND as error:
        raise ModelFileError(path, f"it holds no sound encoder: {str(error)[:200]}.") from None
