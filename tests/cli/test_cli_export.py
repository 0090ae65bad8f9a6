"""`pater export`: JSON, SQL and ONNX from a model file, and errors for what cannot be exported."""

from __future__ import annotations

import json
import sqlite3
import sys
import types

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from pater import stream
from pater.export.score import Scorer
from pater.onnx import feed


@pytest.fixture
def model(tmp_path, run):
    """A model of a small table, and the table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"id": np.arange(400), "amount": rng.lognormal(3, 1, 400), "land": rng.choice(["de", "fr"], 400)}
    )
    table["label"] = np.where(table["amount"] + 20 * (table["land"] == "fr") > 50, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    command = [
        "train",
        str(tmp_path / "t.csv"),
        "-m",
        str(tmp_path / "t.pater"),
        "--drop",
        "id",
        "--algo",
        "pater-i",
        "-q",
    ]
    assert run(*command).code == 0
    assert (
        run("predict", str(tmp_path / "t.pater"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "said.csv")).code == 0
    )
    return tmp_path / "t.pater", table, pd.read_csv(tmp_path / "said.csv")["label"].tolist()


def test_json(model, run, tmp_path):
    path, table, said = model
    done = run("export", str(path))
    assert (done.code, done.err) == (0, "")
    scorer = Scorer(json.loads(done.out))
    rows = table[["amount", "land"]].to_dict("records")
    assert [scorer.label(scorer.margins(row)) for row in rows] == said
    for name in ("t.json", "t"):
        assert run("export", str(path), "-o", str(tmp_path / name)).code == 0
        assert (tmp_path / name).read_text() == done.out


def test_sql(model, run, tmp_path):
    path, table, said = model
    assert run("export", str(path), "-o", str(tmp_path / "t.sql"), "--table", "a table", "--key", "id").code == 0
    with sqlite3.connect(":memory:") as connection:
        table.to_sql("a table", connection, index=False)
        found = pd.read_sql((tmp_path / "t.sql").read_text(), connection)
    assert found["id"].tolist() == table["id"].tolist()
    assert found["predicted"].tolist() == said
    other = run("export", str(path), "--to", "sql", "--dialect", "duckdb")
    assert other.code == 0
    assert "TRY_CAST" in other.out


def test_onnx(model, run, tmp_path):
    path, table, said = model
    assert run("export", str(path), "-o", str(tmp_path / "t.onnx")).code == 0
    session = onnxruntime.InferenceSession(tmp_path / "t.onnx", providers=["CPUExecutionProvider"])
    learner = stream.load(path)
    rows = table[learner.encoder.encoding.names]
    assert session.run(["label"], feed(learner, rows))[0].tolist() == said


def test_onnx_comes_with_its_extra(model, run, tmp_path, monkeypatch):
    path, _, _ = model
    for name in [name for name in sys.modules if name.startswith("pater.onnx")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = run("export", str(path), "-o", str(tmp_path / "t.onnx"))
    assert done.code == 1
    assert done.err.startswith("pater: pater.onnx needs the package onnx")
    assert done.err.endswith('pip install "pater[onnx]".\n')
    assert not (tmp_path / "t.onnx").exists()
    made = types.SimpleNamespace(SerializeToString=lambda: b"\x00onnx")
    monkeypatch.setitem(sys.modules, "pater.onnx", types.SimpleNamespace(to_onnx=lambda learner: made))
    assert run("export", str(path), "-o", str(tmp_path / "t.onnx")).code == 0
    assert (tmp_path / "t.onnx").read_bytes() == b"\x00onnx"

    def refuse(learner):
        raise ValueError("ONNX has no type for these labels.")

    monkeypatch.setitem(sys.modules, "pater.onnx", types.SimpleNamespace(to_onnx=refuse))
    done = run("export", str(path), "-o", str(tmp_path / "t.onnx"))
    assert (done.code, done.err) == (1, f"pater: {path}: ONNX has no type for these labels.\n")
    done = run("export", str(path), "--to", "onnx")
    assert (done.code, done.err) == (2, "pater: ONNX must be written to a file: name it with --output.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "xml"], "--to must be json, sql or onnx, got 'xml'."),
        (["--table", "t"], "--table needs --to sql."),
        (["--to", "json", "--key", "id"], "--key needs --to sql."),
        (["--to", "sql", "--dialect", "oracle"], "there is no dialect 'oracle'; choose from sqlite, duckdb."),
        (["--to", "sql", "--key", "id", "--key", "id"], "a key is named twice: ['id', 'id']."),
        (["--to", "sql", "--key", "Margin"], "the key 'Margin' has the same name as an answer"),
        (["-o", "model.xyz"], "model.xyz does not end in .json, .sql or .onnx: give --to json, sql or onnx."),
        (["-o", "no/such/folder/t.json"], "cannot be written: No such file or directory."),
    ],
)
def test_what_is_wrong_is_one_line(model, run, arguments, said):
    done = run("export", str(model[0]), *arguments)
    assert done.code in (1, 2)
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_the_model_is_not_written_over(model, run):
    path, _, _ = model
    before = path.read_bytes()
    done = run("export", str(path), "--to", "json", "-o", str(path))
    assert done.code == 1
    assert "it is also read, as" in done.err
    assert path.read_bytes() == before


def test_no_model_is_one_line(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1,2\n")
    done = run("export", str(tmp_path / "t.csv"))
    assert done.code == 1
    assert "t.csv" in done.err
    assert done.err.count("\n") == 1
