"""One stream of the drift study: judged before learning, counted by window, the same as from the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.study import Plan
from pater.study.drift import prequential, streams, unit
from pater.study.drift.learners import AUTO, NO_MEMORY, SETTINGS, plan_of_drift
from pater.study.drift.streams import Stream

STREAM = Stream("abrupt", 0.1)

SAME = {
    "SO-PATER-I r 30 forgetting 1": SecondOrderPATERClassifier(),
    "SO-PATER-I r 3 forgetting 0.99": SecondOrderPATERClassifier(r=3, forgetting=0.99),
    "balanced AROW r 10 forgetting 0.999": AROWClassifier(10, class_weight="balanced", forgetting=0.999),
    "PATER-II forgetting 0.99": PATERClassifier("II", forgetting=0.99),
}


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    return streams.rows_of(STREAM, 1, 0, 1500)


class _Recorder:
    """A model that counts the rows it has learned from."""

    def __init__(self) -> None:
        self.learned = 0

    def partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        self.learned += len(X)

    def predict(self, X: Any) -> Any:
        assert self.learned == X[0, 0]  # everything before is learned, and nothing of this chunk
        return np.ones(len(X))


def test_each_row_is_judged_before_it_is_learned_from() -> None:
    X = np.arange(25.0)[:, None]
    says = prequential.answers(_Recorder(), X, np.zeros(25, dtype=np.int64))
    assert says.tolist() == [False] * 10 + [True] * 15


def test_windows_count_what_was_known() -> None:
    y = np.array([1, 0, 0, 1, 1, 0, 0])
    says = np.array([1, 0, 1, 1, 0, 0, 0], dtype=bool)
    assert list(unit.windows(says, y, 3)) == [(3, 1, 2, 1, 1), (6, 2, 1, 1, 1), (7, 0, 1, 0, 1)]
    assert prequential.balanced_accuracy(says, y) == pytest.approx(50 * (2 / 3 + 3 / 4))


@pytest.mark.parametrize("name", SAME)
def test_a_setting_says_what_its_estimator_would(rows: tuple[Any, Any], name: str) -> None:
    X, y = rows
    said = unit._answers([SETTINGS[name]], X, y)[name]
    assert np.array_equal(said[1:], prequential.answers(SAME[name], X, y, chunk=1)[1:])


def test_auto_is_as_shipped_or_remembers_everything(rows: tuple[Any, Any]) -> None:
    X, y = rows
    said = unit._answers([SETTINGS[AUTO], SETTINGS[NO_MEMORY]], X, y)
    assert np.array_equal(said[AUTO], prequential.answers(AutoPATERClassifier(), X, y))
    assert np.array_equal(said[NO_MEMORY], prequential.answers(AutoPATERClassifier(forgetting=1.0), X, y))


def test_a_unit_has_every_setting_in_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "rows_of", lambda stream, seed, run: streams.rows_of(stream, seed, run, 3000))
    plan = plan_of_drift(Plan((), runs=10, seed=5))
    outcome = unit.run_unit(STREAM, 2, plan)
    assert plan.runs == 5
    assert len(outcome.rows) == 2 * len(SETTINGS)
    assert {row[1] for row in outcome.rows} == set(SETTINGS)
    assert all(len(row) == len(unit.COLUMNS["rows"]) for row in outcome.rows)
    [(key, run, n_rows, positives, _, lines)] = outcome.units
    assert (key, run, n_rows, lines) == ("abrupt-10", 2, 3000, len(outcome.rows))
    assert all(sum(row[4] for row in outcome.rows if row[1] == name) == positives for name in SETTINGS)


def test_names_go_into_csv() -> None:
    assert not any("," in name for name in SETTINGS)
