"""How a stream is cut leaves no trace: the model file of a table is the same to the bit, row by row or all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pater.formats.columns import ENCODED, TEXT, Columns
from pater.formats.json_labels import labels_of
from pater.formats.json_rows import RowReader, index_rows
from pater.stream import InputError
from pater.stream.algorithms import specs_of
from pater.stream.beginning import Beginning
from pater.stream.encoder import new_encoder
from pater.stream.learner import Learner

NAMES = ("x", "z", "c", "d", "t")


def rows(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[int]]:
    """A table whose categories and words appear one by one, all along the stream."""
    rng = np.random.default_rng(seed)
    found, labels = [], []
    for i in range(n):
        c, x = int(rng.integers(0, 20 + i // 10)), float(rng.normal())
        z = float(rng.normal()) if rng.random() > 0.05 else None
        text = ("alpha beta", f"gamma w{i % 300} delta", "other")[i % 3]
        found.append({"x": x, "z": z if i % 50 else "none", "c": f"c{c}", "d": int(rng.integers(0, 8)), "t": text})
        labels.append(int(x + (c % 7 == 0) + rng.normal() > 1))
    return found, labels


def saved(path: Path, features: list[Any], labels: list[Any], cut: int, algo: str, **options: Any) -> bytes:
    columns = Columns(ENCODED, table=tuple((name, TEXT) for name in NAMES), label="label", numeric_labels=True)
    given = Beginning(algo=algo, options=options)._given
    learner = Learner(specs_of(algo, "balanced_accuracy", **given), columns, encoder=new_encoder(columns))
    learner.threads = 1
    assert learner.encoder is not None
    reader = RowReader(columns)
    pieces = []
    for start in range(0, len(features), cut):
        batch = reader.rows(features[start : start + cut], {})
        batch.labels = labels_of(labels[start : start + cut], True, {})
        pieces += learner.encoder.take(batch)
        while pieces:
            learner.learn(pieces.pop(0))
    for piece in learner.encoder.finish():
        learner.learn(piece)
    learner.save(path)
    return path.read_bytes()


@pytest.mark.slow
def test_cuts_leave_no_trace(tmp_path: Path) -> None:
    features, labels = rows(1100)
    wanted = saved(tmp_path / "m", features, labels, len(features), "auto")
    for cut in (1, 7, 1000):
        assert saved(tmp_path / "m", features, labels, cut, "auto") == wanted, cut


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algo", "n_classes", "options"),
    [
        ("auto", 2, {}),
        ("auto", 3, {}),
        ("wpater", 2, {"class_weight": {0: 1.0, 1: 4.0}}),
        ("arow", 2, {"probabilities": True}),
    ],
)
def test_cuts_of_a_longer_stream_leave_no_trace(
    tmp_path: Path, algo: str, n_classes: int, options: dict[str, Any]
) -> None:
    features, labels = rows(2500, 1)
    labels = [label + (n_classes == 3 and k % 11 == 5) for k, label in enumerate(labels)]
    wanted = saved(tmp_path / "m", features, labels, len(features), algo, **options)
    for cut in (1, 7, 1000):
        assert saved(tmp_path / "m", features, labels, cut, algo, **options) == wanted, cut


def test_nor_does_it_matter_when_the_second_class_comes(tmp_path: Path) -> None:
    features, labels = rows(1100)
    labels = [0 if k < 200 else label for k, label in enumerate(labels)]
    found = [saved(tmp_path / "m", features, labels, cut, "arow") for cut in (1100, 30, 1)]
    assert found[0] == found[1] == found[2]


@pytest.mark.first_quick
@pytest.mark.parametrize("width", [60, 400])
def test_nor_where_numbered_features_come_one_by_one(tmp_path: Path, width: int) -> None:
    """Candidates that cannot take more columns leave a pool at the row that brings these."""
    rng = np.random.default_rng(2)
    features, labels, weights = list[Any](), list[int](), list[float]()
    for k in range(600):
        indices = rng.choice(min(width, 3 + k), 3, replace=False)
        values = rng.normal(size=3)
        features.append([[int(j), float(x)] for j, x in zip(indices, values, strict=True)] if k % 40 else [])
        labels.append(int(values.sum() + rng.normal() > 0.5))
        weights.append(float(rng.random()) + 0.1)
    found = []
    for cut in (600, 50, 1):
        learner = Learner(specs_of("auto", "balanced_accuracy", **Beginning()._given), Columns(), threads=1)
        for start in range(0, 600, cut):
            some = slice(start, start + cut)
            batch = index_rows(features[some], 1 << 20, {})
            batch.labels, batch.weights = np.array(labels[some]), np.array(weights[some])
            learner.learn(batch)
        learner.save(tmp_path / "m")
        found.append((tmp_path / "m").read_bytes())
    assert found[0] == found[1] == found[2]


def test_an_error_in_a_part_of_a_batch_leaves_the_learner_as_it_was(tmp_path: Path) -> None:
    learner = Learner(specs_of("auto", "balanced_accuracy", **Beginning()._given), Columns(), threads=1)
    sound = index_rows([[[0, 1.0]], [[1, 2.0]]], 1 << 20, {})
    sound.labels = np.array([0, 1])
    learner.learn(sound)
    learner.save(tmp_path / "before")
    wrong = index_rows([[[0, 1.0]], [[300, 2.0]], [[1, 1e200]]], 1 << 20, {})
    wrong.labels = np.array([0, 1, 1])
    with pytest.raises(InputError, match="too large"):
        learner.learn(wrong)
    learner.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
