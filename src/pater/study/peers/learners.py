"""Who is compared: each learner by its name, the settings that it may choose from in the pass, and whose idea it is.

Knows specs; runs nothing. Nothing here is ever chosen on test data, and nobody has more than one pass. Where there is
more than one setting, progressive balanced accuracy chooses, discounted as everywhere in `pater.models.search`; of
equals the first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from pater.models.search import alpha_grid
from pater.models.settings import SETTINGS
from pater.models.spec import Spec

from ..plan import Plan

Kind = Literal["published", "PATER", "balanced", "batch"]


class Learner(NamedTuple):
    """A learner under comparison.

    Its kind is "published" for what the literature has, the paper's own algorithms included; "PATER" for second-order
    PATER; "balanced" for published learners with class_weight="balanced", which is this package's doing.
    """

    name: str
    kind: Kind
    specs: tuple[Spec, ...]
    note: str = ""


R: float = SETTINGS["r"].default_of("so-pater-i")  # and so of whoever is to be its equal
AROW_R = (1.0, 0.1, 10.0)

SECOND_ORDER_PATER = "SO-PATER-I"
"""The form that the package recommends."""

LEARNERS = (
    Learner("Perceptron", "published", (Spec("perceptron"),)),
    Learner("averaged Perceptron", "published", (Spec("perceptron", average=True),)),
    Learner("PA", "published", (Spec("pa"),)),
    Learner("averaged PA", "published", (Spec("pa", average=True),)),
    Learner("PA-I", "published", (Spec("pa-i"),), "C = 1"),
    Learner("PA-II", "published", (Spec("pa-ii"),), "C = 1"),
    Learner("ALMA", "published", (Spec("alma"),), "α = 0.9"),
    Learner("PATER-I", "published", (Spec("pater-i"),)),
    Learner("PATER-II", "published", (Spec("pater-ii"),)),
    Learner(
        "wPATER-I", "published", tuple(Spec("pater-i", alphas=pair) for pair in alpha_grid()), "weight chosen of 13"
    ),
    Learner(
        "wPATER-II", "published", tuple(Spec("pater-ii", alphas=pair) for pair in alpha_grid()), "weight chosen of 13"
    ),
    Learner("SOP", "published", (Spec("so-perceptron"),), "r = 1"),
    Learner("CW", "published", (Spec("cw"),), "η = 0.9"),
    Learner("SCW-I", "published", (Spec("scw-i"),), "η = 0.9, C = 1"),
    Learner("SCW-II", "published", (Spec("scw-ii"),), "η = 0.9, C = 1"),
    Learner("diagonal SOP", "published", (Spec("so-perceptron", covariance="diagonal"),), "r = 1"),
    Learner("diagonal CW", "published", (Spec("cw", covariance="diagonal"),), "η = 0.9"),
    Learner("diagonal SCW-I", "published", (Spec("scw-i", covariance="diagonal"),), "η = 0.9, C = 1"),
    Learner("diagonal SCW-II", "published", (Spec("scw-ii", covariance="diagonal"),), "η = 0.9, C = 1"),
    Learner("AROW", "published", tuple(Spec("arow", r=r) for r in AROW_R), "r chosen of 0.1, 1, 10"),
    Learner(
        "diagonal AROW",
        "published",
        tuple(Spec("arow", r=r, covariance="diagonal") for r in AROW_R),
        "r chosen of 0.1, 1, 10",
    ),
    Learner(SECOND_ORDER_PATER, "PATER", (Spec("so-pater-i", r=R),), "r = 30"),
    Learner("SO-PATER-II", "PATER", (Spec("so-pater-ii", r=R),), "r = 30"),
    Learner("SO-PATER-I step", "PATER", (Spec("so-pater-i", r=R, form="step"),), "r = 30"),
    Learner("SO-PATER-II step", "PATER", (Spec("so-pater-ii", r=R, form="step"),), "r = 30"),
    Learner(
        "diagonal SO-PATER-I",
        "PATER",
        (Spec("so-pater-i", r=R, covariance="diagonal", average=True),),
        "r = 30, averaged",
    ),
    Learner(
        "diagonal SO-PATER-II",
        "PATER",
        (Spec("so-pater-ii", r=R, covariance="diagonal", average=True),),
        "r = 30, averaged",
    ),
    Learner("balanced AROW", "balanced", (Spec("arow", r=R, class_weight="balanced"),), "r = 30"),
    Learner(
        "diagonal balanced AROW",
        "balanced",
        (Spec("arow", r=R, covariance="diagonal", class_weight="balanced"),),
        "r = 30",
    ),
    Learner("balanced averaged PA", "balanced", (Spec("pa", average=True, class_weight="balanced"),)),
)

LINES = ("LR", "LR balanced", "LDA", "TER")
"""Batch solutions, which see all rows at once (`lines.py`): what one pass is to reach."""

BATCH_GOAL = "LR balanced"

ONE_PASS = tuple(learner.name for learner in LEARNERS)
PUBLISHED = tuple(learner.name for learner in LEARNERS if learner.kind == "published")
KINDS: dict[str, Kind] = {learner.name: learner.kind for learner in LEARNERS} | dict.fromkeys(LINES, "batch")
NOTES = {learner.name: learner.note for learner in LEARNERS} | {
    "LR": "C = 1",
    "LR balanced": "C = 1",
    "LDA": "",
    "TER": "",
}


def plan_of_peers(plan: Plan) -> Plan:
    """The same data sets, runs and seed, for all learners."""
    return replace(plan, algorithms=(*ONE_PASS, *LINES))
