"""`pater data`: listing, describing, and downloading from a server that may misbehave."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pater.data import DATA_SETS
from pater.data.embedded import tic_tac_toe

Run = Callable[..., Any]
ENTRY = DATA_SETS["tic-tac-toe"]


def _boards() -> bytes:
    X, y, _ = tic_tac_toe()
    label = {1: "negative", -1: "positive"}
    rows = (",".join(["xob"[int(m)] for m in board] + [label[int(side)]]) for board, side in zip(X, y, strict=True))
    return "".join(row + "\n" for row in rows).encode()


@pytest.fixture
def serve() -> Iterator[Callable[[bytes], str]]:
    """`serve(content)`: the address of a host that serves this as the file of Tic-tac-toe."""
    servers = []

    def serve(content: bytes) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path != urlsplit(ENTRY.files[0].addresses[0]).path:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_list_shows_all_and_what_is_at_hand(run: Run) -> None:
    done = run("data", "list")
    lines = [line.split() for line in done.out.splitlines()[1:]]
    assert done.code == 0
    assert [line[1] for line in lines] == list(DATA_SETS)
    assert [line[1] for line in lines if line[-1] == "yes"] == ["wdbc", "tic-tac-toe"]


def test_info_says_where_from_how_coded_and_why(run: Run) -> None:
    done = run("data", "info", "Tic-Tac-Toe")
    assert done.code == 0
    assert ENTRY.description in done.out
    assert ENTRY.files[0].sha256 in done.out
    assert ENTRY.files[0].addresses[0] in done.out


def test_info_names_the_archive_of_a_set_that_is_made_from_one(run: Run) -> None:
    assert "20news-bydate-matlab.tgz" in run("data", "info", "20news-sci").out


def test_fetch_downloads_verifies_and_prints_the_folder(run: Run, serve: Callable[[bytes], str]) -> None:
    done = run("data", "fetch", "tic-tac-toe", "--mirror", serve(_boards()))
    assert done.code == 0
    assert done.err == f"downloading {ENTRY.files[0].name}\n"
    content = (Path(done.out.strip()) / ENTRY.files[0].name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == ENTRY.files[0].sha256


@pytest.mark.parametrize("content", [b"not the boards\n", _boards()[:-100]])
def test_a_wrong_file_is_one_line_and_leaves_nothing(
    run: Run, serve: Callable[[bytes], str], nothing_at_hand: Path, content: bytes
) -> None:
    done = run("data", "fetch", "tic-tac-toe", "--mirror", serve(content))
    assert done.code == 1
    assert done.out == ""
    [_, line] = done.err.splitlines()
    assert line.startswith("pater: tic-tac-toe/tic-tac-toe.data could not be downloaded")
    assert not [path for path in (nothing_at_hand / "user-cache").rglob("*") if path.is_file()]


def test_no_server_is_one_line(run: Run) -> None:
    done = run("data", "fetch", "tic-tac-toe", "--mirror", "http://127.0.0.1:9", "--timeout", "1")
    assert done.code == 1
    assert done.err.count("\n") == 1
