"""Read requests within limits, and write answers, the same way for every route."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ..errors import Refusal
from .limits import Limits
from .tokens import Headers

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON, ARROW, BYTES = b"application/json", b"application/vnd.apache.arrow.stream", b"application/octet-stream"
PIECE = 256 << 10  # most bytes of an answer that are sent at once

# Characters that JSON allows but that can do harm where they are shown: those of HTML, and those that move a cursor or
# change the direction of text.
_UNSAFE = re.compile(rb"[<>&\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")


class GoneError(Exception):
    """The caller went away before the end of the request."""


@dataclass(slots=True)
class Request:
    """A request as a route gets it."""

    headers: Headers
    type: bytes
    body: bytes


@dataclass(slots=True)
class Answer:
    """An answer as a route returns it."""

    body: bytes
    status: int = 200
    type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


def json_bytes(value: Any) -> bytes:
    """JSON in which nothing can harm a terminal or a page."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    if text.isascii() and b"<" not in text and b">" not in text and b"&" not in text and b"\x7f" not in text:
        return text  # true of nearly all, and checked in a tenth of the time
    return _UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def json_of(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if body else "it is empty"
        raise Refusal(400, f"the body is not JSON ({where}): {error.msg.partition(': line')[0]}.") from None


def refused(refusal: Refusal) -> Answer:
    answer = Answer(json_bytes(refusal.to_json()), refusal.status)
    if refusal.retry_after is not None:
        answer.headers.append((b"retry-after", str(refusal.retry_after).encode()))
    return answer


class Bodies:
    """Reads the bodies of requests, within one limit for each and another for all that are held at once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.held = 0

    async def read(self, headers: Headers, receive: Receive, most: int) -> bytes:
        """The body of a request; the caller must `release` its size afterwards."""
        declared = headers.get(b"content-length")
        if declared is not None and len(declared) < 20 and int(declared) > most:
            raise _too_large(most)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        first: bytes = message["body"]
        self._hold(first, 0, most)
        if not message.get("more_body"):
            return first
        pieces, size = [first], len(first)
        try:
            while message.get("more_body"):
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise GoneError
                self._hold(message["body"], size, most)
                size += len(message["body"])
                pieces.append(message["body"])
        except BaseException:
            self.release(size)
            raise
        return b"".join(pieces)

    def release(self, size: int) -> None:
        self.held -= size

    def _hold(self, piece: bytes, size: int, most: int) -> None:
        if size + len(piece) > most:
            raise _too_large(most)
        if self.held + len(piece) > self._limits.held:
            raise Refusal(429, "too much is being sent at once; send it again in a moment.", retry_after=1)
        self.held += len(piece)


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than {most:,} bytes; send fewer rows at once.")


_COMMON = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


async def write(answer: Answer, send: Send) -> None:
    """Send an answer; a large one goes in pieces, so that only what the caller takes is copied."""
    body = answer.body
    length = b"%d" % len(body)
    headers = [(b"content-type", answer.type), (b"content-length", length), *_COMMON, *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    for start in range(0, len(body) - PIECE, PIECE):
        await send({"type": "http.response.body", "body": body[start : start + PIECE], "more_body": True})
    rest = body if len(body) <= PIECE else body[(len(body) - 1) // PIECE * PIECE :]
    await send({"type": "http.response.body", "body": rest})
