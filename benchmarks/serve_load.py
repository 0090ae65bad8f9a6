"""`pater serve` under load, on loopback: predictions while it learns, durable learning singly and in bulk, memory.

    python benchmarks/serve_load.py
    python benchmarks/serve_load.py --requests 1000000 --only memory

Servers and clients are processes of their own. One-row predictions are compared with the same server answering a
constant to the same requests, in turn, while rows to learn are sent at a steady rate; figures are medians over some
rounds, and ratios are medians of the rounds' ratios, with their range. On a busy machine, times say little, and the
processor time of the server, which includes learning, says more; there, `--only windows` looks at the quieter quarter
of many short windows. Every run is bounded by `--seconds` or by counts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

COUNTRIES = [f"country {k}" for k in range(30)]
KINDS = ["card", "transfer", "cash", "cheque"]
ROWS = 5_000  # learned before anything is measured
BODIES = 1_000  # distinct ones
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"


def rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows of eight columns, with a label that depends on some of them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        amount, age, hour = float(np.round(rng.lognormal(3, 1), 2)), int(rng.integers(18, 90)), int(rng.integers(24))
        country, kind = COUNTRIES[int(rng.integers(30))], KINDS[int(rng.integers(4))]
        score = 0.02 * amount - 0.02 * age + (kind == "cash") + 0.1 * COUNTRIES.index(country) - 3 + rng.logistic()
        features = {"amount": amount, "age": age, "hour": hour, "country": country, "kind": kind}
        features |= {name: round(float(rng.normal()), 4) for name in ("x", "y", "z")}
        found.append({"features": features, "label": int(score > 0)})
    return found


def request(path: str, body: bytes, type_: str = JSON) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {type_}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class Caller(asyncio.Protocol):
    """Sends a request, waits for the answer, sends the next; or, if wanted, one every so many seconds."""

    def __init__(self, requests: Iterator[bytes], taken: list[float], every: float = 0.0) -> None:
        self._requests, self._taken, self._every = requests, taken, every
        self._buffer, self._length = b"", -1
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._next_at = time.perf_counter()
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server has closed the connection"))

    def _send(self) -> None:
        content = next(self._requests, None)
        if content is None:
            self.done.set_result(None)
            self._transport.close()
            return
        self._at = time.perf_counter()
        self._transport.write(content)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._is_whole():
            self._answered()

    def _is_whole(self) -> bool:
        if self._length < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return False
            if not self._buffer.startswith(b"HTTP/1.1 200"):
                self.done.set_exception(RuntimeError(self._buffer[:500].decode("latin-1")))
                self._transport.close()
                return False
            head = self._buffer[:end].lower()
            self._length = end + 4 + int(head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0])
        return len(self._buffer) >= self._length

    def _answered(self) -> None:
        now = time.perf_counter()
        self._taken.append(now - self._at)
        self._buffer, self._length = b"", -1
        self._next_at += self._every
        if self._every and self._next_at > now:
            asyncio.get_running_loop().call_later(self._next_at - now, self._send)
        else:
            self._send()


class LineCaller(Caller):
    """The same for a daemon that answers each line with a line."""

    def _is_whole(self) -> bool:
        return self._buffer.endswith(b"\n")


async def called(
    port: int, requests: Callable[[], Iterator[bytes]], connections: int, caller: type[Caller] = Caller, **options: Any
) -> list[float]:
    taken: list[float] = []
    loop = asyncio.get_running_loop()
    callers = [
        (await loop.create_connection(lambda: caller(requests(), taken, **options), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.gather(*(each.done for each in callers))
    return taken


def until(moment: float, bodies: list[bytes]) -> Callable[[], Iterator[bytes]]:
    place = 0

    def requests() -> Iterator[bytes]:
        nonlocal place
        while time.perf_counter() < moment:
            place += 1
            yield bodies[place % len(bodies)]

    return requests


def counted(bodies: list[bytes]) -> Callable[[], Iterator[bytes]]:
    """All of them once, however many connections share them."""
    left = iter(bodies)
    return lambda: left


# Roles of this script in a process of its own


def predicting(port: int, connections: int, seconds: float) -> dict[str, float]:
    bodies = [request("/v1/predict", packed({"rows": [{"features": r["features"]}]})) for r in rows(BODIES, 1)]
    return _times(port, bodies, connections, seconds, Caller)


def asking_vw(port: int, seconds: float) -> dict[str, float]:
    return _times(port, [line_of(r["features"]).encode() for r in rows(BODIES, 1)], 1, seconds, LineCaller)


def line_of(features: dict[str, Any], label: str = "") -> str:
    """A row as VW text."""
    told = (f"{name}={value}" if isinstance(value, str) else f"{name}:{value}" for name, value in features.items())
    return f"{label}| {' '.join(each.replace(' ', '_') for each in told)}\n"


def _times(port: int, bodies: list[bytes], connections: int, seconds: float, kind: type[Caller]) -> dict[str, float]:
    begun = time.perf_counter()
    taken = np.array(uvloop.run(called(port, until(begun + seconds, bodies), connections, kind)))
    at = {f"p{q:g}": 1e3 * float(np.percentile(taken, q)) for q in (50, 99, 99.9)}
    return {"per_second": taken.size / (time.perf_counter() - begun), **at}


def learning(port: int, connections: int, seconds: float, every: float = 0.0) -> dict[str, float]:
    bodies = [request("/v1/learn", packed({"rows": [r]})) for r in rows(BODIES, 2)]
    begun = time.perf_counter()
    taken = uvloop.run(called(port, until(begun + seconds, bodies), connections, every=every))
    spent = time.perf_counter() - begun
    return {"per_second": len(taken) / spent, "p50": 1e3 * float(np.median(taken))}


def in_bulk(port: int, kind: str, size: int, times: int) -> dict[str, float]:
    table = rows(size, 3)
    if kind == JSON:
        body = packed({"rows": table})
    else:
        import pyarrow as pa

        columns = pa.Table.from_pylist([{**each["features"], "label": each["label"]} for each in table])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, columns.schema) as writer:
            writer.write_table(columns)
        body = sink.getvalue().to_pybytes()
    bodies = [request("/v1/learn", body, kind)] * times
    begun = time.perf_counter()
    uvloop.run(called(port, counted(bodies), 2))
    return {"rows_per_second": size * times / (time.perf_counter() - begun), "rows": size * times}


def remembering(port: int, first: int, ids: int) -> dict[str, float]:
    """Predictions with ids, a hundred per request; their labels never come."""
    some = rows(BODIES, 4)
    bodies = []
    for start in range(first, first + ids, 100):
        each = [{"id": f"row {k}", "features": some[k % BODIES]["features"]} for k in range(start, start + 100)]
        bodies.append(request("/v1/predict", packed({"rows": each})))
    begun = time.perf_counter()
    uvloop.run(called(port, counted(bodies), 4))
    return {"per_second": ids / (time.perf_counter() - begun)}


def answering_a_constant() -> None:
    """Run the same server with an application that reads the body, parses it and answers a constant."""
    import orjson

    from pater.serve.web.journal import Journal
    from pater.serve.web.limits import Limits
    from pater.serve.web.server import bound, serve

    told = {"label": 1, "decision": 1, "probability": 0.5, "margin": 0.25}
    answer = orjson.dumps({"predictions": [told], "model": {"version": 1, "rows": 1000}})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        orjson.loads((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    listener = bound("127.0.0.1", 0)

    def started() -> None:
        print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)

    uvloop.run(serve(app, listener, limits=Limits(), journal=Journal(), started=started))


# The run


@contextlib.contextmanager
def server(command: list[str]) -> Iterator[tuple[int, int]]:
    """A server that runs during the block; its port and process."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("serving on "):
            raise SystemExit(f"{' '.join(command)} has not started")
        yield int(line.rsplit(":", 1)[1]), process.pid
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def client(*arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--as", packed(arguments).decode()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> dict[str, float]:
    output, _ = process.communicate(timeout=3600)
    if process.returncode:
        raise SystemExit("a client has failed")
    found: dict[str, float] = json.loads(output)
    return found


def memory(process: int) -> float:
    """Resident megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def spent(process: int) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def pater(*options: str) -> Iterator[tuple[int, int]]:
    """`pater serve`, after it has learned some rows."""
    folder = tempfile.mkdtemp(prefix="serve-load-")
    command = [sys.executable, "-m", "pater", "serve", "--state", folder, "--port", "0", "--probabilities", *options]
    try:
        with server(command) as (port, process):
            result(client("in_bulk", port, JSON, ROWS, 1))
            yield port, process
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def median(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.median([each[name] for each in found])) for name in found[0]}


def compare(arguments: argparse.Namespace) -> None:
    constant = [sys.executable, __file__, "--as", '["answering_a_constant"]']
    with pater() as (port, process), server(constant) as (other, other_process):
        result(client("predicting", port, 1, 1.0))
        for connections in (1, 64):
            found: dict[str, list[dict[str, float]]] = {"pater serve": [], "a constant": []}
            for _ in range(arguments.rounds):
                for name, at, pid in (("pater serve", port, process), ("a constant", other, other_process)):
                    beside = client("learning", at, 1, arguments.seconds + 1, 1 / arguments.rate)
                    time.sleep(0.7)
                    before = spent(pid)
                    each = result(client("predicting", at, connections, arguments.seconds))
                    each["work"] = 1e6 * (spent(pid) - before) / (each["per_second"] * arguments.seconds)
                    found[name].append(each)
                    result(beside)
            ours, theirs = median(found["pater serve"]), median(found["a constant"])
            for name, each in (("pater serve", ours), ("a constant", theirs)):
                times = ", ".join(f"{q} {each[q]:.2f}" for q in ("p50", "p99", "p99.9"))
                line = f"{connections:3} connections, {name:12}: {each['per_second']:8,.0f}/s, {times} ms"
                print(f"{line}, {each['work']:.0f} µs of a processor each", flush=True)
            ratios = ", ".join(f"{q} {_ratio(*found.values(), q)}" for q in ("p50", "p99", "p99.9", "work"))
            print(f"{connections:3} connections, ratios      : {ratios}", flush=True)


def _ratio(ours: list[dict[str, float]], theirs: list[dict[str, float]], name: str) -> str:
    """The median of the rounds' ratios, with the least and the largest."""
    ratios = np.array([mine[name] / other[name] for mine, other in zip(ours, theirs, strict=True)])
    return f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"


def in_windows(port: int, other: int, windows: int) -> dict[str, float]:
    """Predictions of one connection, in turn half a second from one server and half a second from the other."""
    features = [{"rows": [{"features": r["features"]}]} for r in rows(BODIES, 1)]
    asked = [request("/v1/predict", packed(each)) for each in features]
    told = [request("/v1/learn", packed({"rows": [r]})) for r in rows(BODIES, 2)]

    async def window(at: int) -> list[float]:
        end = time.perf_counter() + 0.5
        learns = asyncio.ensure_future(called(at, until(end, told), 1, every=1 / 200))
        taken = 1e3 * np.array(await called(at, until(end, asked), 1))
        await learns
        return [float(np.percentile(taken, q)) for q in (50, 99)]

    async def all_windows() -> list[list[float]]:
        await window(port)
        return [await window(port) + await window(other) for _ in range(windows)]

    found = np.percentile(uvloop.run(all_windows()), 25, axis=0)
    return dict(zip(("ours p50", "ours p99", "theirs p50", "theirs p99"), found.tolist(), strict=True))


def beside_others(arguments: argparse.Namespace) -> None:
    """The same on a shared machine: short windows in turn, and the lower quartile of each figure."""
    constant = [sys.executable, __file__, "--as", '["answering_a_constant"]']
    with pater() as (port, _), server(constant) as (other, _):
        found = result(client("in_windows", port, other, arguments.windows))
    for q in ("p50", "p99"):
        ours, theirs = found[f"ours {q}"], found[f"theirs {q}"]
        print(f"  1 connection, windows: {q} {ours:.3f} ms, a constant {theirs:.3f} ms, ratio {ours / theirs:.2f}")


def has_vw(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import vowpalwabbit"], capture_output=True).returncode == 0
    except OSError:
        return False


def beside_vw(arguments: argparse.Namespace) -> None:
    """One connection, with no learning meanwhile: the daemon of the Python package takes one at a time."""
    with tempfile.TemporaryDirectory() as folder, pater() as (port, _):
        data, model = Path(folder, "rows.vw"), Path(folder, "model.vw")
        data.write_text("".join(line_of(r["features"], "1 " if r["label"] else "-1 ") for r in rows(ROWS, 3)))
        make = [arguments.vw, "-m", "vowpalwabbit", "-d", data, "-f", model, "--loss_function", "logistic", "--quiet"]
        subprocess.run(make, check=True)
        daemon = "import sys, vowpalwabbit as v; w = v.Workspace(arg_list=sys.argv[1:]); w.run_parser()"
        found: dict[str, list[dict[str, float]]] = {"pater serve": [], "VW's daemon": []}
        for _ in range(arguments.rounds):
            with socket.create_server(("127.0.0.1", 0)) as free:
                at = free.getsockname()[1]
            listen = ["--daemon", "--foreground", "--port", str(at), "-i", str(model), "-t", "--quiet"]
            command = [arguments.vw, "-c", daemon, *listen]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
            try:
                time.sleep(2)
                found["VW's daemon"].append(result(client("asking_vw", at, arguments.seconds)))
            finally:
                os.killpg(process.pid, signal.SIGKILL)  # it has children
                process.wait()
            found["pater serve"].append(result(client("predicting", port, 1, arguments.seconds)))
        for name, each in found.items():
            times = ", ".join(f"{q} {median(each)[q]:.2f}" for q in ("p50", "p99", "p99.9"))
            print(
                f"  1 connection, nothing learned, {name:12}: {median(each)['per_second']:8,.0f}/s, {times} ms",
                flush=True,
            )


def durable(arguments: argparse.Namespace) -> None:
    with pater() as (port, process):

        def told(what: str, name: str, *call: Any) -> None:
            before, begun = spent(process), time.perf_counter()
            found = result(client(*call))
            rows_learned = found.get("rows") or found["per_second"] * arguments.seconds
            each, seconds = rows_learned / (spent(process) - before), time.perf_counter() - begun
            line = f"{what}, {name}: {found.get('rows_per_second') or found['per_second']:,.0f} rows/s"
            print(f"{line}; {each:,.0f} a second of the server's processor time ({seconds:.0f} s)", flush=True)

        for connections in (1, 64):
            told("learned one by one", f"{connections} connections", "learning", port, connections, arguments.seconds)
        for kind, name in ((JSON, "JSON"), (ARROW, "Arrow")):
            told("learned in bulk", name, "in_bulk", port, kind, 10_000, 40)


def grown(arguments: argparse.Namespace) -> None:
    with pater("--max-pending", str(arguments.pending)) as (port, process):
        result(client("remembering", port, 0, min(10_000, arguments.pending)))
        result(client("predicting", port, 8, 2.0))
        print(f"at the start: {memory(process):.0f} MB", flush=True)
        result(client("remembering", port, 0, arguments.pending))
        print(f"{arguments.pending:,} rows wait for labels: {memory(process):.0f} MB", flush=True)
        done = 0.0
        while done < arguments.requests:
            step = result(client("predicting", port, 64, arguments.seconds))
            done += step["per_second"] * arguments.seconds
            print(f"after {done:,.0f} requests: {memory(process):.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=200.0, help="rows a second that are learned meanwhile")
    parser.add_argument("--requests", type=int, default=100_000, help="over which memory is watched")
    parser.add_argument("--pending", type=int, default=100_000, help="rows that wait for labels meanwhile")
    parser.add_argument("--only", choices=["compare", "windows", "durable", "memory", "vw"])
    parser.add_argument("--windows", type=int, default=40, help="of half a second, for each server")
    parser.add_argument("--vw", default=sys.executable, help="a Python that has vowpalwabbit")
    parser.add_argument("--as", dest="role", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role:
        name, *rest = json.loads(arguments.role)
        found = globals()[name](*rest)
        if found is not None:
            print(json.dumps(found))
        return
    parts = {"compare": compare, "windows": beside_others, "durable": durable, "memory": grown, "vw": beside_vw}
    for name, part in parts.items():
        if name == "vw" and not has_vw(arguments.vw):
            print("VW's daemon is not compared: --vw names a Python that has vowpalwabbit")
        elif arguments.only in (None, name):
            part(arguments)


if __name__ == "__main__":
    main()
