"""A clean environment, the data folder if there is one, and a local server that can misbehave."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pater.data.embedded import tic_tac_toe

Answer = Callable[[BaseHTTPRequestHandler], None]

_FOLDER_BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[3] / "shared" / "data"
_DATA_FOLDER = Path(os.environ.get("PATER_DATA") or _FOLDER_BESIDE_THE_REPOSITORY)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the 31 data sets; tests that need it are skipped without it."""
    if not (_DATA_FOLDER / "MANIFEST.tsv").is_file():
        pytest.skip("needs the data sets: set PATER_DATA to a folder with them and MANIFEST.tsv")
    return _DATA_FOLDER


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data folder, an empty cache of its own, and no proxy before the local server."""
    monkeypatch.delenv("PATER_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "user-cache")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Server:
    """Gives the answers that a test has set, on the loopback interface, and counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append(self.path)
                server.answers.get(self.path, lambda handler: handler.send_error(404))(self)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        # With the default interval, every test would take half a second longer to end.
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def serve(self, path: str, content: bytes, *, claimed_length: int | None = None) -> None:
        """Serve content at a path, perhaps announcing more than will come."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(claimed_length or len(content)))
            handler.end_headers()
            handler.wfile.write(content)

        self.answers[path] = answer

    def hang(self, path: str, *, until: threading.Event) -> None:
        """Accept the request for a path and then say nothing."""

        def answer(_: BaseHTTPRequestHandler) -> None:
            until.wait(10)

        self.answers[path] = answer

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="session")
def boards() -> bytes:
    """The UCI file of Tic-tac-toe, written from the rules of the game."""
    X, y, _ = tic_tac_toe()
    label = {1: "negative", -1: "positive"}
    rows = (
        ",".join(["xob"[int(mark)] for mark in board] + [label[int(side)]]) for board, side in zip(X, y, strict=True)
    )
    return "".join(row + "\n" for row in rows).encode()
