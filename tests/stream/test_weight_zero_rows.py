"""Rows of weight 0 in files count as absent, to the byte of the model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pater import stream
from pater.formats.errors import Skipped
from pater.formats.reading import make_input
from pater.serve.served_learner import Served
from pater.stream.evaluation import judge, judge_progressively
from pater.stream.learner import Learner
from pater.stream.prediction_quality import Judged

rng = np.random.default_rng(4)
N = 1400
X = rng.normal(size=(N, 4))
LABELS = (X[:, 0] + 0.5 * rng.normal(size=N) > 0.7).astype(int)
WEIGHTS = rng.choice([0.0, 0.5, 2.0], size=N)
KEPT = WEIGHTS > 0
LABELS[~KEPT] = rng.integers(2, 500, size=N)[~KEPT]  # so many that they would be an error
X[~KEPT] *= 1e5


def as_table(path: Path, rows: np.ndarray[Any, Any]) -> Path:
    lines = (
        ",".join([*map(repr, X[k].tolist()), "xyz"[k % 3] if KEPT[k] else "never", str(LABELS[k]), str(WEIGHTS[k])])
        for k in rows
    )
    path.write_text("\n".join(["a,b,c,d,text,y,w", *lines]) + "\n")
    return path


def as_vw(path: Path, rows: np.ndarray[Any, Any]) -> Path:
    lines = (
        f"{LABELS[k]} {WEIGHTS[k]} | " + " ".join(f"f{j}:{x!r}" for j, x in enumerate(X[k].tolist())) for k in rows
    )
    path.write_text("\n".join(lines) + "\n")
    return path


ALL, SOME = np.arange(N), np.flatnonzero(KEPT)
OF_TABLE: dict[str, Any] = {"label": "y", "weight": "w"}
RUNS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "encoded": (as_table, "rows.csv", {**OF_TABLE, "algo": "auto", "probability": True}),
    "hashed": (
        as_table,
        "rows.csv",
        {**OF_TABLE, "algo": "arow", "covariance": "diagonal", "bits": 8, "drop": ["text"]},
    ),
    "scaled": (
        as_table,
        "rows.csv",
        {**OF_TABLE, "algo": "pater-ii", "scale": True, "drop": ["text"], "average": True},
    ),
    "point": (as_table, "rows.csv", {**OF_TABLE, "algo": "pater-i", "operating_point": {"max_fpr": 0.1}}),
    "vw": (as_vw, "rows.vw", {"algo": "wpater", "bits": 8}),
}


@pytest.mark.parametrize("run", RUNS)
def test_training(run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write, name, options = RUNS[run]
    written, files = [], []
    for rows in (ALL, SOME):
        judged = Judged()
        learner = stream.train(write(Path(name), rows), model="model.pater", judged=judged, **options)
        assert learner.rows == len(SOME)
        written.append(judged.result())
        stream.train(name, model="model.pater", passes=2, **options)
        files.append(Path("model.pater").read_bytes())
    assert files[0] == files[1]
    assert written[0] == written[1]


def test_columns_of_numbers_that_only_they_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = list(stream.read(as_vw(tmp_path / "rows.vw", ALL[:200]), bits=8))
    learner = Learner(stream.train(tmp_path / "rows.vw", algo="pa", bits=8).specs)
    for batch in batches:
        indptr, indices, data = batch.rows
        wide = np.repeat(batch.weights == 0, np.diff(indptr.astype(int)))
        batch.rows = indptr, np.where(wide, indices + 100_000, indices).astype(np.uint32), data
        batch.n_features = 200_000
        learner.learn(batch)
    assert learner.n_features <= 256
    assert learner.model is not None
    assert learner.model.n_features == 1024


@pytest.mark.parametrize("delay", [0, 50])
def test_evaluation(delay: int, tmp_path: Path) -> None:
    told = []
    saved = tmp_path / "model.pater"
    stream.train(
        as_table(tmp_path / "rows.csv", SOME), model=saved, algo="pater-i", encoding="plain", bits=8, **OF_TABLE
    )
    for rows in (ALL, SOME):
        source = make_input(as_table(tmp_path / "rows.csv", rows), bits=8, **OF_TABLE)
        learner = Learner(stream.load(saved).specs, source.describe())
        told.append(judge_progressively(learner, source.batches(), Skipped(), delay=delay).result())
        told.append(judge(stream.load(saved), source.batches(), Skipped()).result())
    assert told[0] == told[2]
    assert told[1] == told[3]


def test_a_service_counts_them_no_more_than_it_learns_from_them(tmp_path: Path) -> None:
    source = make_input(as_table(tmp_path / "rows.csv", ALL), encoded=True, **OF_TABLE)
    plain = stream.train(as_table(tmp_path / "some.csv", SOME), algo="pater-i", **OF_TABLE)
    from pater.stream.encoder import new_encoder

    served = Served(Learner(plain.specs, source.describe(), encoder=new_encoder(source.describe())))
    for batch in source.batches():
        served.learn(batch)
    assert served.rows == len(SOME)
