"""The client against a small scripted server, step by step."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import gc
import http.server
import io
import json
import math
import socket
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from patience import WAIT

from pater.client import ARROW, Client, ServiceError


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    content: bytes
    connection: tuple[str, int]

    def json(self):
        return json.loads(self.content)


class Fake(http.server.ThreadingHTTPServer):
    """A server with a list of answers: (status, object or bytes, headers), or "drop" to do the work and say nothing."""

    daemon_threads = True

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked = list(answers), []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        asked = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length), self.client_address)
        self.server.asked.append(asked)
        answer = self.server.answers.pop(0) if self.server.answers else (200, {}, {})
        if answer == "drop":
            self.close_connection = True
            return
        status, told, headers = answer
        content = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = headers.get("then") == "hang up"

    do_POST = do_GET  # noqa: N815


@contextlib.contextmanager
def serving(*answers, **settings):
    with Fake(*answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with Client(server.url, **{"timeout": WAIT, **settings}) as client:
                yield server, client
        finally:
            server.shutdown()
            thread.join()


SAID = (200, {"predictions": [{"label": 1, "margin": 0.5}], "model": {"version": 2, "rows": 7}}, {})


def test_rows_are_dicts_or_dicts_with_an_id():
    with serving(SAID, token="secret") as (server, client):
        said = client.predict([{"amount": 12.5}, ("t1", {"amount": 1}), {"id": "t2", "features": {"amount": 2}}])
    assert said == [{"label": 1, "margin": 0.5}]
    assert said.model == {"version": 2, "rows": 7}
    asked = server.asked[0]
    assert (asked.method, asked.path, asked.headers["Authorization"]) == ("POST", "/v1/predict", "Bearer secret")
    assert asked.headers["Content-Type"] == "application/json"
    rows = [{"features": {"amount": 12.5}}, {"id": "t1", "features": {"amount": 1}}]
    assert asked.json() == {"rows": [*rows, {"id": "t2", "features": {"amount": 2}}]}


def test_one_row_sparse_rows_and_the_wish_for_reasons():
    with serving(SAID, SAID, SAID) as (server, client):
        client.predict({"amount": 1}, explain=True)
        client.predict([[[3, 1.5], [7, 2.0]], ("t1", [[1, 1.0]]), {"features": {"indices": [1], "values": [2.0]}}])
        client.predict([{"features": 3, "id": 4}])  # columns that happen to have these names
    assert server.asked[0].json() == {"rows": [{"features": {"amount": 1}}], "explain": True}
    first, second, third = server.asked[1].json()["rows"]
    assert first == {"features": [[3, 1.5], [7, 2.0]]}
    assert second == {"id": "t1", "features": [[1, 1.0]]}
    assert third == {"features": {"indices": [1], "values": [2.0]}}
    assert server.asked[2].json()["rows"] == [{"features": {"features": 3, "id": 4}}]


def test_values_that_json_has_no_word_for():
    row = {
        "number": np.float32(0.5),
        "count": np.int64(3),
        "truth": np.bool_(True),
        "nan": math.nan,
        "nan of NumPy": np.float32("nan"),
        "NA": pd.NA,
        "NaT": pd.NaT,
        "day": datetime.date(2024, 3, 1),
        "when": pd.Timestamp("2024-03-01 12:30"),
        "when of NumPy": np.datetime64("2024-03-01T12:30"),
        "price": decimal.Decimal("1.25"),
        "name": "Größe",
    }
    with serving(SAID) as (server, client):
        client.predict([row])
    assert server.asked[0].json()["rows"][0]["features"] == {
        "number": 0.5,
        "count": 3,
        "truth": True,
        "nan": None,
        "nan of NumPy": None,
        "NA": None,
        "NaT": None,
        "day": "2024-03-01",
        "when": "2024-03-01T12:30:00",
        "when of NumPy": "2024-03-01T12:30",
        "price": 1.25,
        "name": "Größe",
    }


@pytest.mark.parametrize("rows", [[3], ["amount"], "amount", [(1, 2, 3)], [None]])
def test_what_is_no_row_is_said_before_anything_is_sent(rows):
    with serving() as (server, client), pytest.raises(TypeError, match="a row is a dict of features"):
        client.predict(rows)
    assert server.asked == []


def test_infinity_is_not_sent():
    with serving() as (server, client), pytest.raises(ValueError, match="not JSON compliant"):
        client.predict([{"amount": math.inf}])
    assert server.asked == []


FRAME = pd.DataFrame({"amount": [1.0, 2.0, 3.0], "country": ["DE", None, "FR"]})


@pytest.mark.parametrize(
    "table",
    [FRAME, FRAME[FRAME["amount"] > 1], pa.table({"amount": [1.0]}), pl.DataFrame({"amount": [1.0]})],
    ids=["pandas", "pandas with an index", "arrow", "polars"],
)
def test_a_table_is_sent_as_arrow_without_its_index(table):
    with serving(SAID) as (server, client):
        client.predict(table)
    asked = server.asked[0]
    assert asked.path == "/v1/predict"
    assert asked.headers["Content-Type"] == ARROW
    sent = pa.ipc.open_stream(asked.content).read_all()
    assert sent.column_names == list(table.columns if hasattr(table, "iloc") else sent.column_names)
    assert sent.num_rows == len(table)
    assert sent.schema.metadata is None


LEARNED = (200, {"learned": 3, "position": 3}, {})


def test_labels_and_weights_go_beside_the_rows():
    with serving(LEARNED, LEARNED, LEARNED) as (server, client):
        rows = FRAME.to_dict("records")
        assert client.learn(rows, labels=np.array([0, 1, 0]), weights=[1, 2, 3.5]) == {"learned": 3, "position": 3}
        client.learn(FRAME, labels=pd.Series(["no", "yes", "no"], index=[5, 6, 7]), weights=[1.0, 2.0, 3.5])
        client.learn([{"features": {"amount": 1}, "label": "no", "weight": 2}])
    assert server.asked[0].json()["rows"][1] == {"features": {"amount": 2.0, "country": None}, "label": 1, "weight": 2}
    sent = pa.ipc.open_stream(server.asked[1].content).read_all().to_pydict()
    assert (sent["label"], sent["weight"]) == (["no", "yes", "no"], [1.0, 2.0, 3.5])
    assert server.asked[2].json() == {"rows": [{"features": {"amount": 1}, "label": "no", "weight": 2}]}


@pytest.mark.parametrize("rows", [FRAME, FRAME.to_dict("records")], ids=["table", "dicts"])
def test_as_many_labels_as_rows(rows):
    with serving() as (server, client), pytest.raises(ValueError, match="there are 3 rows, and 2 labels"):
        client.learn(rows, labels=[0, 1])
    assert server.asked == []


def test_a_key_of_its_own_for_each_call_or_the_one_that_is_given():
    with serving() as (server, client):
        for key in (None, None, "2024-03-01"):
            client.learn([{"amount": 1}], [0], key=key)
        with pytest.raises(ValueError, match="printable ASCII"):
            client.learn([{"amount": 1}], [0], key="é")
        with pytest.raises(ValueError, match="printable ASCII"):
            client.learn([{"amount": 1}], [0], key="")
    first, second, third = (asked.headers["Idempotency-Key"] for asked in server.asked)
    assert first != second
    assert third == "2024-03-01"


@pytest.mark.parametrize(
    "labels",
    [
        {"t1": 1, "t2": 0},
        [("t1", 1), ("t2", 0)],
        [{"id": "t1", "label": 1}, {"id": "t2", "label": 0}],
        pd.Series([1, 0], index=["t1", "t2"]),
    ],
    ids=["dict", "pairs", "objects", "series"],
)
def test_labels_that_come_late(labels):
    with serving((200, {"joined": 2, "unknown": []}, {})) as (server, client):
        assert client.labels(labels) == {"joined": 2, "unknown": []}
    assert server.asked[0].path == "/v1/labels"
    assert server.asked[0].json() == {"labels": [{"id": "t1", "label": 1}, {"id": "t2", "label": 0}]}


def test_the_model_the_operating_point_and_the_status():
    with serving(
        (200, b"\x00model", {}), (200, {"version": 2}, {}), (200, {}, {}), (200, {}, {}), (200, {"a": 1}, {})
    ) as (
        server,
        client,
    ):
        assert client.model() == b"\x00model"
        assert client.swap(b"\x01") == {"version": 2}
        client.operating_point(max_fpr=0.01)
        client.operating_point()
        assert client.status() == {"a": 1}
    assert [(asked.method, asked.path, asked.content) for asked in server.asked] == [
        ("GET", "/v1/model", b""),
        ("POST", "/v1/model", b"\x01"),
        ("POST", "/v1/operating-point", b'{"max_fpr":0.01}'),
        ("POST", "/v1/operating-point", b"{}"),
        ("GET", "/v1/status", b""),
    ]


def test_the_connection_is_kept():
    with serving() as (server, client):
        for _ in range(3):
            client.status()
    assert len({asked.connection for asked in server.asked}) == 1


def test_many_threads_share_a_client():
    with serving() as (server, client):
        threads = [threading.Thread(target=lambda: [client.status() for _ in range(10)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.asked) == 40
    assert len({asked.connection for asked in server.asked}) <= 4


def test_a_refusal_has_the_words_of_the_service():
    rows = [{"index": place, "reason": "no column 'amuont'"} for place in (1, 2)]
    told = {"error": "row 1: no column 'amuont', and 1 more is wrong", "rows": rows}
    with serving((422, told, {})) as (server, client), pytest.raises(ServiceError) as caught:
        client.learn([{"amount": 1}, {"amuont": 1}, {"amuont": 2}], [0, 1, 1])
    assert (caught.value.status, caught.value.rows, len(server.asked)) == (422, rows, 1)
    words = "row 1: no column 'amuont', and 1 more is wrong (HTTP 422)\n  row 2: no column 'amuont'"
    assert str(caught.value) == words


def test_a_refusal_of_something_before_the_service_is_told_too():
    page = b"<h1>Not here</h1>"
    with serving((404, page, {}), (404, b"", {}), (404, [1], {})) as (_, client):
        for words in ("<h1>Not here</h1>", "Not Found", "[1]"):
            with pytest.raises(ServiceError) as caught:
                client.status()
            assert caught.value.reason == words


def test_a_busy_service_is_asked_again_when_it_says():
    with serving((429, {"error": "busy"}, {"Retry-After": "1"}), (503, {"error": "starting"}, {}), LEARNED) as (
        server,
        client,
    ):
        began = time.monotonic()
        client.learn([{"amount": 1}], [0])
    assert time.monotonic() - began >= 1
    assert len({asked.headers["Idempotency-Key"] for asked in server.asked}) == 1
    assert len(server.asked) == 3


def test_a_busy_service_is_not_waited_for_longer_than_the_call_may_take():
    with (
        serving((429, {"error": "busy"}, {"Retry-After": str(2 * int(WAIT))})) as (_, client),
        pytest.raises(ServiceError, match="busy"),
    ):
        client.status()


def test_a_full_disk_is_told_at_once():
    with serving((507, {"error": "the disk is full"}, {})) as (server, client):
        with pytest.raises(ServiceError, match="the disk is full"):
            client.learn([{"amount": 1}], [0])
        assert len(server.asked) == 1


def test_a_lost_answer_is_asked_for_again_with_the_same_key():
    with serving("drop", "drop", LEARNED) as (server, client):
        assert client.learn([{"amount": 1}], [0]) == {"learned": 3, "position": 3}
    assert len(server.asked) == 3
    assert len({(asked.headers["Idempotency-Key"], asked.content) for asked in server.asked}) == 1


def test_a_swap_whose_answer_is_lost_is_not_repeated():
    with serving("drop") as (server, client):
        with pytest.raises(ConnectionError, match="does not answer"):
            client.swap(b"model")
        assert len(server.asked) == 1


def test_connections_that_the_service_has_closed_meanwhile_are_replaced():
    with serving((200, {}, {"then": "hang up"}), (200, {}, {"then": "hang up"}), (200, {}, {})) as (server, client):
        client.status()
        time.sleep(0.05)
        client.swap(b"model")  # on its own connection
        time.sleep(0.05)
        client.status()
    assert [asked.path for asked in server.asked] == ["/v1/status", "/v1/model", "/v1/status"]


def test_an_answer_given_before_the_body_was_read_is_heard():
    refusal = b'{"error": "larger than 64 MB"}'
    answer = b"HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(refusal), refusal)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse():
            accepted, _ = listening.accept()
            with accepted:
                accepted.recv(1000)
                accepted.sendall(answer)
                accepted.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    while accepted.recv(1 << 16):
                        pass

        thread = threading.Thread(target=refuse)
        thread.start()
        client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=WAIT)
        with client, pytest.raises(ServiceError, match="larger than 64 MB"):
            client.swap(bytes(10_000_000))
        thread.join()


def test_a_service_that_starts_late_is_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}", timeout=WAIT)
    script = (
        "import http.server, time; time.sleep(0.3);"
        f"http.server.HTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler).handle_request()"
    )
    server = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    try:
        with pytest.raises(ServiceError, match="404"):
            client.status()
    finally:
        client.close()
        server.kill()
        server.wait()


def test_no_service_at_all():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(ConnectionError, match=f"http://127.0.0.1:{port} does not answer: .*refused"):
        Client(f"http://127.0.0.1:{port}", timeout=0.2).learn([{"amount": 1}], [0])


def test_a_service_that_hangs():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        began = time.monotonic()
        with pytest.raises(ConnectionError, match="timed out"):
            Client(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.3).status()
        assert time.monotonic() - began < WAIT


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://host/?a=1", ""])
def test_what_is_no_address(url):
    with pytest.raises(ValueError, match="is not the address of a service"):
        Client(url)


def test_a_path_before_the_service_is_kept():
    with serving() as (server, _), Client(server.url + "/fraud/") as client:
        client.status()
    assert server.asked[0].path == "/fraud/v1/status"


def test_it_needs_the_standard_library_alone():
    script = "import sys, pater.client; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint({"numpy", "pyarrow", "pandas", "orjson", "httpx", "starlette"})


def test_a_table_without_pyarrow_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with serving() as (_, client), pytest.raises(TypeError, match="needs pyarrow"):
        client.predict(FRAME)


def test_polars_and_arrow_take_labels_too():
    table = pl.DataFrame({"amount": [1.0, 2.0]})
    with serving(LEARNED) as (server, client):
        client.learn(table, labels=pl.Series([0, 1]))
    assert pa.ipc.open_stream(io.BytesIO(server.asked[0].content)).read_all().to_pydict()["label"] == [0, 1]


def test_reasons_are_for_rows_that_are_no_table():
    with serving() as (server, client), pytest.raises(TypeError, match="reasons are given for rows as dicts"):
        client.predict(FRAME, explain=True)
    assert server.asked == []


def test_a_client_that_is_forgotten_closes_its_connections():
    with serving() as (server, _):
        client = Client(server.url)
        client.status()
        kept = client._idle[0]
        del client
        gc.collect()
        assert kept.sock is None
