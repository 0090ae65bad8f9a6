"""The application over a fake engine, through a real server: what is accepted, what is refused, and the messages."""

from __future__ import annotations

import io
import json
import socket
import time
from contextlib import suppress
from importlib import resources

import pytest
from patience import WAIT
from served import ARROW, JSON, FakeEngine, served

from pater.formats.errors import InputError
from pater.serve.errors import Refusal
from pater.serve.web.app import App
from pater.serve.web.journal import Journal
from pater.serve.web.limits import Limits
from pater.serve.web.tokens import Access, Token, digest_of, open_to_others, read_tokens

SECRETS = {"predict": "p" * 16, "learn": "l" * 16, "admin": "a" * 16}
TOKENS = [Token(role, digest_of(secret.encode())) for role, secret in SECRETS.items()]
ROWS = {"rows": [{"features": {"a": 1}, "label": 1}]}


@pytest.fixture(scope="module")
def server():
    with served() as it:
        yield it


@pytest.fixture(scope="module")
def guarded():
    with served(tokens=TOKENS) as it:
        yield it


def test_rows_go_to_the_engine_and_its_answer_comes_back(server):
    status, headers, body = server.send("POST", "/v1/predict", **ROWS)
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]
    answer = json.loads(body)
    assert answer["predictions"][0]["label"] == "<b>\x1b\x9b"
    assert answer["model"] == {"version": 1, "rows": 0}
    assert server.engine.asked[-1] == ("predict", ROWS["rows"], False)


def test_nothing_in_an_answer_can_move_a_cursor_or_open_a_tag(server):
    body = server.send("POST", "/v1/predict", **ROWS)[2]
    assert b"<" not in body
    assert body.decode().isprintable()


def test_one_row_by_itself_with_an_explanation(server):
    assert server.send("POST", "/v1/predict", features={"a": 1}, explain=True)[0] == 200
    assert server.engine.asked[-1] == ("predict", [{"features": {"a": 1}}], True)
    assert server.send("POST", "/v1/predict", features={"a": 1}, explain="yes")[0] == 400
    for size in (1_001, 10_000):
        status, _, body = server.send("POST", "/v1/predict", rows=[{"features": {}}] * size, explain=True)
        assert (status, b"1,000 can be explained at once" in body) == (413, True)


def test_rows_that_come_together_are_predicted_together_and_wrong_ones_alone():
    engine, bodies = FakeEngine(), [b'{"features": {"k": %d}}' % k for k in range(20)]
    bodies[7] = b'{"nothing": 7}'
    head = (
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    with served(engine) as server:
        callers = [socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) for _ in bodies]
        for caller, body in zip(callers, bodies, strict=True):
            caller.sendall(head % len(body) + body)
        answers = [caller.recv(10_000) for caller in callers]
        for caller in callers:
            caller.close()
    assert [answer.split(b" ")[1] for answer in answers] == [b"200"] * 7 + [b"422"] + [b"200"] * 12
    asked = [row["features"]["k"] for _, rows, _ in engine.asked for row in rows]
    assert sorted(asked) == [k for k in range(20) if k != 7]


def test_learning_with_a_key(server):
    assert server.send("POST", "/v1/learn", **ROWS)[0] == 200
    assert server.engine.asked[-1] == ("learn", ROWS["rows"], None, b"")
    answers = [server.send("POST", "/v1/learn", headers={"Idempotency-Key": "k1"}, **ROWS) for _ in range(2)]
    assert [answer[0] for answer in answers] == [200, 200]
    assert server.engine.asked[-1] == server.engine.asked[-2]
    assert server.engine.asked[-1][2] == "k1"
    assert len(server.engine.asked[-1][3]) == 32
    for key in ("", "x" * 256, "caf\xe9"):
        assert server.send("POST", "/v1/learn", headers={"Idempotency-Key": key}, **ROWS)[0] == 400


