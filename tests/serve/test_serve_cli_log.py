"""`pater log export | info | trim` as typed, also while a server uses the directory."""

from __future__ import annotations

import json

import pytest

from pater.cli import main
from pater.serve.rows.kinds import JSON
from pater.serve.store.state import opened
from pater.serve.store.writer import write_now


@pytest.fixture
def state(tmp_path):
    """A state directory with a server in it."""
    log, _ = opened(tmp_path / "state", settings={"algo": "pater-i", "options": {"C": 0.5}})
    for k in range(3):
        row = b'{"features":{"a":%d},"label":%d}\n' % (k, k % 2)
        write_now(log, lambda t, row=row: t.append(JSON, row, 1))
    write_now(log, lambda t: t.event("odd", {"name": "\x1b[31m<b>"}))
    yield tmp_path / "state"
    log.close()


def run(capfdbinary, *words):
    with pytest.raises(SystemExit) as leave:
        main([str(word) for word in words])
    out, err = capfdbinary.readouterr()
    return leave.value.code, out.decode(), err.decode()


def test_export(state, tmp_path, capfdbinary, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capfdbinary, "log", "export", "state")
    assert code == 0
    assert [json.loads(line)["features"]["a"] for line in out.splitlines()[1:]] == [0, 1, 2]
    assert "3 rows\n" in err
    assert "the same model: pater train log.jsonl --algo pater-i --aggressiveness 0.5 -m MODEL.pater\n" in err
    code, out, err = run(capfdbinary, "log", "export", "state", "-o", "some.jsonl", "--since", 2)
    assert (code, out) == (0, "")
    assert err == "1 rows\n"
    assert (tmp_path / "some.jsonl").read_text().splitlines()[1:] == ['{"features":{"a":2},"label":0}']


def test_info(state, capfdbinary):
    code, out, _ = run(capfdbinary, "log", "info", state)
    assert code == 0
    assert "rows: 3\n" in out
    assert "\x1b" not in out
    code, out, _ = run(capfdbinary, "log", "info", state, "--json")
    told = json.loads(out)
    assert told["rows"] == 3
    assert told["train"].startswith("pater train log.jsonl --algo pater-i")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["export", "nowhere"], 1, "it is not a state directory of a service"),
        (["export", "state", "-o", "state/log.sqlite"], 2, "is in the state directory"),
        (["export", "state", "-o", "nowhere/x"], 1, "nowhere/x: cannot be written: No such file"),
        (["export", "state", "--since", "-1"], 2, "--since"),
        (["info", "file"], 1, "it is not a state directory"),
        (["trim", "state"], 2, "confirm with --before-snapshot"),
        (["trim", "state", "--before-snapshot"], 1, "is at work in it"),
        (["trim", "nowhere", "--before-snapshot"], 1, "it is not a state directory"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(state, tmp_path, capfdbinary, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    found, out, err = run(capfdbinary, "log", *words)
    assert (found, out) == (code, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "nowhere").exists()
