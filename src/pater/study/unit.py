"""One run of 2-fold cross-validation on one data set, the unit that the study repeats.

Knows the protocol; writes nothing. Except for the seconds it took, a unit is a pure function of the data, the run's
number and the plan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pater.data import DataSet
from pater.kernels.rules import RULES
from pater.models import matrices as batch
from pater.models import metrics

from .folds import Fold, folds
from .plan import NOT_COMPARABLE, UNWEIGHTED, WITH_CURVES, Model, Plan
from .readings import NO_INTERCEPT, READINGS, learn_by
from .training import train, train_warm

CURVE_POINTS = 100

SCORES = {
    "accuracy": metrics.accuracy,
    "balanced_accuracy": metrics.balanced_accuracy,
    "fpr": metrics.false_positive_rate,
    "fnr": metrics.false_negative_rate,
    "ter": metrics.total_error_rate,
}

_MODEL = ("data_set", "algorithm", "alpha_neg", "alpha_pos", "run", "fold")
COLUMNS = {
    "rows": (*_MODEL, *SCORES, "train_seconds", "updates"),
    "progress": (*_MODEL, "seen", "correct"),
    "readings": (*_MODEL, "reading", "accuracy"),
    "units": ("data_set", "run", "instances", "features", "positives", "negatives", "seconds", "lines"),
}
"""The files of a study. `units` has a line for each finished unit, which says how many lines it has in the others."""

Line = tuple[Any, ...]


@dataclass
class Outcome:
    """The lines that a unit adds to the files."""

    rows: list[Line] = field(default_factory=list)
    progress: list[Line] = field(default_factory=list)
    readings: list[Line] = field(default_factory=list)
    units: list[Line] = field(default_factory=list)


def run_unit(data: DataSet, run: int, plan: Plan) -> Outcome:
    """Run all models of the plan on both folds of one run."""
    started = time.perf_counter()
    outcome = Outcome()
    for number, fold in enumerate(folds(data, plan.seed, run)):
        _run_models(outcome, data.key, run, number, fold, plan.models)
        if data.key not in NOT_COMPARABLE:
            _run_readings(outcome, data.key, run, number, fold, plan.models)
    lines = len(outcome.rows) + len(outcome.progress) + len(outcome.readings)
    positives = int(np.count_nonzero(data.y > 0))
    shape = (*data.X.shape, positives, len(data.y) - positives)
    outcome.units.append((data.key, run, *shape, time.perf_counter() - started, lines))
    return outcome


def _run_models(outcome: Outcome, key: str, run: int, number: int, fold: Fold, models: list[Model]) -> None:
    rows, n_features = batch.rows_of(fold.X_train), fold.X_train.shape[1]
    trained = [train_warm(rows, fold.train_codes, model, n_features) for model in models]
    verdicts = _predictions(fold, [(one.w, one.bias) for one in trained])
    points = CURVE_POINTS if run == 0 and key in WITH_CURVES else 1
    for model, one, scores in zip(models, trained, scores_of(verdicts, fold.test_codes == 1), strict=True):
        name = (key, model.algorithm, model.alpha_neg, model.alpha_pos, run, number)
        outcome.rows.append((*name, *scores, one.seconds, one.updates))
        outcome.progress += [(*name, *point) for point in _progress(one.margins, fold.train_codes, points)]


def _predictions(fold: Fold, learned: list[tuple[NDArray[np.float64], float]]) -> NDArray[np.bool_]:
    """Whether f(x) ≥ 0, (models, test rows)."""
    weights, biases = zip(*learned, strict=True)
    with np.errstate(invalid="ignore", over="ignore"):  # the pseudo-code as printed may diverge
        margins = np.array(weights) @ fold.X_test.T
        margins += np.array(biases)[:, None]
    return np.asarray(margins >= 0)


def scores_of(verdicts: NDArray[np.bool_], positive: NDArray[np.bool_]) -> list[list[float]]:
    """The `SCORES` of each model."""
    tp, fp = verdicts[:, positive].sum(axis=1), verdicts[:, ~positive].sum(axis=1)
    n_pos, n_neg = np.count_nonzero(positive), np.count_nonzero(~positive)
    confusion = metrics.Confusion(tp, fp, n_neg - fp, n_pos - tp)
    return list(np.transpose([score(confusion) for score in SCORES.values()]).tolist())


def _progress(margins: NDArray[np.float64], codes: NDArray[np.int64], points: int) -> Iterator[tuple[int, int]]:
    """How many of the first `seen` rows were predicted correctly before learning from them."""
    correct = np.cumsum((margins >= 0) == (codes == 1))
    for point in range(1, points + 1):
        seen = len(codes) * point // points
        yield seen, int(correct[seen - 1])


def _run_readings(outcome: Outcome, key: str, run: int, number: int, fold: Fold, models: list[Model]) -> None:
    rows = batch.rows_of(fold.X_train)
    read = list(_other_readings(models))
    learned = []
    for reading, model in read:
        if reading == NO_INTERCEPT:
            one = train(rows, fold.train_codes, model, fold.X_train.shape[1], intercept=False)
            learned.append((one.w, one.bias))
        else:
            way, alphas = READINGS[reading], (model.alpha_neg, model.alpha_pos)
            learned.append(learn_by(*way, model.rule == "pater-ii", *alphas, *rows, fold.train_codes))
    right = _predictions(fold, learned) == (fold.test_codes == 1)
    for (reading, model), accuracy in zip(read, right.mean(axis=1).tolist(), strict=True):
        name = (key, model.algorithm, model.alpha_neg, model.alpha_pos, run, number)
        outcome.readings.append((*name, reading, accuracy))


def _other_readings(models: list[Model]) -> Iterator[tuple[str, Model]]:
    """Every reading but that of the package's passes; those between the two extremes only without weights."""
    for model in models:
        if RULES[model.rule].moves_along_means:
            yield "as printed", model
        if model.algorithm not in UNWEIGHTED:
            yield NO_INTERCEPT, model
    for model in models:
        if model.algorithm == "PATER-I":
            yield "clipped", model
        if model.algorithm == "PATER-II":
            yield "clipped and passive", model