def test_every_other_route(server):
    labels = [{"id": "t1", "label": 1}, {"id": "t2", "label": "a", "weight": 0.5}]
    assert json.loads(server.send("POST", "/v1/labels", labels=labels)[2]) == {"joined": 0, "unknown": []}
    assert server.engine.asked[-1] == ("labels", [("t1", 1, None), ("t2", "a", 0.5)])
    assert server.send("POST", "/v1/labels", id="t1", label=1)[0] == 200
    assert server.send("POST", "/v1/operating-point", max_fpr=0.1)[0] == 200
    assert server.send("GET", "/v1/model")[2] == b"a model"
    sent = server.send("POST", "/v1/model", b"another", {"Content-Type": "application/octet-stream"})
    assert (sent[0], server.engine.asked[-1]) == (200, ("swap", b"another"))
    assert server.send("GET", "/metrics")[2] == b"up 1\n"
    assert server.send("GET", "/v1/status")[2] == b'{"rows":0}'
    assert server.send("GET", "/healthz")[0] == 200
    status, headers, body = server.send("GET", "/")
    assert (status, body[:15]) == (200, b"<!doctype html>")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert server.send("HEAD", "/v1/model")[::2] == (200, b"")


def test_a_large_answer_comes_whole():
    engine = FakeEngine()
    for size in (0, 1, 262143, 262144, 262145, 524288, 1_000_001):
        engine.model = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        with served(engine) as server:
            assert server.send("GET", "/v1/model")[2] == engine.model


def test_arrow_in_and_out(server):
    pa = pytest.importorskip("pyarrow")
    status, headers, body = server.send("POST", "/v1/predict", b"bytes", {"Content-Type": ARROW, "Accept": ARROW})
    assert (status, headers["content-type"]) == (200, ARROW)
    assert server.engine.asked[-1] == ("predict", [b"bytes"], False)
    table = pa.ipc.open_stream(body).read_all()
    assert table.column("probability").to_pylist() == [0.5]
    assert json.loads(table.schema.metadata[b"model"]) == {"version": 1, "rows": 0}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "said"),
    [
        ("GET", "/v1/predct", None, {}, 404, "/openapi.json"),
        ("GET", "/v1/predict", None, {}, 405, "POST"),
        ("POST", "/v1/status", b"", {}, 405, "GET and HEAD"),
        ("OPTIONS", "/v1/learn", None, {}, 405, "POST"),
        ("POST", "/v1/learn", b"{}", {}, 415, "application/json or application/vnd.apache.arrow.stream"),
        ("POST", "/v1/learn", b"{}", {"Content-Type": "text/plain"}, 415, "application/json"),
        ("POST", "/v1/learn", b"{}", {"Content-Type": "application/json; charset=latin-1"}, 415, "UTF-8"),
        ("POST", "/v1/learn", b"{}", {**JSON, "Content-Encoding": "gzip"}, 415, "compressed"),
        ("POST", "/v1/learn", b"", JSON, 400, "it is empty"),
        ("POST", "/v1/learn", b'{"rows": [}', JSON, 400, "line 1, column 11"),
        ("POST", "/v1/learn", b'{"rows": "\xff"}', JSON, 400, "not JSON"),
        ("POST", "/v1/learn", b"[" * 100_000, JSON, 400, "not JSON"),
        ("POST", "/v1/learn", b'{"rows": [NaN]}', JSON, 400, "not JSON"),
        ("POST", "/v1/learn", b"[]", JSON, 422, "rows must be a list"),
        ("POST", "/v1/learn", b"{}", {**JSON, "Host": "evil.example"}, 421, "127.0.0.1"),
        ("GET", "/healthz", None, {"Host": "evil.example:80"}, 421, "127.0.0.1"),
        ("POST", "/v1/learn", b"{}", {**JSON, "Origin": "http://evil.example"}, 403, "another site"),
        ("POST", "/v1/learn", b"{}", {**JSON, "Origin": "null"}, 403, "another site"),
    ],
)
def test_what_is_refused(server, method, path, body, headers, status, said):
    asked = len(server.engine.asked)
    got, _, answer = server.send(method, path, body, headers)
    assert (got, list(json.loads(answer))) == (status, ["error"])
    assert said in json.loads(answer)["error"]
    assert len(server.engine.asked) == asked


