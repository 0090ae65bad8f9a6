"""One run of 2-fold cross-validation on one data set, by all learners and batch solutions.

Knows the protocol; writes nothing. Except for the seconds it took, a unit is a pure function of the data, the run's
number and the seed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from pater.data import DataSet
from pater.models import metrics, search
from pater.models.settings import SETTINGS
from pater.models.spec import Spec

from ..folds import Fold, folds
from ..plan import Plan
from ..runner import Work
from ..unit import SCORES, Line, scores_of
from .gradient import Descent, descend
from .learners import LEARNERS, OF_TABLES, Learner, Shipped, is_full
from .lines import batch_solutions
from .span import in_own_span

COLUMNS = {
    "rows": ("data_set", "algorithm", "alpha_neg", "alpha_pos", "r", "run", "fold", *SCORES, "auc", "train_seconds"),
    "units": ("data_set", "run", "instances", "features", "positives", "negatives", "seconds", "lines"),
}
"""The files of this part of the study. α⁻, α⁺ and r are those of the setting chosen in the pass, and the seconds are
the processor's for learning, with all settings to choose from."""

CLASSES = np.array([0, 1])
WARMING = 32  # rows that a learner sees before it is timed


@dataclass
class PeerOutcome:
    """The lines that a unit adds to the files."""

    rows: list[Line] = field(default_factory=list)
    units: list[Line] = field(default_factory=list)


class Learned(NamedTuple):
    """The margins of the test rows after one pass, the (α⁻, α⁺, r) chosen, and how long it took."""

    margins: NDArray[np.float64]
    setting: tuple[Any, Any, Any]
    seconds: float


def run_unit(data: DataSet, run: int, plan: Plan) -> PeerOutcome:
    """Run everyone on both folds of one run."""
    started = time.perf_counter()
    outcome = PeerOutcome()
    for number, fold in enumerate(folds(data, plan.seed, run)):
        positive, learned = fold.test_codes == 1, everyone(fold)
        scores = scores_of(np.array([one.margins >= 0 for one in learned.values()]), positive)
        for (name, one), line in zip(learned.items(), scores, strict=True):
            auc = float(roc_auc_score(positive, one.margins))
            outcome.rows.append((data.key, name, *one.setting, run, number, *line, auc, one.seconds))
    positives = int(np.count_nonzero(data.y > 0))
    shape = (*data.X.shape, positives, len(data.y) - positives)
    outcome.units.append((data.key, run, *shape, time.perf_counter() - started, len(outcome.rows)))
    return outcome


def everyone(fold: Fold) -> dict[str, Learned]:
    """All learners and batch solutions by name, after one pass over the training half."""
    turned = _turned(fold)
    found = {}
    for learner in LEARNERS:
        place = turned if is_full(learner.specs[0]) else fold
        _learned(learner, _beginning(place))  # else the first to meet rows of this form would pay for compilation
        found[learner.name] = _learned(learner, place)
    for learner in OF_TABLES:
        _learned_from_table(learner, _beginning(fold))
        found[learner.name] = _learned_from_table(learner, fold)
    dense = _dense(turned.X_train), fold.train_codes, _dense(turned.X_test)
    found |= {name: Learned(margins, ("", "", ""), took) for name, (margins, took) in batch_solutions(*dense).items()}
    return found


def _beginning(fold: Fold) -> Fold:
    """The same fold with few rows to learn from."""
    table = None if fold.train_table is None else fold.train_table[:WARMING]
    return fold._replace(X_train=fold.X_train[:WARMING], train_codes=fold.train_codes[:WARMING], train_table=table)


def _learned_from_table(learner: Learner, fold: Fold) -> Learned:
    """One pass over raw columns, or over a bag of words as it is."""
    shipped = learner.specs[0]
    assert isinstance(shipped, Shipped)
    model, train, test = shipped.make(), fold.train_table, fold.test_table
    if train is None:
        model, train, test = model.named_steps["model"], fold.X_train, fold.X_test
    started = time.thread_time()
    model.partial_fit(train, fold.train_codes, classes=CLASSES)
    model.decision_function(test[:1])  # in a short stream, rows are held back until a prediction is wanted
    seconds = time.thread_time() - started
    return Learned(model.decision_function(test), ("", "", ""), seconds)


def _learned(learner: Learner, fold: Fold) -> Learned:
    """One pass with all settings of a learner, and the margins of the best."""
    first = learner.specs[0]
    if isinstance(first, Shipped):
        model = first.make()
        started = time.thread_time()
        model.partial_fit(fold.X_train, fold.train_codes, classes=CLASSES)
        seconds = time.thread_time() - started
        return Learned(model.decision_function(fold.X_test), ("", "", ""), seconds)
    descents = [spec for spec in learner.specs if isinstance(spec, Descent)]
    if descents:
        return _descended(fold, descents)
    return _side_by_side(fold, [spec for spec in learner.specs if isinstance(spec, Spec)])


def _descended(fold: Fold, descents: list[Descent]) -> Learned:
    positive, discount = fold.train_codes == 1, np.arange(1, len(fold.train_codes) + 1)
    started = time.thread_time()
    learned = [descend(descent, fold.X_train, positive) for descent in descents]
    seconds = time.thread_time() - started
    answers = [metrics.Confusion.of(positive, one.margins >= 0, True, discount) for one in learned]  # as in a grid
    best = int(np.argmax([float(metrics.balanced_accuracy(one)) for one in answers]))  # the first among equals
    return Learned(_says(learned[best].w, learned[best].bias, fold.X_test), ("", "", ""), seconds)


def _side_by_side(fold: Fold, specs: list[Spec]) -> Learned:
    """The package's own learners, from rows read once."""
    grid = search.Grid(specs)
    grid.start(CLASSES, fold.X_train.shape[1], fixed=True)
    started = time.thread_time()
    grid.learn(fold.X_train, fold.train_codes)
    seconds = time.thread_time() - started
    best = int(grid.best[0])
    spec = specs[best]
    family = next(k for k, places in enumerate(grid.families) if best in places)
    w, bias = grid.models[family].state.own_weights(average=spec.average)
    k = grid.families[family].index(best)
    setting = (*spec.alphas, spec.r if SETTINGS["r"].has(spec.rule) else "")
    return Learned(_says(w[k], float(bias[k]), fold.X_test), setting, seconds)


def _says(w: NDArray[np.float64], bias: float, X: Any) -> NDArray[np.float64]:
    return np.asarray(w @ X.T).ravel() + bias


def _turned(fold: Fold) -> Fold:
    """The fold as learners with a full covariance get it: in the span of its rows, if there are more columns."""
    if fold.X_train.shape[1] <= fold.X_train.shape[0]:
        return fold
    train, test = in_own_span(fold.X_train, fold.X_test)
    return Fold(csr_array(train), test, fold.train_codes, fold.test_codes)


def _dense(X: Any) -> NDArray[np.float64]:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def warm_up() -> None:
    """Compile, or load from the cache, most of what a unit calls, before there are threads."""
    X, codes = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    table = pd.DataFrame(X).rename(columns=str)
    everyone(Fold(X, X, codes, codes, table, table))
    rows = csr_array(np.hstack([X] * 20))
    everyone(Fold(rows, rows, codes, codes))


WORK = Work(run_unit, warm_up, measures_time=False)
