"""One connection of the server, with limits that uvicorn lacks: on the size of heads and the duration of requests.

Knows uvicorn's httptools protocol, and overrides the methods that the parser and the transport call.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import Refusal
from .http import refused, write
from .limits import Limits

_REFUSAL = (
    b'HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n{"error": "%b"}'
)


def _refusal(status: bytes, reason: bytes) -> bytes:
    return _REFUSAL % (status, len(reason) + 13, reason)


async def _crowded(scope: Any, receive: Any, send: Any) -> None:
    """Answer instead of the application when there are too many connections."""
    refusal = Refusal(503, "there are too many connections; try again in a moment.", retry_after=1)
    await write(refused(refusal), send)


class Connection(HttpToolsProtocol):
    """A connection that is closed if a request is too slow, if its head is too large, or if nobody reads the answer."""

    limits = Limits()

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._overhead = self._body = 0  # bytes of the request under way
        self._whole = False  # whether the last bytes have ended a request
        self._arrival: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arrival = self.loop.call_later(self.limits.arrival, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arrival, self._reading):
            if timer:
                timer.cancel()
        self._arrival = self._reading = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._overhead += len(data)
        self._whole = False
        super().data_received(data)
        if self._whole:
            if self._arrival:
                self._arrival.cancel()
                self._arrival = None
        elif self._arrival is None and not self.transport.is_closing():
            self._arrival = self.loop.call_later(self.limits.arrival, self._too_slow)
        # Chunks have heads of their own: an eighth of the body is more than reasonable chunks need.
        if self._overhead > self.limits.head + self._body // 8:
            self._refuse(b"431 Request Header Fields Too Large", b"the head of the request is too large.")

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep a half-closed connection while its caller may still wait for the answer; TLS has no half-close."""
        waits = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        if waits and self.scheme == "http":
            self.cycle.keep_alive = False
            return True
        return None

    def on_body(self, body: bytes) -> None:
        self._overhead -= len(body)
        self._body += len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        crowded = len(self.connections) > self.limits.connections
        self.app = _crowded if crowded else self.config.loaded_app
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in the same form as everything else."""
        self.transport.write(_refusal(b"400 Bad Request", b"this is not HTTP as it should be."))
        self.transport.close()

    def on_message_begin(self) -> None:
        self._whole = False
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._whole = True
        self._overhead = self._body = 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.limits.arrival, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _too_slow(self) -> None:
        self._arrival = None
        self._refuse(b"408 Request Timeout", b"the request has not come whole in time.")

    def _refuse(self, status: bytes, reason: bytes) -> None:
        """Answer and close; while another answer is under way, only abort the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_refusal(status, reason))
            self.transport.close()
        else:
            self.transport.abort()
