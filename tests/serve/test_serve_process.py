"""`pater serve` end to end: the process, its state directory, its signals and its messages."""

from __future__ import annotations

import json
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import WAIT
from process import command, running, trusting

from pater.cli import main

ARROW = "application/vnd.apache.arrow.stream"
TOKENS = "# who may do what\n\npredict pppppppppppppppp\nlearn llllllllllllllll\nadmin aaaaaaaaaaaaaaaa\n"


def row(k, *, label=True):
    rng = random.Random(k)
    features = {"amount": round(rng.lognormvariate(3, 1), 2), "country": rng.choice(["DE", "FR", "IT"])}
    return {"features": features, **({"label": int(features["amount"] > 25)} if label else {})}


@pytest.fixture
def failed(capfd):
    """The exit code and the messages of a command that does not start a server."""

    def failed(*arguments):
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["serve", *map(str, arguments)])
        out, words = capfd.readouterr()
        assert out == ""
        assert words.startswith("pater: ")
        assert words.count("\n") == 1
        return end.value.code, words

    return failed


def test_a_service_learns_is_ended_and_goes_on(tmp_path, failed):
    state = tmp_path / "state"
    with running("--state", state, "--algo", "arow", "--probabilities", "--log-json") as server:
        assert server.line.startswith("serving on http://127.0.0.1:")
        said = {"id": "t1", **row(0, label=False)}
        status, answer = server.ask("POST", "/v1/predict", {"rows": [said]})
        assert (status, answer["predictions"][0]["label"], answer["model"]["rows"]) == (200, None, 0)
        rows = [row(k) for k in range(1, 1500)]
        assert server.ask("POST", "/v1/learn", {"rows": rows}) == (200, {"learned": 1499, "position": 1499})
        labels = {"labels": [{"id": "t1", "label": row(0)["label"]}, {"id": "t2", "label": 1}]}
        assert server.ask("POST", "/v1/labels", labels) == (200, {"joined": 1, "unknown": ["t2"]})
        status, answer = server.ask("POST", "/v1/predict", row(7, label=False))
        assert answer["predictions"][0]["label"] == row(7)["label"]
        model = server.ask("GET", "/v1/model")[1]
        status, refusal = failed("--state", state)
        assert status == 1
        assert "another server" in refusal
        assert server.end() == 0
        assert [json.loads(line)["event"] for line in server.errors] == ["started", "stopping", "stopped"]
    assert not any(path.stat().st_mode & 0o077 for path in state.rglob("*") if path.is_file())

    status, refusal = failed("--state", state, "--algo", "pater-i")
    assert status == 1
    assert "arow" in refusal
    assert "pater-i" in refusal
    checked = subprocess.run(command("--state", state, "--check"), capture_output=True, text=True, timeout=WAIT)
    assert checked.returncode == 0, checked.stderr
    assert "1,500 rows were learned" in checked.stdout

    with running("--state", state) as server:
        assert server.ask("GET", "/v1/model")[1] == model
        assert server.ask("POST", "/v1/predict", row(7, label=False))[1] == answer
        assert server.end(signal.SIGHUP) == 0


