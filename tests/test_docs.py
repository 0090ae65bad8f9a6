"""Every Python or shell block of README and docs runs, one after the other, as a reader would type them."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pater
from pater import stream

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FEWER = {"pieces, n = 20, 100_000": "pieces, n = 2, 5_000", "(20, 4, 2, 1)": "(1,)"}  # rows and runs than for a reader
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """The blocks of a page that can be run: language (Python or shell), lines and, if given, their output."""
    pattern = r"^```(python|sh)\n(.*?)^```\n(?:\n^```text\n(.*?)^```)?"
    return re.findall(pattern, page.read_text(), flags=re.DOTALL | re.MULTILINE)


def blocks_of(page, library):
    """The Python blocks of a page that need a library, preceded by its first one, which makes the data."""
    own = re.findall(rf"^```python {library}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [next(block for language, block, _ in blocks(page) if language == "python"), *own]


def alike(printed, expected):
    """Whether the words are equal and the numbers nearly so: other processors round differently."""
    numbers = ([float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in (printed, expected))
    near = all(abs(a - b) <= 0.005 + 0.1 * max(abs(a), abs(b)) for a, b in zip(*numbers, strict=False))
    words = [" ".join(NUMBER.sub("0", text).split()) for text in (printed, expected)]
    return near and words[0] == words[1]


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """What a page assumes to be there: some data, in memory and in files, and a model."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] > 1).astype(int)
    parts = [(X[k : k + 200], y[k : k + 200]) for k in range(0, 600, 200)]
    pairs = list(zip(y, X, strict=True))
    indexed = [f"{label} " + " ".join(f"{j + 1}:{x:.4f}" for j, x in enumerate(row)) for label, row in pairs]
    (tmp_path / "rows.svm").write_text("\n".join(indexed) + "\n")
    named = [f"{label}," + ",".join(f"{x:.4f}" for x in row) for label, row in pairs]
    (tmp_path / "part-0.csv.gz").write_bytes(gzip.compress("\n".join(["churn,a,b,c", *named]).encode()))
    stream.train(tmp_path / "rows.svm", algo="pater-i", model=tmp_path / "rows.pater")
    return {"batches": parts, "shards": parts, "pater": pater, "PATERClassifier": pater.PATERClassifier}


@pytest.fixture
def shell(tmp_path):
    """Runs shell lines, with `pater` as a program. Servers whose process id is in a *.pid file are killed at last."""
    program = tmp_path / "bin" / "pater"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pater "$@"\n')
    program.chmod(0o755)
    (tmp_path / ".curlrc").write_text("fail-with-body\n")  # an error status makes curl fail
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "CURL_HOME": str(tmp_path), "PYTHONPATH": str(Path(pater.__file__).parents[1])}

    def run(lines):
        if "curl " in lines and shutil.which("curl") is None:
            pytest.skip("needs curl")
        done = subprocess.run(["bash", "-ec", lines], capture_output=True, text=True, timeout=600, env=env)
        assert done.returncode == 0, f"{lines}{done.stdout}{done.stderr}"
        return done.stdout

    yield run
    for started in tmp_path.glob("*.pid"):
        number = int(started.read_text())
        with contextlib.suppress(OSError):
            if b"pater" in Path(f"/proc/{number}/cmdline").read_bytes():  # and not another process by now
                os.kill(number, signal.SIGKILL)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


@pytest.mark.first_quick  # of README
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_what_a_page_says_runs(page, at_hand, shell, capsys, tmp_path):
    port = free_port()
    for number, (language, block, expected) in enumerate(blocks(page)):
        here = re.sub(r"\b8000\b", port, block)
        for many, few in FEWER.items():
            here = here.replace(many, few)
        if language == "python":
            capsys.readouterr()
            exec(compile(here, f"{page.name}, block {number + 1}", "exec"), at_hand)
            printed = capsys.readouterr().out
        else:
            printed = shell(here)
        assert not expected or alike(printed, expected), f"block {number + 1} prints\n{printed}"
    if page.name.startswith("tutorial"):  # makes the pictures that it shows
        for picture in re.findall(r"\]\(pictures/([^)]+)\)", page.read_text()):
            assert (tmp_path / picture).exists(), picture


def run_for(library, names, page="cluster.md"):
    for number, block in enumerate(blocks_of(ROOT / "docs" / page, library)):
        exec(compile(block, f"{page}, block {number} of {library}", "exec"), names)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_what_a_page_says_of_spark_runs(at_hand, spark):
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs  # Java has not moved to the folder
    files = hadoop.FileSystem.get(spark.sparkContext._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(hadoop.Path(str(Path.cwd())))
    try:
        run_for("pyspark", at_hand)
    finally:
        files.setWorkingDirectory(before)
    rows, model = pd.read_parquet("said-spark"), pater.load("fraud-spark.pater")
    assert model.steps[0][1].encoding_.rows == len(rows) == 4 * len(pd.read_parquet("rows-0.parquet"))
    assert (model.predict(rows.drop(columns=["fraud", "said"])) == rows["said"]).all()
    assert (rows["said"] == rows["fraud"]).mean() > 0.9


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_what_a_page_says_of_ray_runs(at_hand, monkeypatch):
    pytest.importorskip("ray", reason="needs Ray: pip install ray")
    monkeypatch.setenv("PYTHONPATH", str(Path(pater.__file__).parents[1]))
    run_for("ray", at_hand)
    assert at_hand["model"].t_ == 4 * len(pd.read_parquet("rows-0.parquet"))


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_what_a_page_says_of_mlflow_runs(at_hand):
    pytest.importorskip("mlflow", reason="needs MLflow: pip install mlflow-skinny")
    run_for("mlflow", at_hand, "mlflow.md")
    assert (at_hand["said"] == at_hand["model"].predict(at_hand["table"])).all()


def test_every_python_block_is_run_by_some_test():
    marks = {mark for page in PAGES for mark in re.findall(r"^```(python.+)$", page.read_text(), flags=re.MULTILINE)}
    assert marks == {"python mlflow", "python pyspark", "python ray"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith(("http", "mailto")):
            assert (page.parent / target).exists(), target
