"""Nonsense for `pater serve`: bodies, headers, ids, Arrow streams, model files and bytes that are no HTTP at all.

    python benchmarks/serve_fuzz.py --requests 10000

Every request must get an answer other than a 500, or a closed connection, within `--patience` seconds. Sound rows are
learned in between, to show if nonsense was learned: at the end the log must hold as many rows as were acknowledged, and
the process must not have grown by more than `--growth` megabytes since the first tenth of the requests.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import json
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

JSON, ARROW, BYTES = "application/json", "application/vnd.apache.arrow.stream", "application/octet-stream"
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, "", " ",
    "0", "1", "nan", "inf", "-1", "\0", "\x1b[2J", "\u202e", "<script>", "é" * 300, "x" * 5_000, "😀", "\ud7ff", "id",
    [], [[]], {}, {"": 1}, [None], [[0, 1]], [[0, "x"]], [[-1, 1]], [[2**40, 1.0]], {"indices": [0], "values": [1, 2]},
    {"indices": [1, 0], "values": [1, 2]}, {"a": {"b": 1}}, [1, 2, 3], "2024-01-01T00:00:00", "1e5", "1,5",
]  # fmt: skip
HEADERS = [
    "Content-Type: text/plain", "Content-Type: application/json; charset=utf-16", "Content-Type:", "Content-Length: 0",
    "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 1e3", "Content-Length: 5, 5",
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x", "Expect: 100-continue",
    "Expect: a miracle", "Accept: " + ARROW, "Accept: \xff", "Content-Encoding: gzip", "Host: evil.example",
    "Host: [::1", "Host:", "Host: 127.0.0.1:99999999", "Origin: http://evil.example", "Origin: null",
    "Authorization: Bearer x", "Authorization: Basic eDp5", "Idempotency-Key: ", "Idempotency-Key: " + "k" * 300,
    "Idempotency-Key: k\xe9y", "Idempotency-Key: same", "Connection: upgrade\r\nUpgrade: websocket",
    "Connection: keep-alive", "X: " + "y" * 40_000, "X-Forwarded-For: ' OR 1=1", "Cookie: a=b", " folded: x", ": x",
    "No colon", "Range: bytes=0-1", "If-None-Match: *", "Trailer: x", "TE: trailers", "Upgrade: h2c",
]  # fmt: skip
PATHS = ["/v1/predict", "/v1/learn", "/v1/labels", "/v1/operating-point", "/v1/model"]
OTHERS = [
    "/",
    "/v1/status",
    "/metrics",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/v1/model",
    "/v1/",
    "//",
    "/%00",
    "/%ff",
]
OTHERS += ["/v1/predict?x=1", "/../../etc/passwd", "*", "http://127.0.0.1/healthz", "/" + "a" * 5_000, "/\x1b[2J", ""]
LEARNED = re.compile(rb'\r\n\r\n\{"(?:learned|joined)":(\d+)')
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW", "get", ""]


class Nonsense:
    """Random requests, from a seed."""

    def __init__(self, seed: int, model: bytes = b"") -> None:
        self.random, self._model = random.Random(seed), model

    def request(self) -> bytes:
        kinds = [self._json] * 10 + [self._arrow] * 4 + [self._headers] * 3 + [self._lines] * 2 + [self._raw]
        kinds += [self._other_model] if self._model and self.random.random() < 0.2 else []
        return self.random.choice(kinds)()

    def features(self) -> dict[str, Any]:
        pick = self.random
        return {"amount": round(pick.lognormvariate(3, 1), 2), "country": pick.choice("ABC"), "n": pick.randrange(9)}

    def sound(self, path: str) -> Any:
        """A body that would be accepted."""
        pick = self.random
        name = f"id {pick.randrange(50)}"
        if path == "/v1/labels":
            return {"labels": [{"id": name, "label": pick.randrange(2)} for _ in range(pick.randrange(1, 4))]}
        if path == "/v1/operating-point":
            return pick.choice([{}, {"max_fpr": 0.1}, {"threshold": 0.5}, {"cost": {"0": 1, "1": 5}}])
        rows: list[dict[str, Any]] = [{"features": self.features()} for _ in range(pick.randrange(1, 4))]
        for row in rows:
            if path == "/v1/learn":
                row |= {"label": pick.randrange(2), "weight": 1.5}
            if pick.random() < 0.3:
                row["id"] = name
        return {"rows": rows, **({"explain": True} if path == "/v1/predict" and pick.random() < 0.2 else {})}

    def _json(self) -> bytes:
        path = self.random.choice(PATHS[:4])
        body = self.sound(path)
        for _ in range(self.random.randrange(1, 3)):
            body = self._changed(body)
        text = json.dumps(body).encode()
        if self.random.random() < 0.2:
            text = self._bitten(text)
        return _packed("POST", path, [f"Content-Type: {JSON}"], text)

    def _changed(self, body: Any) -> Any:
        """The same body with something odd somewhere in it."""
        body = copy.deepcopy(body)
        places: list[tuple[Any, Any]] = []

        def walk(value: Any) -> None:
            for key in value if isinstance(value, dict) else range(len(value)):
                places.append((value, key))
                if isinstance(value[key], dict | list):
                    walk(value[key])

        if isinstance(body, dict | list):
            walk(body)
        if not places or self.random.random() < 0.05:
            return self.random.choice(ODD)
        where, key = self.random.choice(places)
        what = self.random.randrange(4)
        if what == 0:
            del where[key]
        elif what == 1 and isinstance(where, dict):
            where[self.random.choice(["", "label", "weight", "id", "features", "x\0", "n" * 2_000, "é"])] = where.pop(
                key
            )
        else:
            where[key] = self.random.choice(ODD)
        return body

    def _bitten(self, content: bytes) -> bytes:
        bytes_ = bytearray(content)
        for _ in range(self.random.randrange(1, 4)):
            place = self.random.randrange(len(bytes_) + 1)
            what = self.random.randrange(4)
            if what == 0:
                bytes_[place : place + self.random.randrange(9)] = b""
            elif what == 1:
                bytes_[place:place] = self.random.randbytes(self.random.randrange(1, 9))
            elif what == 2 and place < len(bytes_):
                bytes_[place] ^= 1 << self.random.randrange(8)
            else:
                del bytes_[place:]
        return bytes(bytes_)

    def _arrow(self) -> bytes:
        pick = self.random
        n = pick.randrange(4)
        columns: dict[str, Any] = {
            "amount": pa.array([1.5] * n),
            "country": pa.array(["A"] * n).dictionary_encode() if pick.random() < 0.3 else pa.array(["A"] * n),
            "n": pa.array([1] * n, pick.choice([pa.int8(), pa.int64(), pa.uint64(), pa.float32()])),
            "label": pa.array([pick.randrange(2)] * n, pa.int64()),
        }
        odd = [
            pa.nulls(n), pa.array([[1]] * n), pa.array([{"a": 1}] * n), pa.array([b"\xff"] * n), pa.array([True] * n),
            pa.array([float("nan")] * n), pa.array([2**63] * n, pa.uint64()), pa.array([0] * n, pa.timestamp("ns")),
            pa.array([0] * n, pa.timestamp("s", "UTC")), pa.array([0] * n, pa.duration("s")),
            pa.array(["x" * 10_000] * n), pa.array([None] * n, pa.int64()),
            pa.array(["1"] * n).cast(pa.large_string()), pa.array([1] * n, pa.decimal128(38, 2)), pa.array(["\0"] * n),
        ]  # fmt: skip
        for _ in range(pick.randrange(3)):
            columns[pick.choice(["amount", "country", "n", "label", "id", "weight", "", "é"])] = pick.choice(odd)
        if pick.random() < 0.3:
            columns.pop(pick.choice(list(columns)))
        names = list(columns)
        if names and pick.random() < 0.1:
            names[0] = names[-1]
        table = pa.Table.from_arrays(list(columns.values()), names=names)
        sink = pa.BufferOutputStream()
        compression = pick.choice([None, None, "lz4", "zstd"])
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            for _ in range(pick.randrange(3)):
                writer.write_table(table)
        content = sink.getvalue().to_pybytes()
        if pick.random() < 0.6:
            content = self._bitten(content)
        accept = [f"Accept: {ARROW}"] if pick.random() < 0.3 else []
        return _packed("POST", pick.choice(PATHS[:2]), [f"Content-Type: {ARROW}", *accept], content)

    def _headers(self) -> bytes:
        path = self.random.choice(PATHS[:4])
        headers = [f"Content-Type: {JSON}", *self.random.sample(HEADERS, self.random.randrange(1, 4))]
        self.random.shuffle(headers)
        return _packed("POST", path, headers, json.dumps(self.sound(path)).encode())

    def _lines(self) -> bytes:
        method, path = self.random.choice(METHODS), self.random.choice(OTHERS + PATHS)
        headers = [f"Content-Type: {self.random.choice([JSON, ARROW, BYTES])}"]
        return _packed(method, path, headers, self.random.randbytes(self.random.randrange(200)))

    def _raw(self) -> bytes:
        kind = self.random.randrange(3)
        if kind == 0:
            return self.random.randbytes(self.random.randrange(1, 3_000))
        whole = self._json()
        return self._bitten(whole) if kind == 1 else whole * self.random.randrange(2, 6)

    def _other_model(self) -> bytes:
        return _packed("POST", "/v1/model", [f"Content-Type: {BYTES}"], self._bitten(self._model))


def _packed(method: str, path: str, headers: list[str], body: bytes) -> bytes:
    has = {header.partition(":")[0].lower() for header in headers}
    more = [] if "host" in has else ["Host: 127.0.0.1"]
    more += [] if has & {"content-length", "transfer-encoding"} else [f"Content-Length: {len(body)}"]
    if "transfer-encoding" in has:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, *more, "Connection: close", "", ""])
    return head.encode("latin-1", "replace") + body


def answered(port: int, content: bytes, patience: float) -> bytes:
    """Everything received until the connection is closed; TimeoutError if it stays open."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                received += piece
    return received


