"""A unit: what is learned, counted and timed on the two folds of a run."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pater.data import DataError, DataSet, load
from pater.kernels import run as passes
from pater.reference import first_order as reference
from pater.study.folds import folds
from pater.study.plan import MODELS, Model, Plan
from pater.study.training import train
from pater.study.unit import COLUMNS, CURVE_POINTS, run_unit

REFERENCE = {
    "PE": lambda X, y, alpha: reference.perceptron(X, y),
    "PA": lambda X, y, alpha: reference.pa(X, y),
    "PATER-I": lambda X, y, alpha: reference.pater(X, y, "I"),
    "PATER-II": lambda X, y, alpha: reference.pater(X, y, "II"),
    "wPATER-I": lambda X, y, alpha: reference.pater(X, y, "I", alpha=alpha),
    "wPATER-II": lambda X, y, alpha: reference.pater(X, y, "II", alpha=alpha),
}


@pytest.fixture(scope="module")
def boards() -> DataSet:
    return load("tic-tac-toe")


def _frames(data: DataSet, run: int = 0, **plan: Any) -> dict[str, pd.DataFrame]:
    outcome = run_unit(data, run, Plan((data.key,), **plan))
    return {name: pd.DataFrame(getattr(outcome, name), columns=columns) for name, columns in COLUMNS.items()}


def test_there_is_a_row_for_each_model_and_fold(boards: DataSet) -> None:
    rows = _frames(boards)["rows"]
    assert len(MODELS) == 28
    for fold in (0, 1):
        of_fold = rows[rows["fold"] == fold]
        assert list(zip(of_fold["algorithm"], of_fold["alpha_neg"], of_fold["alpha_pos"], strict=True)) == [
            (model.algorithm, model.alpha_neg, model.alpha_pos) for model in MODELS
        ]
    assert (rows["train_seconds"] > 0).all()
    assert (rows["updates"] > 0).all()


def test_rows_are_what_the_paper_transcribed_gives(boards: DataSet) -> None:
    frames = _frames(boards, run=3, seed=5)
    for number, fold in enumerate(folds(boards, seed=5, run=3)):
        X, y = np.column_stack([fold.X_train, np.ones(len(fold.X_train))]), 2 * fold.train_codes - 1
        X_test, positive = np.column_stack([fold.X_test, np.ones(len(fold.X_test))]), fold.test_codes == 1
        for model in (*MODELS[:5], MODELS[-1]):
            weights = REFERENCE[model.algorithm](X, y, (model.alpha_neg, model.alpha_pos))
            says = X_test @ weights[-1] >= 0
            before = np.vstack([np.zeros(X.shape[1]), weights[:-1]])
            right_so_far = ((before * X).sum(axis=1) >= 0) == (y > 0)
            [row] = _of(frames["rows"], model, number)
            [progress] = _of(frames["progress"], model, number)
            assert row["accuracy"] == pytest.approx(np.mean(says == positive))
            assert row["fpr"] == pytest.approx(np.mean(says[~positive]))
            assert row["fnr"] == pytest.approx(np.mean(~says[positive]))
            assert row["ter"] == pytest.approx(row["fpr"] + row["fnr"])
            assert row["balanced_accuracy"] == pytest.approx(1 - row["ter"] / 2)
            assert (progress["seen"], progress["correct"]) == (len(X), right_so_far.sum())


def _of(table: pd.DataFrame, model: Model, fold: int) -> list[dict[str, Any]]:
    same = (table["algorithm"] == model.algorithm) & (table["fold"] == fold)
    same &= (table["alpha_neg"] == model.alpha_neg) & (table["alpha_pos"] == model.alpha_pos)
    return list(table[same].to_dict("records"))


def test_a_plan_of_some_algorithms_gives_the_same_rows_of_them(boards: DataSet) -> None:
    columns = [name for name in COLUMNS["rows"] if name != "train_seconds"]
    every, some = _frames(boards)["rows"], _frames(boards, algorithms=("PA", "wPATER-II"))["rows"]
    expected = every[every["algorithm"].isin(["PA", "wPATER-II"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(some[columns], expected[columns])


def test_large_sets_have_a_curve_in_the_first_run_only() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(500) < 0.4, 1, -1).astype(np.int8)
    data = DataSet("mushroom", "", rng.normal(size=(500, 3)), y, ("a", "b", "c"), "")
    assert len(_frames(data, run=0, algorithms=("PE",))["progress"]) == 2 * CURVE_POINTS
    assert len(_frames(data, run=1, algorithms=("PE",))["progress"]) == 2


def test_a_row_that_is_not_finite_is_an_error_not_a_number() -> None:
    with pytest.raises(DataError, match="row 1"):
        train((np.array([[1.0], [np.nan]]),), np.array([0, 1]), Model("PE", "perceptron"), 1)


def _busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.mark.slow
def test_no_second_holds_a_compilation(boards: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with an empty cache: the first to call a pass with a rule has to wait."""
    learn, known = passes.learn, set()

    def slow_at_first(rows: Any, codes: Any, state: Any, settings: Any, **more: Any) -> int:
        kind = (len(rows), state.n_features, settings.tobytes())
        if kind not in known:
            known.add(kind)
            _busy(0.02)
        return learn(rows, codes, state, settings, **more)

    monkeypatch.setattr(passes, "learn", slow_at_first)
    rows = _frames(boards)["rows"]
    assert len(known) >= len(MODELS)
    assert rows["train_seconds"].max() < 0.015


def test_no_second_holds_a_pause(boards: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when Python collects garbage in the middle of a pass."""
    learn, calls = passes.learn, itertools.count()

    def slow_at_times(*arguments: Any, **more: Any) -> int:
        if next(calls) % 3 == 1:
            _busy(0.02)
        return learn(*arguments, **more)

    monkeypatch.setattr(passes, "learn", slow_at_times)
    assert _frames(boards, algorithms=("PE", "PATER-I"))["rows"]["train_seconds"].max() < 0.015
