"""Run a service from start to end: open the log, let the engine recover, answer requests, and close everything.

Knows everything in this package, and the engine and the state directory.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine import Engine
from ..retention import Retention
from ..rows import bodies
from ..store import records
from ..store.state import opened
from ..warming import warm
from .app import App
from .journal import Handler, Journal
from .limits import Limits
from .server import address_of, bound, check_certificate, serve
from .tokens import LOOPBACK, Access, open_to_others, read_tokens
from .views import EngineViews

if TYPE_CHECKING:
    from ..kafka import Address


SWITCH = 0.001  # seconds for which a thread that reads or writes may keep the event loop waiting


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The options of the command line for a service.

    state, model, settings
        The state directory, the model file to begin with, and settings of a learner, as `state.opened` takes them.
    window
        The number of rows in a window of quality.
    host, port, tokens, certificate, key
        Where to listen, the file of tokens, and the files for TLS.
    consume
        The topic to learn from in addition to requests.
    """

    state: Path
    model: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    keeping: Retention = field(default_factory=Retention)
    limits: Limits = field(default_factory=Limits)
    window: int = 1_000
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    log_requests: bool = False
    consume: Address | None = None


def run(setup: Setup, journal: Journal, told: Callable[[str], None]) -> None:
    """Serve until a signal comes; `told` is called with the address once the service is ready."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(setup, journal, told))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


def _consuming(engine: Engine, setup: Setup) -> Callable[[], Awaitable[None]]:
    """Begin to learn from the topic, if there is one; return a function that stops it."""
    if setup.consume is None:
        return partial(asyncio.sleep, 0)
    from ..consume import Consumption

    consumption = Consumption(engine, setup.consume, setup.limits)
    task = asyncio.create_task(consumption.run())

    async def stop() -> None:
        consumption.stop()
        await task

    return stop


async def _run(setup: Setup, journal: Journal, told: Callable[[str], None]) -> None:
    limits = setup.limits
    tokens = None if setup.tokens is None else read_tokens(setup.tokens)
    if setup.tokens is not None and open_to_others(setup.tokens):
        journal.say("tokens can be read by others", level="warning", file=str(setup.tokens), do="chmod 600")
    if setup.certificate is not None and setup.key is not None:
        check_certificate(setup.certificate, setup.key)
    listener = bound(setup.host, setup.port)  # before anything is written, since most mistakes show here
    try:
        log, settings = opened(
            setup.state,
            model=setup.model,
            settings=setup.settings or None,
            limits=records.Limits(pending=limits.pending),
        )
        try:
            engine = Engine(log, settings, setup.keeping, setup.window)
            with Handler.at([logging.getLogger("pater.serve")], journal):
                await engine.start()
                warm(engine.learned.served, settings)
        except BaseException:
            log.close()
            raise
        views = EngineViews(engine)
        access = Access(tokens, hosts=LOOPBACK | {setup.host})
        app = App(
            engine,
            views,
            access=access,
            limits=limits,
            journal=journal,
            log_requests=setup.log_requests,
            of_rows={"limits": bodies.Limits(rows=limits.rows, columns=limits.columns, id=limits.ids)},
        )
        address = address_of(listener, secure=setup.certificate is not None)

        def started() -> None:
            sys.setswitchinterval(SWITCH)
            gc.collect()
            gc.freeze()  # these objects stay; examining them again in each collection would slow down requests
            told(address)
            journal.say("started", address=address, state=str(setup.state), model=engine.told())

        with Handler.at([logging.getLogger("pater.serve")], journal):
            consuming = _consuming(engine, setup)
            try:
                await serve(
                    app,
                    listener,
                    limits=limits,
                    journal=journal,
                    certificate=setup.certificate,
                    key=setup.key,
                    started=started,
                    draining=views.drain,
                )
            finally:
                await consuming()
                await engine.stop()
                journal.say("stopped", model=engine.told())
    finally:
        listener.close()
