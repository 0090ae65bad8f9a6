"""A server in a thread over a fake engine, and a small client that sends exact bytes."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from contextlib import contextmanager

from patience import WAIT

from pater.serve.errors import Refusal
from pater.serve.web.app import App
from pater.serve.web.journal import Journal
from pater.serve.web.limits import Limits
from pater.serve.web.server import bound, serve
from pater.serve.web.tokens import Access

JSON = {"Content-Type": "application/json"}
ARROW = "application/vnd.apache.arrow.stream"


class FakeEngine:
    """Answers in the shapes of the real one, and records the requests."""

    def __init__(self):
        self.asked, self.observed, self.error, self.why, self.model = [], [], None, None, b"a model"

    is_settled = is_fixed = True

    def rows_of(self, body, *, labelled, arrow=False):
        if arrow:
            return [body]
        if not isinstance(body, dict) or not isinstance(body.get("rows", [body]), list):
            raise Refusal(422, "rows must be a list.")
        rows = body.get("rows", [body])
        wrong = [(index, "no features") for index, row in enumerate(rows) if "features" not in row]
        if wrong:
            raise Refusal(422, "1 row is wrong.", rows=wrong)
        return rows

    async def predict(self, rows, *, explain=False):
        self._note("predict", rows, explain)
        told = {"label": "<b>\x1b\x9b", "decision": "a", "probability": 0.5, "margin": 0.0}
        return {"predictions": [told for _ in rows], "model": {"version": 1, "rows": 0}}

    async def learn(self, rows, key=None, digest=b""):
        self._note("learn", rows, key, digest)
        return {"learned": len(rows), "position": len(rows)}

    async def labels(self, labels):
        self._note("labels", labels)
        return {"joined": 0, "unknown": []}

    async def swap(self, content):
        self._note("swap", content)
        return {"version": 2}

    async def model_file(self):
        return self.model

    async def set_operating_point(self, body):
        self._note("point", body)
        return {}

    def status(self):
        return {"rows": 0}

    def exposition(self, accept):
        return b"up 1\n", "text/plain"

    def observe(self, route, status, seconds):
        self.observed.append((route, status))

    def unready(self):
        return self.why

    def _note(self, *what):
        self.asked.append(what)
        if self.error:
            raise self.error


class Served:
    def __init__(self, engine, port, journal):
        self.engine, self.port, self.journal = engine, port, journal

    def send(self, method, path, body=None, headers=None, **json_body):
        """Status, headers and body of an answer; keywords are a JSON body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        try:
            if json_body:
                body, headers = json.dumps(json_body).encode(), {**JSON, **(headers or {})}
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def raw(self, content, *, seconds=WAIT):
        """Everything received until the server closes, or nothing more comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            received = b""
            while piece := connection.recv(65536):
                received += piece
            return received


@contextmanager
def served(engine=None, *, tokens=None, limits=None, **options):
    engine, limits, journal = engine or FakeEngine(), limits or Limits(), Lines()
    app = App(engine, engine, access=Access(tokens), limits=limits, journal=journal, **options)
    listener = bound("127.0.0.1", 0)
    port, started, stop = listener.getsockname()[1], threading.Event(), []

    async def run():
        task = asyncio.ensure_future(serve(app, listener, limits=limits, journal=journal, started=started.set))
        stop.append((asyncio.get_running_loop(), task))
        with_suppressed = await asyncio.gather(task, return_exceptions=True)
        return with_suppressed

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert started.wait(WAIT)
    try:
        yield Served(engine, port, journal)
    finally:
        loop, task = stop[0]
        loop.call_soon_threadsafe(task.cancel)
        thread.join(10)
        listener.close()


class Lines(Journal):
    """A journal that keeps its lines."""

    def __init__(self):
        super().__init__()
        self.told = []

    def say(self, event, **fields):
        self.told.append((event, fields))