def test_own_names_pass(server):
    for host in ("localhost", f"localhost:{server.port}", "127.0.0.1", "[::1]:80", "LOCALHOST"):
        assert server.send("GET", "/healthz", headers={"Host": host})[0] == 200
    own = {"Host": f"localhost:{server.port}", "Origin": f"http://localhost:{server.port}"}
    assert server.send("POST", "/v1/learn", headers=own, **ROWS)[0] == 200
    assert server.raw(b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421")


def test_wrong_rows_are_named(server):
    status, _, body = server.send("POST", "/v1/learn", rows=[{"features": {}}, {}])
    assert status == 422
    assert json.loads(body)["rows"] == [{"index": 1, "reason": "no features"}]


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        ("t1", None),
        ({"id": "t1", "label": 1}, None),
        ([{"id": "t1", "label": 1}, {"id": "t1"}], 1),
        ([{"id": "", "label": 1}], 0),
        ([{"id": "x" * 257, "label": 1}], 0),
        ([{"id": 7, "label": 1}], 0),
        ([{"id": "t1", "label": None}], 0),
        ([{"id": "t1", "label": [1]}], 0),
        ([{"id": "t1", "label": 1, "weight": -1}], 0),
        ([{"id": "t1", "label": 1, "weight": True}], 0),
        ([{"id": "t1", "label": 1, "wieght": 1}], 0),
        ([["t1", 1]], 0),
    ],
)
def test_wrong_labels_are_named(server, labels, index):
    status, _, body = server.send("POST", "/v1/labels", labels=labels)
    assert status == 422
    assert [each["index"] for each in json.loads(body).get("rows", [])] == ([] if index is None else [index])


def test_methods_are_listed(server):
    assert server.send("DELETE", "/v1/model")[1]["allow"] == "GET, POST, HEAD"


@pytest.mark.parametrize(
    ("refusal", "status", "wait"),
    [(Refusal(429, "too much", retry_after=2), 429, "2"), (Refusal(507, "the disk is full"), 507, None)],
)
def test_an_engine_that_cannot(refusal, status, wait):
    engine = FakeEngine()
    engine.error = refusal
    with served(engine) as server:
        got, headers, body = server.send("POST", "/v1/learn", **ROWS)
        assert (got, headers.get("retry-after")) == (status, wait)
        assert json.loads(body) == {"error": refusal.reason}


def test_an_unforeseen_error_is_told_by_a_number_and_logged():
    engine = FakeEngine()
    engine.error = RuntimeError("a secret place")
    with served(engine) as server:
        status, _, body = server.send("POST", "/v1/learn", **ROWS)
        assert status == 500
        assert b"secret" not in body
        assert b"Traceback" not in body
        (event, fields) = server.journal.told[-1]
        assert event == "failed"
        assert fields["id"] in body.decode()
        assert "RuntimeError: a secret place" in fields["traceback"]
        assert server.send("GET", "/healthz")[0] == 200


def test_readiness_follows_the_engine():
    engine = FakeEngine()
    with served(engine) as server:
        assert server.send("GET", "/readyz")[0] == 200
        engine.why = "the server is stopping."
        status, headers, body = server.send("GET", "/readyz")
        assert (status, headers["retry-after"], json.loads(body)["error"]) == (503, "1", engine.why)


def test_requests_are_counted_by_route(server):
    server.send("GET", "/nothing/<b>")
    server.send("GET", "/healthz")
    time.sleep(0.05)
    assert ("other", 404) in server.engine.observed
    assert ("/healthz", 200) in server.engine.observed


ALLOWED = {
    ("POST", "/v1/predict"): {"predict", "admin"},
    ("POST", "/v1/learn"): {"learn", "admin"},
    ("POST", "/v1/labels"): {"learn", "admin"},
    ("GET", "/v1/model"): {"admin"},
    ("POST", "/v1/model"): {"admin"},
    ("POST", "/v1/operating-point"): {"admin"},
    ("GET", "/v1/status"): {"predict", "learn", "admin"},
    ("GET", "/metrics"): {"predict", "learn", "admin"},
    ("GET", "/openapi.json"): {"predict", "learn", "admin"},
}
OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/")}


@pytest.mark.parametrize(("method", "path"), [*ALLOWED, *sorted(OPEN)])
def test_who_may_do_what(guarded, method, path):
    type_ = "application/octet-stream" if path == "/v1/model" else "application/json"
    sent = b'{"labels": []}' if path == "/v1/labels" else b'{"features": {}}'
    body = sent if method == "POST" else None

    def status(authorization):
        headers = {"Content-Type": type_, **({"Authorization": authorization} if authorization else {})}
        return guarded.send(method, path, body, headers)[0]

    for role, secret in SECRETS.items():
        allowed = (method, path) in OPEN or role in ALLOWED[method, path]
        assert status(f"Bearer {secret}") == (200 if allowed else 403), role
        assert status(f"bearer  {secret}") == (200 if allowed else 403), role
    wrong = 200 if (method, path) in OPEN else 401
    for authorization in ("", "Bearer", "Bearer ", f"Bearer {'x' * 16}", "Basic !", f"Digest {SECRETS['admin']}"):
        assert status(authorization) == wrong
    assert status(f"Bearer {SECRETS['admin']}x") == wrong
    assert status(f"Bearer {SECRETS['admin'][:-1]}") == wrong


