"""Who follows the streams: the learner that chooses during the pass, and single settings compared in hindsight.

Knows estimators, specs and descents; runs nothing. A family is represented by the best of its settings in hindsight,
stream by stream: nobody can have that in one pass, so a choice during the pass is measured against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pater.estimators.auto import AutoPATERClassifier
from pater.models.spec import Spec

from ..peers.gradient import Descent
from ..peers.learners import LEARNERS
from ..plan import Plan
from .streams import STREAMS

MOST_RUNS = 5

FORGETTING = (1.0, 0.9999, 0.999, 0.99)
R = (1.0, 3.0, 10.0, 30.0)

AUTO = "Auto"
NO_MEMORY = "Auto without memory"
SECOND_ORDER = "SO-PATER-I"
BALANCED_AROW = "balanced AROW"
PEERS = ("FTRL LR", "ACOG-II", "CSOGD-II")
"""The best published learners of this objective, as in the comparison with peers, and plain gradient descent."""


class Setting(NamedTuple):
    """One learner with fixed settings: an estimator to make, a spec or a descent. No comma in its name, for CSV."""

    name: str
    family: str
    how: Callable[[], Any] | Spec | Descent


def _without_memory() -> Any:
    return AutoPATERClassifier(forgetting=1.0)


def _own() -> list[Setting]:
    found = [Setting(AUTO, AUTO, AutoPATERClassifier), Setting(NO_MEMORY, NO_MEMORY, _without_memory)]
    for forgetting in FORGETTING:
        past = f"forgetting {forgetting:g}"
        for r in R:
            second_order = Spec("so-pater-i", r=r, forgetting=forgetting)
            arow = Spec("arow", r=r, forgetting=forgetting, class_weight="balanced")
            found += [
                Setting(f"{SECOND_ORDER} r {r:g} {past}", SECOND_ORDER, second_order),
                Setting(f"{BALANCED_AROW} r {r:g} {past}", BALANCED_AROW, arow),
            ]
        found += [
            Setting(f"{name} {past}", name, Spec(name.lower(), forgetting=forgetting))
            for name in ("PATER-I", "PATER-II")
        ]
    return found


def _descents() -> list[Setting]:
    return [
        Setting(f"{one.name} rate {spec.rate:g} γ {spec.gamma:g}", one.name, spec)
        for one in LEARNERS
        if one.name in PEERS
        for spec in one.specs
        if isinstance(spec, Descent)
    ]


SETTINGS = {one.name: one for one in (*_own(), *_descents())}
FAMILIES = tuple(dict.fromkeys(one.family for one in SETTINGS.values()))
SINGLE = tuple(name for name in FAMILIES if name not in (AUTO, NO_MEMORY, *PEERS))
"""The package's families against which, in hindsight, a choice during the pass is measured."""


def plan_of_drift(plan: Plan) -> Plan:
    """The plan for all streams and settings, with the seed and the runs of a plan, up to `MOST_RUNS`."""
    return replace(plan, sets=tuple(STREAMS), algorithms=tuple(SETTINGS), runs=min(plan.runs, MOST_RUNS))
