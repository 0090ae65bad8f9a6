"""An ASGI application that turns requests into calls of an engine, and results into answers.

It keeps no state, and decides only who has access. There is no framework between it and the server: all paths are
fixed, and one lookup takes a tenth of the time of a router.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from ...files.model_file import ModelFileError
from ...formats.errors import InputError
from ..errors import Refusal
from ..store.records import LabelOf
from .front_page import front_page
from .gathering import Gathering, Predicting
from .http import ARROW, BYTES, JSON, Answer, Bodies, GoneError, Receive, Request, Send, json_bytes, json_of, refused
from .http import write as write_answer
from .journal import Journal
from .labels import labels_of_json
from .limits import Limits
from .tokens import Access, Headers

LARGE = 64 << 10  # bytes; a larger body is parsed in a thread
LONGEST_KEY = 255  # characters of an idempotency key
MOST_EXPLAINED = 1_000  # most rows of a request that are explained
MOST_SHOWN = 80  # most characters of a path that an answer repeats


class Engine(Predicting, Protocol):
    """The owner of the model. Its results can be written as JSON; what it cannot do raises a `Refusal`."""

    @property
    def is_fixed(self) -> bool: ...
    def rows_of(self, body: Any, *, labelled: bool, arrow: bool = False, **limits: Any) -> Any: ...
    async def learn(self, rows: Any, key: str | None = None, digest: bytes = b"") -> dict[str, Any]: ...
    async def labels(self, labels: list[LabelOf]) -> dict[str, Any]: ...
    async def swap(self, content: bytes) -> dict[str, Any]: ...
    async def model_file(self) -> bytes: ...
    async def set_operating_point(self, wish: Any) -> dict[str, Any]: ...


class Views(Protocol):
    """The status and the metrics of an engine."""

    def observe(self, route: str, status: int, seconds: float) -> None: ...
    def exposition(self, accept: str) -> tuple[bytes, str]: ...
    def status(self) -> dict[str, Any]: ...
    def unready(self) -> str | None: ...


Handler = Callable[["Request"], Awaitable[Answer]]


class Route(NamedTuple):
    """A path and a method: the handler, the roles that may call it, and the types and size of the body."""

    call: Handler
    roles: frozenset[str]
    types: tuple[bytes, ...] = ()
    most: int = 0


class App:
    """The application, over an engine."""

    def __init__(
        self,
        engine: Engine,
        views: Views,
        *,
        access: Access,
        limits: Limits,
        journal: Journal,
        log_requests: bool = False,
        of_rows: dict[str, Any] | None = None,
    ) -> None:
        self._engine, self._views, self._access, self._journal = engine, views, access, journal
        self._limits, self._of_rows = limits, of_rows or {}  # the latter for `Engine.rows_of`
        self._gathering = Gathering(engine, self._rows_of)
        self._reader = ThreadPoolExecutor(1, "pater-reader")
        self._bodies = Bodies(limits)
        self._log_requests = log_requests
        predicting, learning = frozenset({"predict", "admin"}), frozenset({"learn", "admin"})
        admin, anyone, everybody = frozenset({"admin"}), frozenset({"predict", "learn", "admin"}), frozenset[str]()
        rows = (JSON, ARROW)
        self.routes: dict[str, dict[str, Route]] = {
            "/v1/predict": {"POST": Route(self._predict, predicting, rows, limits.body)},
            "/v1/learn": {"POST": Route(self._learn, learning, rows, limits.body)},
            "/v1/labels": {"POST": Route(self._labels, learning, (JSON,), limits.body)},
            "/v1/model": {
                "GET": Route(self._model, admin),
                "POST": Route(self._swap, admin, (BYTES,), limits.model),
            },
            "/v1/operating-point": {"POST": Route(self._operating_point, admin, (JSON,), 1 << 16)},
            "/v1/status": {"GET": Route(self._status, anyone)},
            "/metrics": {"GET": Route(self._metrics, anyone)},
            "/healthz": {"GET": Route(self._healthy, everybody)},
            "/readyz": {"GET": Route(self._ready, everybody)},
            "/openapi.json": {"GET": Route(self._openapi, anyone)},
            "/": {"GET": Route(self._page, everybody)},
        }

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        begun = perf_counter()
        path: str = scope["path"]
        try:
            answer = await self._answer(path, scope["method"], dict(scope["headers"]), receive)
        except Refusal as refusal:
            answer = refused(refusal)
            if refusal.status == 401:
                answer.headers.append((b"www-authenticate", b"Bearer"))
            elif refusal.status == 405:
                answer.headers.append((b"allow", b", ".join(method.encode() for method in self._methods(path))))
        except (InputError, ModelFileError) as error:
            answer = refused(Refusal(422, str(error)))
        except GoneError:
            return
        except Exception as error:
            number = secrets.token_hex(6)
            self._journal.fault("failed", error, id=number, path=path[:MOST_SHOWN])
            answer = refused(Refusal(500, f"something went wrong in the server; its log has it under {number}."))
        await write_answer(answer, send)
        seconds = perf_counter() - begun
        self._views.observe(path if path in self.routes else "other", answer.status, seconds)
        if self._log_requests:
            told = {"method": scope["method"], "path": path[:MOST_SHOWN], "status": answer.status}
            self._journal.say("request", **told, milliseconds=round(seconds * 1e3, 3))

    async def _answer(self, path: str, method: str, headers: Headers, receive: Receive) -> Answer:
        methods = self.routes.get(path)
        if methods is None:
            raise Refusal(404, f"there is nothing at {path[:MOST_SHOWN]}; /openapi.json lists what there is.")
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise Refusal(405, f"{path} is for {' and '.join(self._methods(path))}.")
        self._access.check(headers, route.roles, changes=method not in ("GET", "HEAD"))
        if not route.types:
            return await route.call(Request(headers, b"", b""))
        type_ = _content_type(headers, route.types)
        body = await self._bodies.read(headers, receive, route.most)
        try:
            return await route.call(Request(headers, type_, body))
        finally:
            self._bodies.release(len(body))

    def _methods(self, path: str) -> list[str]:
        there = self.routes[path]
        return [*there, "HEAD"] if "GET" in there else [*there]

    async def _predict(self, request: Request) -> Answer:
        if request.type == JSON and len(request.body) <= LARGE:
            body = json_of(request.body)
            if _explains(body):
                answer = await self._engine.predict(_few(self._rows_of(body)), explain=True)
            else:
                answer = await self._gathering.predict(body)
        else:
            rows, explain = await self._aside(request, labelled=False)
            answer = await self._engine.predict(_few(rows) if explain else rows, explain=explain)
        if ARROW in request.headers.get(b"accept", b""):
            from .arrow_answers import arrow_bytes

            return Answer(arrow_bytes(answer), type=ARROW)
        return Answer(json_bytes(answer))

    async def _learn(self, request: Request) -> Answer:
        key = _key(request.headers)
        rows, _ = await self._aside(request, labelled=True)
        digest = b"" if key is None else hashlib.sha256(request.type + b"\n" + request.body).digest()
        return Answer(json_bytes(await self._engine.learn(rows, key, digest)))

    async def _labels(self, request: Request) -> Answer:
        labels = labels_of_json(json_of(request.body), self._limits)
        return Answer(json_bytes(await self._engine.labels(labels)))

    def _rows_of(self, body: Any) -> Any:
        return self._engine.rows_of(body, labelled=False, **self._of_rows)

    def _read(self, request: Request, labelled: bool) -> tuple[Any, bool]:
        """The rows of a request, and whether their predictions are to be explained."""
        arrow = request.type == ARROW
        body = request.body if arrow else json_of(request.body)
        explain = not labelled and _explains(body)
        return self._engine.rows_of(body, labelled=labelled, arrow=arrow, **self._of_rows), explain

    async def _aside(self, request: Request, *, labelled: bool) -> tuple[Any, bool]:
        """The same; large requests are read one at a time in a thread, so that small ones need not wait for them."""
        if len(request.body) > LARGE and self._engine.is_fixed:
            return await asyncio.get_running_loop().run_in_executor(self._reader, self._read, request, labelled)
        return self._read(request, labelled)

    async def _model(self, request: Request) -> Answer:
        name = (b"content-disposition", b'attachment; filename="model.pater"')
        return Answer(await self._engine.model_file(), type=BYTES, headers=[name])

    async def _swap(self, request: Request) -> Answer:
        return Answer(json_bytes(await self._engine.swap(request.body)))

    async def _operating_point(self, request: Request) -> Answer:
        return Answer(json_bytes(await self._engine.set_operating_point(json_of(request.body))))

    async def _status(self, request: Request) -> Answer:
        return Answer(json_bytes(self._views.status()))

    async def _metrics(self, request: Request) -> Answer:
        text, type_ = self._views.exposition(request.headers.get(b"accept", b"").decode("latin-1"))
        return Answer(text, type=type_.encode())

    async def _healthy(self, request: Request) -> Answer:
        return Answer(b'{"status":"alive"}')

    async def _ready(self, request: Request) -> Answer:
        why = self._views.unready()
        if why is not None:
            raise Refusal(503, why, retry_after=1)
        return Answer(b'{"status":"ready"}')

    async def _openapi(self, request: Request) -> Answer:
        return Answer(_file("openapi.json"))

    async def _page(self, request: Request) -> Answer:
        page = front_page()
        headers = [(name.encode(), value.encode()) for name, value in page.headers.items()]
        return Answer(page.content, type=b"text/html; charset=utf-8", headers=headers)


def _few(rows: Any) -> Any:
    """The same rows; a Refusal if there are too many to explain, which takes memory for every column of each row."""
    if len(rows) > MOST_EXPLAINED:
        raise Refusal(413, f"there are {len(rows):,} rows, but at most {MOST_EXPLAINED:,} can be explained at once.")
    return rows


def _explains(body: Any) -> bool:
    """Remove "explain" from a body, and return whether predictions are to be explained."""
    explain = body.pop("explain", False) if isinstance(body, dict) else False
    if not isinstance(explain, bool):
        raise Refusal(400, "explain must be true or false.")
    return explain


def _content_type(headers: Headers, types: tuple[bytes, ...]) -> bytes:
    """The type of a body, which must be one of `types`: no browser lets a page of another site send these unasked."""
    type_ = headers.get(b"content-type", b"")
    if type_ in types and b"content-encoding" not in headers:
        return type_
    given, _, parameters = type_.lower().partition(b";")
    given, charset = given.strip(), parameters.partition(b"charset=")[2].strip(b' "')
    if given not in types or (charset and charset not in (b"utf-8", b"utf8")):
        wanted, first = " or ".join(each.decode() for each in types), types[0].decode()
        raise Refusal(415, f"the Content-Type must be {wanted}, in UTF-8; with curl: -H 'Content-Type: {first}'.")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal(415, "the body must not be compressed.")
    return given


def _key(headers: Headers) -> str | None:
    key = headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.decode("ascii").isprintable():
        raise Refusal(400, f"an Idempotency-Key has 1 to {LONGEST_KEY} plain characters.")
    return key.decode("ascii")


def _file(name: str) -> bytes:
    return resources.files(__package__).joinpath(name).read_bytes()