def test_a_caller_without_a_token_is_told_how_to_give_one(guarded):
    status, headers, body = guarded.send("GET", "/v1/status")
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert b"Authorization: Bearer" in body


def test_every_token_is_compared(monkeypatch):
    compared = []
    monkeypatch.setattr("pater.serve.web.tokens.hmac.compare_digest", lambda a, b: compared.append(len(a)) or a == b)
    access = Access(TOKENS)
    for secret in (*SECRETS.values(), "x", "x" * 1000):
        compared.clear()
        headers = {b"authorization": f"Bearer {secret}".encode()}
        with suppress(Refusal):
            access.check(headers, frozenset({"admin", "predict", "learn"}), changes=True)
        assert compared == [32, 32, 32]


def test_bodies_are_limited_while_they_stream():
    with served(limits=Limits(body=1000, held=3000)) as server:
        assert server.send("POST", "/v1/learn", b"x" * 1001, JSON)[0] == 413
        assert server.send("POST", "/v1/learn", b"x" * 1000, JSON)[0] == 400
        chunked = b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        chunked += b"Transfer-Encoding: chunked\r\n\r\n" + b"258\r\n" + b"x" * 600 + b"\r\n"
        assert b" 413 " in server.raw(chunked + b"258\r\n" + b"x" * 600 + b"\r\n0\r\n\r\n").split(b"\r\n")[0]
        # An announced body that does not come no longer counts against others once its connection is gone.
        for _ in range(10):
            server.raw(b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n" + chunked[60:] + b"x")
        assert server.send("POST", "/v1/learn", **ROWS)[0] == 200


def test_all_bodies_together_are_limited():
    head = (
        b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
    )
    with served(limits=Limits(body=1000, held=2000)) as server:
        others = [socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) for _ in range(2)]
        try:
            for other in others:
                other.sendall(head + b" " * 899)
            until = time.monotonic() + WAIT
            while server.send("POST", "/v1/learn", b" " * 900, JSON)[0] != 429:
                assert time.monotonic() < until
            status, headers, _ = server.send("POST", "/v1/learn", b" " * 900, JSON)
            assert (status, headers["retry-after"]) == (429, "1")
        finally:
            for other in others:
                other.close()
        while server.send("POST", "/v1/learn", **ROWS)[0] != 200:
            assert time.monotonic() < until


def test_heads_are_limited():
    with served(limits=Limits(head=4096)) as server:
        assert b" 431 " in server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 5000)
        endless = b"".join(b"X%d: y\r\n" % number for number in range(1000))
        assert b" 431 " in server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + endless)
        chunked = b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert not server.raw(chunked + b"1\r\nx\r\n0\r\n" + b"T: " + b"x" * 9000)  # in a trailer: no answer is begun
        assert server.send("GET", "/healthz")[0] == 200


def test_slow_callers_are_let_go():
    head = (
        b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
    )
    with served(limits=Limits(arrival=0.3, idle=1)) as server:
        for begun in (b"", b"\r\n", b"GET / HT", head, head + b" "):
            with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) as slow:
                slow.sendall(begun)
                since = time.monotonic()
                try:
                    answer = slow.recv(1000)
                except ConnectionError:
                    answer = b""
                assert 0.2 < time.monotonic() - since < Limits().arrival
                assert answer.startswith(b"HTTP/1.1 408") or begun.startswith(b"POST")


