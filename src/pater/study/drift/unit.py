"""All settings along one stream, with predictions counted in windows.

Knows the protocol; writes nothing. Except for the processor seconds, a unit is a pure function of the stream, the run's
number and the seed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pater.models import matrices as batch
from pater.models.model import Model
from pater.models.spec import Spec

from ..peers.gradient import Descent, descend
from ..plan import Plan
from ..runner import Work
from ..unit import Line
from .learners import SETTINGS, Setting
from .prequential import answers
from .streams import ROWS, Stream, rows_of

WINDOW = 2000

Rows = NDArray[np.float64]
Codes = NDArray[np.int64]
Answers = NDArray[np.bool_]

COLUMNS = {
    "rows": ("data_set", "setting", "run", "seen", "positives", "negatives", "true_positives", "true_negatives"),
    "units": ("data_set", "run", "instances", "positives", "seconds", "lines"),
}
"""The files of this part of the study. A row has the counts of one window, which ends after `seen` rows."""


@dataclass
class DriftOutcome:
    """The lines that a unit adds to the files."""

    rows: list[Line] = field(default_factory=list)
    units: list[Line] = field(default_factory=list)


def run_unit(stream: Stream, run: int, plan: Plan) -> DriftOutcome:
    """Run every setting of the plan along one stream."""
    started = time.thread_time()
    X, y = rows_of(stream, plan.seed, run)
    outcome = DriftOutcome()
    said = _answers([SETTINGS[name] for name in plan.algorithms], X, y)
    for name in plan.algorithms:
        outcome.rows += [(stream.key, name, run, *counts) for counts in windows(said[name], y)]
    outcome.units.append((stream.key, run, len(y), int(y.sum()), time.thread_time() - started, len(outcome.rows)))
    return outcome


def _answers(settings: list[Setting], X: Rows, y: Codes) -> dict[str, Answers]:
    """Whether each setting, by name, calls a row positive before it learns from the row."""
    specs = {one.name: one.how for one in settings if isinstance(one.how, Spec)}
    found = _side_by_side(specs, X, y)
    for one in settings:
        if isinstance(one.how, Descent):
            found[one.name] = descend(one.how, X, y == 1).margins >= 0
        elif not isinstance(one.how, Spec):
            found[one.name] = answers(one.how(), X, y)
    return found


def _side_by_side(specs: dict[str, Spec], X: Rows, y: Codes) -> dict[str, Answers]:
    """The predictions of the package's own settings, with one pass for all that share a state."""
    found: dict[str, Answers] = {}
    for family in dict.fromkeys(spec.family for spec in specs.values()):
        names = [name for name, spec in specs.items() if spec.family == family]
        model = Model.new(np.array([0, 1]), X.shape[1], tuple(specs[name] for name in names), fixed=True)
        margins = np.empty((len(names), len(y)))
        model.learn_all(batch.rows_of(X), y, margins=margins)
        found |= dict(zip(names, margins >= 0, strict=True))
    return found


def windows(says: Answers, y: Codes, size: int = WINDOW) -> Iterator[tuple[int, ...]]:
    """For each window, where it ends, its positives and negatives, and how many of them were recognised."""
    positive = y == 1
    for start in range(0, len(y), size):
        there, said = positive[start : start + size], says[start : start + size]
        positives, known = int(there.sum()), int((there & said).sum())
        rejected = int((~there & ~said).sum())
        yield start + len(there), positives, len(there) - positives, known, rejected


def warm_up() -> None:
    """Compile, or load from the cache, everything that a unit calls, before there are threads."""
    X, y = rows_of(Stream("stationary", 0.5), 0, 0, 200)
    _answers(list(SETTINGS.values()), X, y)


WORK = Work(run_unit, warm_up, measures_time=False, rows=lambda key: ROWS)
