"""Requests read within limits, and answers written: what is the same for every route."""

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
PIECE = 256 << 10  # bytes of an answer that are handed over at once

# What is valid in JSON as it is, but not harmless where it may be shown: HTML, and what moves a cursor or turns a line.
_UNSAFE = re.compile(rb"[<>&\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")


class GoneError(Exception):
    """The caller has gone away before the end of the request."""


@dataclass(slots=True)
class Request:
    """What a route is given."""

    headers: Headers
    type: bytes
    body: bytes


@dataclass(slots=True)
class Answer:
    """What a route gives back."""

    body: bytes
    status: int = 200
    type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


def json_bytes(value: Any) -> bytes:
    """JSON in which nothing can harm a terminal or a page."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    if text.isascii() and b"<" not in text and b">" not in text and b"&" not in text and b"\x7f" not in text:
        return text  # as nearly all is, which is seen in a tenth of the time
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
    """Reads bodies of requests, none beyond its limit, and all of them together within another."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.held = 0

    async def read(self, headers: Headers, receive: Receive, most: int) -> bytes:
        """The body of a request. The caller of this gives back what it holds by `release`."""
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
    """Send an answer, a large one in pieces, so that only what the caller takes is copied."""
    body = answer.body
    length = b"%d" % len(body)
    headers = [(b"content-type", answer.type), (b"content-length", length), *_COMMON, *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    for start in range(0, len(body) - PIECE, PIECE):
        await send({"type": "http.response.body", "body": body[start : start + PIECE], "more_body": True})
    rest = body if len(body) <= PIECE else body[(len(body) - 1) // PIECE * PIECE :]
    await send({"type": "http.response.body", "body": rest})
