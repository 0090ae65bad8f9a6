"""One run of 2-fold cross-validation on one data set, by all learners and batch solutions.

Knows the protocol; writes nothing. A unit is a pure function of the data, the run's number and the seed, but for the
seconds it took.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pater.data import DataSet
from pater.models import metrics, search
from pater.models.settings import SETTINGS
from pater.models.spec import Spec

from ..halves import Fold, folds
from ..plan import Plan
from ..runner import Work
from ..unit import SCORES, Line, scores_of
from .gradient import Descent, descend
from .learners import LEARNERS, LINES, is_full
from .lines import batch_verdicts
from .span import in_own_span

COLUMNS = {
    "rows": ("data_set", "algorithm", "alpha_neg", "alpha_pos", "r", "run", "fold", *SCORES),
    "units": ("data_set", "run", "instances", "features", "positives", "negatives", "seconds", "lines"),
}
"""The files of this part of the study. α⁻, α⁺ and r are those of the setting that was chosen in the pass."""

CLASSES = np.array([0, 1])


@dataclass
class PeerOutcome:
    """The lines that a unit adds to the files."""

    rows: list[Line] = field(default_factory=list)
    units: list[Line] = field(default_factory=list)


def run_unit(data: DataSet, run: int, plan: Plan) -> PeerOutcome:
    """Everyone on both folds of one run."""
    started = time.perf_counter()
    outcome = PeerOutcome()
    for number, fold in enumerate(folds(data, plan.seed, run)):
        verdicts, settings = _answers(fold)
        scores = scores_of(verdicts, fold.test_codes == 1)
        for name, setting, line in zip((*(one.name for one in LEARNERS), *LINES), settings, scores, strict=True):
            outcome.rows.append((data.key, name, *setting, run, number, *line))
    positives = int(np.count_nonzero(data.y > 0))
    shape = (*data.X.shape, positives, len(data.y) - positives)
    outcome.units.append((data.key, run, *shape, time.perf_counter() - started, len(outcome.rows)))
    return outcome


def _answers(fold: Fold) -> tuple[NDArray[np.bool_], list[tuple[Any, Any, Any]]]:
    """Is f(x) ≥ 0? (everyone, test rows); and the (α⁻, α⁺, r) that each has come to."""
    turned = _turned(fold)
    specs = tuple(dict.fromkeys(spec for learner in LEARNERS for spec in learner.specs))
    by_name = [spec for spec in specs if not is_full(spec)]
    in_any_basis = [spec for spec in specs if is_full(spec)]
    learned = _learned(fold, by_name) | _learned(turned, in_any_basis)
    verdicts, settings = [], []
    for learner in LEARNERS:
        spec = max(learner.specs, key=lambda one: learned[one].progressive)  # of equals the first
        own, place = learned[spec], turned if spec in in_any_basis else fold
        verdicts.append(np.asarray(own.w @ place.X_test.T).ravel() + own.bias >= 0)
        settings.append(_to_note(spec))
    lines = batch_verdicts(_dense(turned.X_train), fold.train_codes, _dense(turned.X_test))
    return np.array([*verdicts, *lines.values()]), settings + [("", "", "")] * len(lines)


@dataclass(frozen=True)
class _Learned:
    """A setting after its pass, and how well it predicted on the way."""

    w: NDArray[np.float64]
    bias: float
    progressive: float


def _to_note(spec: Spec | Descent) -> tuple[Any, Any, Any]:
    """α⁻, α⁺ and r, as far as the setting has them."""
    if isinstance(spec, Descent):
        return "", "", ""
    return (*spec.alphas, spec.r if SETTINGS["r"].has(spec.rule) else "")


def _learned(fold: Fold, specs: list[Spec | Descent]) -> dict[Spec | Descent, _Learned]:
    """Every setting after one pass over the training half."""
    own = [spec for spec in specs if isinstance(spec, Spec)]
    descents = [spec for spec in specs if isinstance(spec, Descent)]
    found: dict[Spec | Descent, _Learned] = {spec: _descended(fold, spec) for spec in descents}
    found.update(_side_by_side(fold, own))
    return found


def _descended(fold: Fold, descent: Descent) -> _Learned:
    positive = fold.train_codes == 1
    w, bias, margins = descend(descent, fold.X_train, positive)
    discount = np.arange(1, len(margins) + 1)  # the t-th answer counts t, as in a grid
    answers = metrics.Confusion.of(positive, margins >= 0, True, discount)
    return _Learned(w, bias, float(metrics.balanced_accuracy(answers)))


def _side_by_side(fold: Fold, specs: list[Spec]) -> Iterable[tuple[Spec, _Learned]]:
    """The package's own, from rows read once."""
    grid = search.Grid(specs)
    grid.start(CLASSES, fold.X_train.shape[1], fixed=True)
    grid.learn(fold.X_train, fold.train_codes)
    progressive = metrics.balanced_accuracy(grid.counts())[0]
    for model, places in zip(grid.models, grid.families, strict=True):
        for average in {spec.average for spec in model.specs}:
            w, bias = model.state.own_weights(average=average)
            for k, place in enumerate(places):
                if specs[place].average == average:
                    yield specs[place], _Learned(w[k], float(bias[k]), float(progressive[place]))


def _turned(fold: Fold) -> Fold:
    """The fold as learners of a full covariance see it: in the span of its rows, where there are more columns."""
    if fold.X_train.shape[1] <= fold.X_train.shape[0]:
        return fold
    train, test = in_own_span(fold.X_train, fold.X_test)
    return Fold(csr_array(train), test, fold.train_codes, fold.test_codes)


def _dense(X: Any) -> NDArray[np.float64]:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def warm_up() -> None:
    """Compile, or read from the cache, all that a unit calls, before there are threads."""
    X, codes = np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 1.0]]), np.array([1, 0, 1, 0])
    for rows in (X, csr_array(np.hstack([X, X]))):
        _answers(Fold(rows, rows, codes, codes))


WORK = Work(run_unit, warm_up, measures_time=False)