def test_nobody_reads_the_answer():
    engine = FakeEngine()
    engine.model = bytes(50_000_000)
    with (
        served(engine, limits=Limits(arrival=0.3)) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) as deaf,
    ):
        deaf.sendall(b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(1)
        received = 0
        try:
            while piece := deaf.recv(1 << 20):
                received += len(piece)
        except ConnectionError:
            pass
        assert received < 50_000_000


def test_connections_are_limited():
    with served(limits=Limits(connections=2)) as server:
        others = [socket.create_connection(("127.0.0.1", server.port), timeout=WAIT) for _ in range(2)]
        status, headers, body = server.send("GET", "/healthz")
        assert (status, headers["retry-after"]) == (503, "1")
        assert b"too many connections" in body
        for other in others:
            other.close()
        until = time.monotonic() + WAIT
        while server.send("GET", "/healthz")[0] != 200:
            assert time.monotonic() < until


def test_bad_http_is_refused_and_the_next_caller_served(server):
    for content in (
        b"\x16\x03\x01\x00\xa5",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"* * *\r\n\r\n",
    ):
        answer = server.raw(content)
        assert answer.startswith(b"HTTP/1.1 400")
        assert "error" in json.loads(answer.partition(b"\r\n\r\n")[2])
    upgrade = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    assert server.raw(upgrade).startswith(b"HTTP/1.1 200")
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
    assert server.raw(two).count(b"HTTP/1.1 200") == 2
    assert server.send("GET", "/healthz")[0] == 200


def test_the_document_describes_the_routes():
    document = json.loads(resources.files("pater.serve.web").joinpath("openapi.json").read_bytes())
    app = App(FakeEngine(), FakeEngine(), access=Access(), limits=Limits(), journal=Journal())
    there = {(path, method.lower()) for path, methods in app.routes.items() for method in methods}
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert described == there
    for path, methods in app.routes.items():
        for method, route in methods.items():
            operation = document["paths"][path][method.lower()]
            types = {type_.encode() for type_ in operation.get("requestBody", {}).get("content", {})}
            assert types == set(route.types)
            assert (operation.get("security") == []) == (not route.roles)
            if route.roles:
                named = operation["summary"].rpartition("(")[2]
                assert len(route.roles) == 3 or all(role in named for role in route.roles)


def test_references_in_the_document_lead_somewhere(server):
    text = server.send("GET", "/openapi.json")[2]
    document = json.loads(text)

    def references(value):
        if isinstance(value, dict):
            yield from [value["$ref"]] if "$ref" in value else []
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                yield from references(each)

    for reference in references(document):
        place = document
        for name in reference.removeprefix("#/").split("/"):
            place = place[name]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no token"),
        ("# nothing\n\n", "has no token"),
        ("predict\n", "line 1: a line is a role"),
        ("# a comment\nguest aaaaaaaaaaaaaaaa\n", "line 2: a line is a role"),
        ("admin short\n", "line 1: a token needs 16 characters"),
        ("admin aaaaaaaa aaaaaaaa\n", "line 1: a token must be plain ASCII characters"),
        ("admin aaaaaaaaaaaaaaa\xe9\n", "line 1: a token must be plain ASCII characters"),
        ("admin aaaaaaaaaaaaaaaa\nlearn aaaaaaaaaaaaaaaa\n", "line 2: the same token"),
    ],
)
def test_a_file_of_tokens_that_is_wrong_is_told_by_line_and_never_shown(tmp_path, text, said):
    path = tmp_path / "tokens.txt"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=said) as error:
        read_tokens(path)
    assert "aaaa" not in str(error.value)


def test_a_file_of_tokens(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_bytes(b"\r\n# who may do what\r\nadmin   " + b"a" * 16 + b"\r\n  learn " + b"l" * 16)
    assert read_tokens(path) == [Token("admin", digest_of(b"a" * 16)), Token("learn", digest_of(b"l" * 16))]
    path.chmod(0o640)
    assert open_to_others(path)
    path.chmod(0o600)
    assert not open_to_others(path)
    with pytest.raises(InputError, match=r"no\.txt"):
        read_tokens(tmp_path / "no.txt")


def test_lines_of_the_journal_stay_lines():
    for as_json in (False, True):
        stream = io.StringIO()
        Journal(as_json=as_json, stream=stream).say("an\nevent", path="\x1b[2J\u202e\n", label="<b>", n=1)
        (line,) = stream.getvalue().splitlines()
        assert line.isprintable()
        if as_json:
            told = json.loads(line)
            assert told["event"] == "an\nevent"
            assert (told["level"], told["path"], told["n"]) == ("info", "\x1b[2J\u202e\n", 1)
    closed = io.StringIO()
    closed.close()
    Journal(stream=closed).say("nobody hears it")
