"""Kill `pater serve` again and again, at random moments, under a load of predictions, rows to learn and late labels.

    python benchmarks/serve_kills.py --kills 1000

Several clients learn row by row and in bulk, in JSON and in Arrow, by keys and by ids; predict, and give the labels
later; repeat what was answered before; and swap the model. The server writes snapshots all the time. It is killed
(SIGKILL): one time in five at a moment drawn from its start, which includes recovery, else while it answers; one time
in twenty it is asked to end (SIGTERM) and killed while it does. Clients send again what was not answered, as they
should. At the end, and after every so many kills, everything that was acknowledged is in the log, nothing is in it
twice, and the served model has the bytes of the one that `pater train` makes from the exported log.

All that a killed server leaves is its state directory: each start is a new process. It is a fork of one that has
imported and compiled everything, which saves most of the time of a start; with `--fresh` it is not.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pyarrow as pa

PATER = [sys.executable, "-m", "pater"]
SETTINGS: dict[str, list[str]] = {
    "a table": ["--algo", "pater-i"],
    "a table, several learners": ["--probabilities"],
    "a model to begin with": ["--model", "begin.pater"],
    "numbered features": ["--algo", "arow", "--covariance", "diagonal"],
}
CLIENTS, UNIT = 4, 1 << 20
PATIENCE = 60.0  # seconds that anything may take while the server is up
ARROW = "application/vnd.apache.arrow.stream"
COPIES = """
import asyncio, json, os, sys
import pater.serve.web.running, pater.serve.rows.arrow_rows
from pater.cli import main
from pater.serve import housekeeping
from pater.serve.engine import Engine
from pater.serve.store.state import opened

housekeeping.TICK = 0.02  # to see whether a snapshot is due, so that a short life has some

async def warm(words, rows):
    "Everything that a server does, done once."
    try:
        main(["train", "warm.jsonl", *words, "-m", "warm.pater", "-q"])
    except SystemExit as leave:
        assert not leave.code
    for name, model in (("warm-1", None), ("warm-2", "warm.pater")):
        log, settings = opened(name, model=model)
        engine = Engine(log, settings)
        await engine.start()
        for some in (rows[:1], rows):
            await engine.learn(engine.rows_of({"rows": some}, labelled=True))
            await engine.predict(engine.rows_of({"rows": [{"features": rows[0]["features"]}]}, labelled=False))
        await engine.swap(await engine.model_file())
        await engine.stop()

with open("warm.jsonl") as file:
    asyncio.run(warm(sys.argv[1:], [json.loads(line) for line in file]))
