"""A learner of batches: its inputs stay unchanged, and what it refuses leaves no trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pater.kernels import state
from pater.stream import Batch, InputError, Learner, read, train
from pater.stream.algorithms import specs_of
from pater.stream.learner import load


def dense_batch(n: int = 40, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 5.0, size=(n, 4))
    return Batch((X,), 4, np.where(X[:, 0] > 3.0, 1, -1), lines=np.arange(1, n + 1))


def sparse_batch(n: int = 40, seed: int = 0, width: int = 6) -> Batch:
    rng = np.random.default_rng(seed)
    indices = np.sort(rng.permuted(np.tile(np.arange(width, dtype=np.uint32), (n, 1)), axis=1)[:, :3], axis=1).ravel()
    indptr = np.arange(0, 3 * n + 1, 3, dtype=np.uint32)
    return Batch(
        (indptr, indices, rng.normal(2.0, 3.0, size=3 * n)),
        width,
        np.where(rng.random(n) > 0.5, 1, -1),
        lines=np.arange(1, n + 1),
    )


BATCHES = [dense_batch, sparse_batch]


def everything(learner: Learner) -> list[Any]:
    """Everything that makes up a learner, to the bit."""
    model, scaler = learner.model, learner.scaler
    told: list[Any] = [learner.rows, learner.skipped, learner.missing, learner.n_features]
    if model is not None:
        told += [model.classes.tolist(), model.state.vectors.tobytes(), model.state.scalars.tobytes()]
        told += [model.state.n_features]
    if scaler is not None:
        told += [scaler.rows, scaler.count.tobytes(), scaler.mean.tobytes(), scaler.square.tobytes()]
    return told


@pytest.mark.parametrize("batch_of", BATCHES)
@pytest.mark.parametrize("algo", ["pater-i", "auto"])
def test_scaling_leaves_the_batch_as_it_is(batch_of: Any, algo: str) -> None:
    batch = batch_of()
    before, rows = [array.copy() for array in batch.rows], batch.rows[-1]
    learner = Learner(specs_of(algo), scale=True)
    learner.learn(batch)
    learner.margins(batch)
    assert batch.rows[-1] is rows
    assert all(np.array_equal(a, b) for a, b in zip(batch.rows, before, strict=True))
    again = Learner(specs_of(algo), scale=True)
    for _ in range(2):
        again.learn(batch_of())
    learner.learn(batch)
    assert everything(learner) == everything(again)


def too_large(batch: Batch) -> Batch:
    batch.rows[-1].reshape(-1)[-1] = np.inf
    return batch


def of_text(batch: Batch) -> Batch:
    batch.labels = np.array(["a"] * len(batch))
    return batch


def too_few_labels(batch: Batch) -> Batch:
    assert batch.labels is not None
    batch.labels = batch.labels[:-1]
    return batch


def of_an_unknown_class(batch: Batch) -> Batch:
    assert batch.labels is not None
    batch.labels[-1] = 7
    return batch


@pytest.mark.parametrize("spoil", [too_large, of_text, too_few_labels, of_an_unknown_class])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("at", [(), (50, 60)])
def test_what_is_refused_leaves_no_trace(spoil: Any, scale: bool, at: tuple[int, ...]) -> None:
    learner = Learner(specs_of("pater-i"), scale=scale)
    learner.learn(sparse_batch())
    assert learner.model is not None
    learner.model.fixed = True
    before = everything(learner)
    with pytest.raises(InputError):
        learner.learn(spoil(sparse_batch(seed=1, width=5000)), at=at)
    assert everything(learner) == before
    learner.learn(sparse_batch(seed=2), at=at)
    never = Learner(specs_of("pater-i"), scale=scale)
    never.learn(sparse_batch())
    assert never.model is not None
    never.model.fixed = True
    never.learn(sparse_batch(seed=2), at=at)
    assert everything(learner) == everything(never)


def test_a_first_batch_that_is_refused_leaves_no_trace() -> None:
    learner = Learner(specs_of("pater-i"), scale=True)
    with pytest.raises(InputError, match="line 40"):
        learner.learn(too_large(sparse_batch()))
    assert learner.model is None
    assert learner.scaler is None


def test_a_row_that_is_skipped_is_not_in_the_scaler() -> None:
    learner, never = (Learner(specs_of("pater-i"), scale=True, skip=True) for _ in range(2))
    (fault,) = learner.learn(too_large(sparse_batch()))
    assert fault.line == 40
    good = sparse_batch()
    good.take(np.arange(40) < 39)
    never.learn(good)
    assert learner.skipped == 1
    learner.skipped = 0
    assert everything(learner) == everything(never)


def test_a_class_that_there_is_no_room_for_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LARGEST_TRIANGLES", 8 * 28 * 2)  # room for two models of six columns
    learner = Learner(specs_of("arow"), scale=True)
    learner.learn(sparse_batch())
    before = everything(learner)
    with pytest.raises(InputError, match="diagonal"):
        learner.learn(of_an_unknown_class(sparse_batch(seed=1)), at=(50, 60))
    assert everything(learner) == before


@pytest.mark.parametrize("sparse", [True, False])
def test_numbers_that_cannot_be_squared_are_refused_before_they_are_scaled(sparse: bool, tmp_path: Path) -> None:
    lines = ["1 1:1 2:2", "0 1:2 2:1e308", "1 1:3 2:-1e200", "0 1:4 2:1"]
    table = ["y,a,b", "1,1,2", "0,2,1e308", "1,3,-1e200", "0,4,1"]
    path = tmp_path / ("rows.svm" if sparse else "rows.csv")
    path.write_text("\n".join(lines if sparse else table) + "\n")
    options: dict[str, Any] = {"algo": "pater-i", "scale": True, "model": tmp_path / "model"}
    with pytest.raises(InputError, match="too large to square"):
        train(path, **options)
    learner = train(path, on_error="skip", **options)
    assert (learner.rows, learner.skipped) == (2, 2)
    assert load(tmp_path / "model").rows == 2


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_missing_values_are_not_taken_for_zeros_by_one_who_scales(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(5.0, 1.0, (400, 2)).round(3)
    X[rng.random(X.shape) < 0.2] = np.nan
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(y=(rng.random(400) < 0.3).astype(int))
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_json(path, orient="records", lines=True)
    learner = train(path, label="y", algo="pater-i", scale=True, encoding="plain", model=tmp_path / "a.pater")
    assert learner.scaler is not None
    (zeroed,) = read(path, columns=learner.columns)
    for use in (learner.margins, learner.learn):
        with pytest.raises(InputError, match=r"values are missing and were read as 0.*keep_missing=True"):
            use(zeroed)
    (kept,) = read(path, columns=learner.columns, keep_missing=True)
    filled = replace(zeroed, rows=(np.where(np.isnan(X), learner.scaler.mean, X),), zeroed=False)
    np.testing.assert_allclose(learner.margins(kept), learner.margins(filled), atol=1e-12)
