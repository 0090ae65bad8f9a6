"""The client against the server itself."""

from __future__ import annotations

import contextlib
import math
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from patience import WAIT

import pater
from pater.client import Client, ServiceError


@contextlib.contextmanager
def server(state, *options, port=0):
    """A server that is ready, with its address; killed at the end of the block."""
    command = [sys.executable, "-m", "pater", "serve", "--state", str(state), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("serving on "), process.stderr.read()
        yield line.split()[-1]
    finally:
        process.kill()
        process.communicate()


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "amount": np.round(rng.lognormal(3.5, 1.2, n), 2),
            "country": rng.choice(["DE", "FR", None], n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "amount"] = np.nan
    return frame, np.where((frame["amount"] > 80) & (frame["country"] == "FR"), "yes", "no")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with (
        server(tmp_path_factory.mktemp("served") / "state", "--probabilities") as url,
        Client(url, timeout=WAIT) as client,
    ):
        frame, labels = table(1500)
        assert client.learn(frame, labels) == {"learned": 1500, "position": 1500}
        yield client


def test_dicts_and_tables_say_the_same(client):
    frame, labels = table(50, seed=1)
    by_table = client.predict(frame)
    assert client.predict(frame.to_dict("records")) == by_table
    assert client.predict(pl.from_pandas(frame)) == by_table
    assert client.predict(frame.iloc[::-1])[::-1] == by_table
    assert by_table.model == {"version": 1, "rows": client.status()["model"]["rows"]}
    assert np.mean([said["decision"] for said in by_table] == labels) > 0.8
    assert all(0 <= said["probability"] <= 1 for said in by_table)


def test_reasons_add_up_to_the_margin(client):
    frame, _ = table(5, seed=2)
    for said in client.predict(frame.to_dict("records"), explain=True):
        assert math.isclose(math.fsum(said["contributions"].values()), said["margin"], abs_tol=1e-12)


def test_labels_that_come_late(client):
    frame, labels = table(4, seed=3)
    frame["id"] = [f"late {k}" for k in range(4)]
    position = client.status()["health"]["position"]
    assert [said["id"] for said in client.predict(frame)] == list(frame["id"])
    assert client.labels(pd.Series(labels, index=frame["id"])) == {"joined": 4, "unknown": []}
    answer = client.labels({"late 0": labels[0], "late 1": "yes" if labels[1] == "no" else "no", "nobody": "no"})
    assert answer == {"joined": 0, "unknown": ["nobody"], "already": ["late 0"], "conflicting": ["late 1"]}
    assert client.status()["health"]["position"] == position + 4


def test_a_key_is_learned_once(client):
    frame, labels = table(3, seed=4)
    first = client.learn(frame, labels, key="2024-03-01")
    assert client.learn(frame, labels, key="2024-03-01") == first
    assert client.status()["health"]["position"] == first["position"]
    with pytest.raises(ServiceError) as caught:
        client.learn(frame[:1], labels[:1], key="2024-03-01")
    assert caught.value.status == 422


def test_a_row_that_is_wrong_is_named(client):
    position = client.status()["health"]["position"]
    with pytest.raises(ServiceError) as caught:
        client.learn([{"amount": 1}, {"amuont": 1}, {"amount": [1]}], ["no", "no", "no"])
    assert caught.value.status == 422
    assert [row["index"] for row in caught.value.rows] == [1, 2]
    assert "amuont" in str(caught.value)
    assert client.status()["health"]["position"] == position


def test_the_model_goes_out_and_in_again(client, tmp_path):
    frame, _ = table(30, seed=5)
    (tmp_path / "served.pater").write_bytes(client.model())
    model = pater.load(tmp_path / "served.pater")
    said = [each["label"] for each in client.predict(frame)]
    assert list(model.predict(frame)) == said
    version = client.status()["model"]["version"]
    assert client.swap((tmp_path / "served.pater").read_bytes())["model"]["version"] == version + 1
    assert [each["label"] for each in client.predict(frame)] == said
    with pytest.raises(ServiceError, match="HTTP 4"):
        client.swap(b"nothing of the kind")


def test_an_operating_point(client):
    frame, _ = table(100, seed=6)
    client.operating_point(threshold=1e9)
    assert {said["decision"] for said in client.predict(frame)} == {"no"}
    client.operating_point()
    assert {said["decision"] for said in client.predict(frame)} == {"no", "yes"}
    with pytest.raises(ServiceError, match="max_fpr"):
        client.operating_point(max_fpr=2)


def test_the_alerts_of_the_page_watch_figures_that_there_are(client):
    page = (Path(__file__).resolve().parents[2] / "docs" / "serve.md").read_text()
    frame, labels = table(2, seed=7)
    client.predict(frame.assign(id=["alert 0", "alert 1"]))
    client.labels({"alert 0": labels[0]})
    with urllib.request.urlopen(f"{client.url}/metrics") as answer:
        told = set(re.findall(r"^(pater_\w+)", answer.read().decode(), flags=re.MULTILINE))
    named = set(re.findall(r"\bpater_\w+", page))
    assert len(named) > 8
    assert named - told <= {"pater_snapshot_age_seconds", "pater_snapshot_behind_rows"}  # which come a minute later


@pytest.mark.slow
def test_tokens(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"predict {'p' * 20}\nlearn {'l' * 20}\n")
    tokens.chmod(0o600)
    with server(tmp_path / "state", "--tokens", str(tokens)) as url:
        for token, status in ((None, 401), ("wrong", 401), ("p" * 20, 403)):
            with Client(url, token, timeout=WAIT) as client, pytest.raises(ServiceError) as caught:
                client.learn([{"amount": 1}], ["no"])
            assert caught.value.status == status
        with Client(url, "l" * 20, timeout=WAIT) as client:
            assert client.learn([{"amount": 1}], ["no"]) == {"learned": 1, "position": 1}


@pytest.mark.slow
def test_a_client_learns_through_a_kill_and_each_row_once(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    client, n, answers = Client(f"http://127.0.0.1:{port}", timeout=WAIT), 1000, []

    def learn():
        answers.extend(client.learn({"amount": k}, ["yes" if k % 3 else "no"]) for k in range(n))

    thread = threading.Thread(target=learn)
    with server(tmp_path / "state", port=port):
        thread.start()
        end = time.monotonic() + WAIT
        while len(answers) < 200 and time.monotonic() < end:
            time.sleep(0.01)
    with server(tmp_path / "state", port=port):
        thread.join(300)
        assert [answer["position"] for answer in answers] == list(range(1, n + 1))
        assert client.status()["health"]["position"] == n
    client.close()