for line in sys.stdin:
    words = eval(line)
    child = os.fork()
    if not child:
        for number, name in enumerate(words[:2], 1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            main(words[2:])
        except SystemExit as leave:
            os._exit(leave.code or 0)
        os._exit(70)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Server:
    """A server that is started and killed in one state directory."""

    def __init__(self, folder: Path, settings: list[str], *, fresh: bool) -> None:
        self.folder, self.state = folder, folder / "state"
        words = ["serve", "--state", str(self.state), "--port", "0", "--snapshot-every", "40", *settings]
        self._words, self._out, self._err = words, folder / "out", folder / "err"
        self._fork = None
        choice, clients = random.Random(0), Rows(tables=are_tables(settings))
        rows = [clients.row(choice)[1:] for _ in range(1200)]
        lines = [json.dumps({"features": features, "label": label}) for features, label in rows]
        (folder / "warm.jsonl").write_text("\n".join(lines))
        if "--model" in settings:
            command = [*PATER, "train", "warm.jsonl", "--algo", "pater-i", "-m", "begin.pater", "-q"]
            subprocess.run(command, cwd=folder, check=True)
            settings = []
        if not fresh:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": folder}
            self._fork = subprocess.Popen([sys.executable, "-c", COPIES, *settings], **pipes)
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = self.from_snapshots = 0
        self.starts: list[float] = []

    def start(self) -> None:
        self.from_snapshots += any(self.state.glob("models/snapshot-*.pater"))
        self._out.write_text("")
        self._began = time.monotonic()
        if self._fork is None:
            with self._out.open("wb") as out, self._err.open("wb") as err:
                self._process = subprocess.Popen([*PATER, *self._words], stdout=out, stderr=err, cwd=self.folder)
            self.pid = self._process.pid
        else:
            self._fork.stdin.write(repr([str(self._out), str(self._err), *self._words]) + "\n")
            self._fork.stdin.flush()
            self.pid = int(self._fork.stdout.readline())

    def port(self) -> int:
        """Wait until the server answers; return its port."""
        while time.monotonic() < self._began + PATIENCE:
            said = self._out.read_text()
            if said.endswith("\n"):
                self.starts.append(time.monotonic() - self._began)
                return int(said.split(":")[-1])
            assert self.is_there(), f"the server has ended: {self._err.read_text()}"
            time.sleep(0.002)
        raise AssertionError("the server does not start")

    def is_there(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> None:
        if self._process is not None:
            self._process.wait(PATIENCE)
        else:
            assert self._fork.stdout.readline() == "ended\n"

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()
        said = self._err.read_text()
        assert "Traceback" not in said, said

    def close(self) -> None:
        if self._fork is not None:
            self._fork.stdin.close()
            self._fork.wait(PATIENCE)


class Rows:
    """Rows that can be told apart."""

    def __init__(self, *, tables: bool) -> None:
        self.tables = tables
        self.asked: set[int] = set()
        self._lock = threading.Lock()
        self._numbers = iter(range(1, 1 << 40))

    def row(self, choice: random.Random) -> tuple[int, Any, int]:
        """A unique number, features that contain it, and a label."""
        with self._lock:
            number = next(self._numbers)
            self.asked.add(number)
        amount, country = round(choice.lognormvariate(0, 1), 3), choice.choice(["DE", "FR", "IT", "ü"])
        label = int(amount > 1.5) ^ (choice.random() < 0.1)
        if self.tables:
            return number, {"u": number / UNIT, "amount": amount, "country": country}, label
        return number, [[1, number / UNIT], [2, amount], [3 + choice.randrange(40), 1.0]], label


def are_tables(settings: list[str]) -> bool:
    return "arow" not in settings


class Clients(Rows):
    """Several clients of a server that goes away and comes back, and what it has acknowledged."""

    def __init__(self, seed: int, *, tables: bool) -> None:
        super().__init__(tables=tables)
        self.seed = seed
        self.port: int | None = None
        self.acknowledged: set[int] = set()
        self.told: Counter[str] = Counter()
        self.errors: list[str] = []
        self._up, self._stop = threading.Event(), False
        self._threads = [threading.Thread(target=self._work, args=(k,), daemon=True) for k in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def up(self, port: int) -> None:
        self.port = port
        self._up.set()

    def wait_for(self, answers: int) -> None:
        """Wait for this many answers, but not forever."""
        wanted, end = self.told.total() + answers, time.monotonic() + 5
        while self.told.total() < wanted and time.monotonic() < end:
            time.sleep(0.001)

    def down(self) -> None:
        self._up.clear()

    def stop(self) -> None:
        """Let each client finish what it has begun, while the server is up."""
        self._stop = True
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a client waits for ever"
        assert not self.errors, self.errors[0]

    def _work(self, number: int) -> None:
        try:
            _Client(self, number, random.Random(f"{self.seed} {number}")).run()
        except BaseException:
            self.errors.append(traceback.format_exc())

    def note(self, what: str, numbers: Any = ()) -> None:
        with self._lock:
            self.told[what] += 1
            self.acknowledged.update(numbers)

    def is_over(self) -> bool:
        return self._stop or bool(self.errors)


class _Client:
    """One client, which sends each request until it is answered."""

    def __init__(self, all_: Clients, number: int, choice: random.Random) -> None:
        self.all, self.number, self.choice = all_, number, choice
        self._connection: http.client.HTTPConnection | None = None
        self._count = 0
        self._waiting: deque[tuple[int, str, int]] = deque()  # predicted, but not yet labelled
        self._before: list[tuple[str, Any, dict[str, str], Any]] = []  # requests with keys, and their answers

    def run(self) -> None:
        while not self.all.is_over():
            doing = self.choice.choices(
                [self.learn, self.learn_by_id, self.bulk, self.arrow, self.predict, self.label, self.again, self.swap],
                [4, 2, 2, 2 * self.all.tables, 5, 4, 1, 0.3 * (self.number == 0)],
            )
            doing[0]()
        while self._waiting:
            self.label()
        self.learn()  # so that something is learned after the last swap

    def name(self) -> str:
        self._count += 1
        return f"{self.number}-{self._count}"

    def ask(self, path: str, body: Any, headers: dict[str, str] | None = None, method: str = "POST") -> tuple[Any, int]:
        """The answer, and how many tries failed before."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        tries, end = 0, time.monotonic() + 10 * PATIENCE
        while True:
            assert time.monotonic() < end, f"no answer to {path}"
            assert not self.all.errors
            if not self.all._up.wait(1):
                continue
            try:
                status, answer = self._once(method, path, content, headers or {})
            except (OSError, http.client.HTTPException):
                self._connection = None
                tries += 1
                time.sleep(0.002)
                continue
            if status in (429, 503, 507):
                tries += 1
                time.sleep(0.01)
                continue
            assert status == 200, f"{path} {status} {answer[:500]!r}"
            return answer if method == "GET" else json.loads(answer), tries

    def _once(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if self._connection is None or self._connection.port != self.all.port:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.all.port, timeout=30)
        kind = {} if method == "GET" else {"Content-Type": "application/json"}
        self._connection.request(method, path, None if method == "GET" else content, {**kind, **headers})
        response = self._connection.getresponse()
        return response.status, response.read()

    def _learn(self, what: str, rows: list[tuple[int, Any, int]], body: Any, headers: dict[str, str]) -> None:
        headers = {"Idempotency-Key": self.name(), **headers}
        answer, _ = self.ask("/v1/learn", body, headers)
        assert answer["learned"] == len(rows), answer
        self.all.note(what, [number for number, *_ in rows])
        self._before.append(("/v1/learn", body, headers, answer))
        del self._before[:-50]

    def learn(self) -> None:
        rows = [self.all.row(self.choice)]
        self._learn("learned", rows, {"features": rows[0][1], "label": rows[0][2]}, {})

    def bulk(self) -> None:
        rows = [self.all.row(self.choice) for _ in range(self.choice.randrange(2, 30))]
        self._learn("in bulk", rows, {"rows": [{"features": x, "label": y, "weight": 1.5} for _, x, y in rows]}, {})

    def arrow(self) -> None:
        rows = [self.all.row(self.choice) for _ in range(self.choice.randrange(1, 60))]
        table = pa.Table.from_pylist([{**x, "label": y} for _, x, y in rows])
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        self._learn("in bulk, as Arrow", rows, sink.getvalue(), {"Content-Type": ARROW})

    def learn_by_id(self) -> None:
        number, features, label = self.all.row(self.choice)
        name = self.name()
        answer, tries = self.ask("/v1/learn", {"rows": [{"id": name, "features": features, "label": label}]})
        assert answer["learned"] == 1 or (tries and answer["already"] == [name]), answer
        self.all.note("learned by id", [number])

    def predict(self) -> None:
        number, features, label = self.all.row(self.choice)
        name = self.name()
        answer, _ = self.ask("/v1/predict", {"rows": [{"id": name, "features": features}]})
        assert answer["predictions"][0]["id"] == name
        self.all.note("predicted")
        self._waiting.append((number, name, label))

    def label(self) -> None:
        some = [self._waiting.popleft() for _ in range(min(len(self._waiting), self.choice.randrange(1, 4)))]
        if some:
            answer, tries = self.ask("/v1/labels", {"labels": [{"id": name, "label": y} for _, name, y in some]})
            assert not answer["unknown"], answer
            assert answer["joined"] == len(some) or (tries and len(answer["already"]) == len(some)), answer
            self.all.note("labelled later", [number for number, *_ in some])

    def again(self) -> None:
        if self._before:
            path, body, headers, before = self.choice.choice(self._before)
            answer, _ = self.ask(path, body, headers)
            assert answer == before, (answer, before)
            self.all.note("repeated")

    def swap(self) -> None:
        if not self._before:
            return  # there may be no model yet
        model, _ = self.ask("/v1/model", b"", method="GET")
        self.ask("/v1/model", model, {"Content-Type": "application/octet-stream"})
        self.all.note("swapped")


def check_all(server: Server, clients: Clients, port: int) -> int:
    """Check that no row is lost or repeated, and that the model is that of the log, while clients are at rest."""
    from pater.serve.store.export import command, lines
    from pater.serve.store.log import Log

    log = Log.open_to_read(server.state)
    try:
        rows = [json.loads(line)["features"] for line in list(lines(log, 0))[1:]]
        exported = b"".join(lines(log))
        words = command(log)[2:]
        assert len(rows) == log.position
    finally:
        log.close()
    values = [round((row["u"] if clients.tables else dict(map(tuple, row))[1]) * UNIT) for row in rows]
    learned = Counter(values)
    assert max(learned.values()) == 1, "something was learned twice"
    lost = clients.acknowledged - set(learned)
    assert not lost, f"{len(lost)} rows were lost"
    assert set(learned) <= clients.asked
    if not exported:  # a model was swapped in last
        return len(values)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/v1/model")
    served = connection.getresponse().read()
    (server.folder / "log.jsonl").write_bytes(exported)
    words[words.index("MODEL.pater")] = "again.pater"
    subprocess.run([*PATER, "train", *words, "-q"], cwd=server.folder, check=True)
    assert (server.folder / "again.pater").read_bytes() == served, "the model is not that of the log"
    return len(values)


def run(
    folder: Path, settings: list[str], kills: int, seed: int, *, fresh: bool = False, every: int = 100
) -> dict[str, Any]:
    """Kill a server this many times; return what was done in the meantime."""
    choice = random.Random(seed)
    server = Server(folder, settings, fresh=fresh)
    clients = Clients(seed, tables=are_tables(settings))
    rows, life, longest = 0, 1.0, 2.5 if fresh else 0.15  # the first request of a process loads compiled code
    try:
        for kill in range(kills + 1):
            server.start()
            if kill < kills and choice.random() < 0.2:
                time.sleep(choice.uniform(0, life))
                server.kill()
                clients.note("killed at the start")
                continue
            port = server.port()
            life = min(server.starts)
            if kill and kill % every == 0:
                check_all(server, clients, port)  # clients wait, as they do not know the port
            clients.up(port)
            if kill == kills:
                break
            if choice.random() < 0.5:
                time.sleep(choice.uniform(0, longest))
            else:
                clients.wait_for(choice.randrange(1, 60))
                time.sleep(choice.uniform(0, 0.005))
            if choice.random() < 0.05:
                server.signal(signal.SIGTERM)
                time.sleep(choice.uniform(0, 0.05))
                clients.note("killed at the end")
            server.kill()
            clients.down()
            assert not clients.errors, clients.errors[0]
        clients.stop()
        rows = check_all(server, clients, port)
    finally:
        if server.is_there():
            server.kill()
        server.close()
    told = {"starts from a snapshot": server.from_snapshots, **clients.told}
    return {"rows": rows, "start": sorted(server.starts)[len(server.starts) // 2], **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    for number, (name, settings) in enumerate(SETTINGS.items()):
        kills = given.kills // len(SETTINGS) + (number < given.kills % len(SETTINGS))
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            told = run(Path(folder), settings, kills, given.seed + number, fresh=given.fresh)
        rows, start = told.pop("rows"), told.pop("start")
        print(
            f"{name}: {kills} kills in {time.monotonic() - began:.0f} s; a start takes {start:.2f} s; {rows:,} rows, "
            f"none lost, none twice, the model that of the log; {told}",
            flush=True,
        )


if __name__ == "__main__":
    main()