def ask(port: int, method: str, path: str, body: Any = None) -> Any:
    content = b"" if body is None else json.dumps(body).encode()
    answer = answered(port, _packed(method, path, [f"Content-Type: {JSON}"], content), 60)
    head, _, rest = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise AssertionError(f"{method} {path}: {answer[:300]!r}")
    return json.loads(rest) if b"json" in head else rest


def memory(process: int) -> float:
    """Resident megabytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


def fuzz(port: int, process: int, requests: int, *, seed: int = 0, patience: float = 20.0) -> dict[str, Any]:
    """Send nonsense; return the statuses received, and the megabytes after a tenth and at the end."""
    first = {"rows": [{"features": Nonsense(k).features(), "label": k % 2} for k in range(1_200)]}
    acknowledged = ask(port, "POST", "/v1/learn", first)["learned"]
    nonsense = Nonsense(seed, ask(port, "GET", "/v1/model"))
    statuses: collections.Counter[str] = collections.Counter()
    early = memory(process)
    for number in range(requests):
        content = nonsense.request()
        try:
            answer = answered(port, content, patience)
        except TimeoutError:
            raise AssertionError(f"request {number} of seed {seed} was not answered: {content[:1000]!r}") from None
        found = [piece[:3].decode("latin-1") for piece in answer.split(b"HTTP/1.1 ")[1:]] or ["closed"]
        statuses.update(found)
        if "500" in found or b"Traceback" in answer:
            raise AssertionError(f"request {number} of seed {seed}: {content[:3000]!r} was answered {answer[:500]!r}")
        if number % 100 == 0:
            sound = {"rows": [{"features": nonsense.features(), "label": 1}]}
            told = ask(port, "POST", "/v1/learn", sound)
            acknowledged += told["learned"]
        if number == requests // 10:
            early = memory(process)
        acknowledged += sum(int(count) for count in LEARNED.findall(answer))
    position = ask(port, "GET", "/v1/status")["health"]["position"]
    if position != acknowledged:
        raise AssertionError(f"{acknowledged} rows were acknowledged, but the log has {position}")
    return {"statuses": dict(statuses), "early": early, "end": memory(process), "position": position}


@contextlib.contextmanager
def server(state: str) -> Iterator[tuple[int, int, list[str]]]:
    command = [
        sys.executable,
        "-m",
        "pater",
        "serve",
        "--state",
        state,
        "--port",
        "0",
        "--probabilities",
        "--algo",
        "arow",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    assert process.stdout is not None
    assert process.stderr is not None
    threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True).start()
    try:
        line = process.stdout.readline()
        if not line.startswith("serving on "):
            raise SystemExit(f"it has not started: {''.join(lines)}")
        yield int(line.rsplit(":", 1)[1]), process.pid, lines
        process.terminate()
        if process.wait(60):
            raise SystemExit(f"it has ended with {process.returncode}: {''.join(lines)}")
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, default=20.0, help="seconds for an answer")
    parser.add_argument("--growth", type=float, default=50.0, help="megabytes")
    arguments = parser.parse_args()
    state = tempfile.mkdtemp(prefix="serve-fuzz-")
    try:
        with server(state) as (port, process, lines):
            found = fuzz(port, process, arguments.requests, seed=arguments.seed, patience=arguments.patience)
        check = subprocess.run(
            [sys.executable, "-m", "pater", "serve", "--state", state, "--check"], capture_output=True, text=True
        )
    finally:
        shutil.rmtree(state, ignore_errors=True)
    print(json.dumps(found, indent=1))
    print(check.stdout + check.stderr, end="")
    failures = [line for line in lines if " error " in line]
    if failures or check.returncode or found["end"] - found["early"] > arguments.growth:
        raise SystemExit(f"not sound: {failures[:3]}")


if __name__ == "__main__":
    main()
