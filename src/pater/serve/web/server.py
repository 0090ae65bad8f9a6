"""The server: sockets, signals and TLS around the application.

After the first SIGTERM, SIGINT or SIGHUP, requests are finished and the model is saved; the second ends the process at
once. Nothing that was acknowledged is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import uvicorn

from ...formats.errors import InputError
from .connection import Connection
from .journal import Handler, Journal
from .limits import Limits

DRAIN = 30  # seconds that requests have to finish


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """A socket bound to the first address of a host."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except BaseException:
            listener.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen at {host}, port {port}: {why}; --host and --port choose another.") from None
    return listener


def address_of(listener: socket.socket, *, secure: bool) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def check_certificate(certificate: Path, key: Path) -> None:
    """Raise an InputError if a certificate and its key cannot be used."""
    for path in (certificate, key):
        try:
            path.open("rb").close()
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}.") from None
    try:
        # With an empty password, OpenSSL does not ask for one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise InputError(
            f"{certificate} and {key} are not a certificate and its key in PEM, without a password: {error}."
        ) from None


async def serve(
    app: Callable[..., Awaitable[None]],
    listener: socket.socket,
    *,
    limits: Limits,
    journal: Journal,
    certificate: Path | None = None,
    key: Path | None = None,
    started: Callable[[], None] = lambda: None,
    draining: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until a signal comes; return when those under way are answered."""
    own = type("_Connection", (Connection,), {"limits": limits})
    config = uvicorn.Config(
        app,
        http=own,
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=1024,
        timeout_keep_alive=int(limits.idle),
        timeout_graceful_shutdown=DRAIN,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    server = _Server(config)
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    with Handler.at(loggers, journal, above=logging.WARNING), _signals(server, journal, draining):
        running = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not (server.started or running.done()):
            await asyncio.sleep(0.001)
        if server.started:
            started()
        await running


@contextlib.contextmanager
def _signals(server: uvicorn.Server, journal: Journal, draining: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def hear(number: int) -> None:
        if server.should_exit:
            os._exit(128 + number)
        server.should_exit = True
        journal.say("stopping", signal=signal.Signals(number).name)
        draining()

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [signal.Signals[name] for name in names if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]  # nohup sets that
    try:
        for number in numbers:
            loop.add_signal_handler(number, hear, number)
    except (NotImplementedError, ValueError, RuntimeError):  # on Windows, or not in the main thread
        numbers = []
    try:
        yield
    finally:
        # While the rest is being closed, another signal still ends the process at once.
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, lambda number, _: os._exit(128 + number))