@pytest.mark.slow
def test_a_model_file_with_tokens(tmp_path):
    history = tmp_path / "history.csv"
    rows = [row(k) for k in range(2000)]
    lines = [f"{each['features']['amount']},{each['features']['country']},{each['label']}" for each in rows]
    history.write_text("\n".join(["amount,country,label", *lines]) + "\n")
    model, tokens = tmp_path / "model.pater", tmp_path / "tokens.txt"
    train = [*command()[:3], "train", history, "--algo", "arow", "-m", model, "--quiet"]
    subprocess.run(list(map(str, train)), check=True, timeout=WAIT)
    tokens.write_text(TOKENS)
    tokens.chmod(0o644)
    with running("--state", tmp_path / "state", "-m", model, "--tokens", tokens) as server:
        assert server.ask("POST", "/v1/predict", row(1, label=False))[0] == 401
        learn = {"Authorization": "Bearer llllllllllllllll"}
        assert server.ask("POST", "/v1/predict", row(1, label=False), **learn)[0] == 403
        status, answer = server.ask("POST", "/v1/predict", row(1, label=False), Authorization="Bearer pppppppppppppppp")
        assert (status, answer["model"]) == (200, {"version": 1, "rows": 2000})
        assert server.ask("POST", "/v1/learn", row(2), **learn) == (200, {"learned": 1, "position": 1})
        admin = {"Authorization": "Bearer aaaaaaaaaaaaaaaa"}
        status, answer = server.ask("POST", "/v1/model", model.read_bytes(), "application/octet-stream", **admin)
        assert (status, answer["model"]) == (200, {"version": 2, "rows": 2000})
        assert server.ask("POST", "/v1/model", b"no model", "application/octet-stream", **admin)[0] == 422
        assert server.ask("POST", "/v1/operating-point", {"threshold": 0.5}, **admin)[0] == 200
        assert server.end() == 0
        assert any("chmod 600" in line for line in server.errors)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--host", "0.0.0.0"], 2, "--tokens"),
        (["--certificate", "c.pem"], 2, "--certificate and --key go together"),
        (["--remember", "30"], 2, "--remember expects a time such as"),
        (["--snapshot-every", "now"], 2, "--snapshot-every expects a number of rows, or a time"),
        (["--max-body", "tiny"], 2, "--max-body expects a size"),
        (["--algo", "perceptron", "-C", "1"], 2, "has no"),
        (["--max-fpr", "0.1", "--cost", "1:50"], 2, "cannot be combined"),
        (["-m", "no.pater"], 1, "no.pater"),
        (["-m", "no.pater", "--algo", "arow"], 2, "--algo cannot be combined with --model"),
        (["--tokens", "no.txt"], 1, "no.txt"),
        (["--port", "70000"], 2, "65535"),
        (["--port", "TAKEN"], 1, "cannot listen at 127.0.0.1"),
        (["--certificate", "TOKENS", "--key", "TOKENS"], 1, "are not a certificate and its key"),
    ],
)
def test_what_cannot_be_started_is_told_in_a_line(tmp_path, failed, arguments, code, said):
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(TOKENS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        names = {"TOKENS": tokens, "TAKEN": taken.getsockname()[1]}
        status, words = failed("--state", tmp_path / "state", *(names.get(each, each) for each in arguments))
    assert (status, said in words) == (code, True), words
    assert not (tmp_path / "state" / "log.sqlite").exists() or said == "no.pater"


@pytest.mark.slow
def test_large_requests_come_to_the_model_of_the_exported_log(tmp_path):
    """They are read in a thread, and learned as they were read; the log is read again."""
    pa = pytest.importorskip("pyarrow")
    state, exported, trained = tmp_path / "state", "log.jsonl", tmp_path / "trained.pater"
    with running("--state", state, "--algo", "so-pater-i") as server:

        def learn(first, size, *, arrow=False):
            rows = [row(k) for k in range(first, first + size)]
            if not arrow:
                return server.ask("POST", "/v1/learn", {"rows": rows})
            table = pa.Table.from_pylist([{**each["features"], "label": each["label"]} for each in rows])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            return server.ask("POST", "/v1/learn", sink.getvalue().to_pybytes(), ARROW)

        assert learn(0, 10) == (200, {"learned": 10, "position": 10})
        callers = [
            threading.Thread(target=learn, args=(start, size), kwargs={"arrow": arrow})
            for start, size, arrow in ((10, 4000, False), (5000, 3, False), (6000, 4000, True), (10_000, 2000, False))
        ]
        for caller in callers:
            caller.start()
        said = server.ask("POST", "/v1/predict", {"rows": [row(k, label=False) for k in range(3000)]})[1]
        assert len(said["predictions"]) == 3000
        for caller in callers:
            caller.join(60)
        said = server.ask("POST", "/v1/predict", {"rows": [row(k, label=False) for k in range(40)]})[1]["predictions"]
        with ThreadPoolExecutor(8) as pool:  # sent one by one, and gathered by the server
            alone = list(pool.map(lambda k: server.ask("POST", "/v1/predict", row(k, label=False))[1], range(40)))
        assert [each["predictions"][0] for each in alone] == said
        model = server.ask("GET", "/v1/model")[1]
        assert server.end() == 0
    log = [*command()[:3], "log", "export", state, "-o", exported]
    train = [*command()[:3], "train", exported, "--algo", "so-pater-i", "-m", trained, "--quiet"]
    for each in (log, train):
        subprocess.run(list(map(str, each)), check=True, timeout=WAIT, cwd=tmp_path)
    assert trained.read_bytes() == model


@pytest.mark.slow
def test_requests_under_way_are_answered_before_the_end(tmp_path):
    with running("--state", tmp_path / "state", "--algo", "arow") as server:
        server.ask("POST", "/v1/learn", {"rows": [row(k) for k in range(1100)]})
        found, going = [], threading.Event()

        def send():
            try:
                while True:
                    found.append(server.ask("POST", "/v1/learn", {"rows": [row(k) for k in range(500)]}))
                    going.set()
            except (OSError, AssertionError):
                pass

        callers = [threading.Thread(target=send) for _ in range(4)]
        for caller in callers:
            caller.start()
        assert going.wait(WAIT)
        assert server.end() == 0
        for caller in callers:
            caller.join(60)
    acknowledged = [answer for status, answer in found if status == 200]
    assert {status for status, _ in found} <= {200, 503}
    with running("--state", tmp_path / "state") as server:
        position = server.ask("GET", "/v1/status")[1]["health"]["position"]
        assert position >= max(answer["position"] for answer in acknowledged)
        assert (position - 1100) % 500 == 0


@pytest.mark.slow
def test_a_second_signal_ends_at_once_and_loses_nothing(tmp_path):
    state = tmp_path / "state"
    with running("--state", state, "--algo", "arow") as server:
        assert server.ask("POST", "/v1/learn", {"rows": [row(k) for k in range(1100)]})[0] == 200
        # A connection that sends nothing more delays the first signal.
        with socket.create_connection(("127.0.0.1", server.port)) as stuck:
            stuck.sendall(b"POST /v1/learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
            stuck.sendall(b"Content-Length: 100\r\n\r\n{")
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(1)
            assert server.process.poll() is None
            assert server.end() == 128 + signal.SIGTERM
    with running("--state", state) as server:
        assert server.ask("GET", "/v1/status")[1]["health"]["position"] == 1100
        assert server.end() == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_tls(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with running("--state", tmp_path / "state", "--certificate", certificate, "--key", key) as server:
        assert server.line.startswith("serving on https://")
        assert server.ask("GET", "/healthz", context=trusting(certificate)) == (200, {"status": "alive"})
        with pytest.raises((OSError, ValueError)):
            server.ask("GET", "/healthz")
        assert server.end() == 0
