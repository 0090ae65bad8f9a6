"""Who is compared: each learner by name, the settings that it may choose from during the pass, and whose idea it is.

Knows specs, descents and estimators; runs nothing. Nothing here is ever chosen on test data, and nobody has more than
one pass. Among several settings, progressive balanced accuracy chooses, discounted as everywhere in
`pater.models.search`; the first among equals wins. Estimators that choose by themselves do so as shipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from pater.estimators.auto import AutoPATERClassifier
from pater.estimators.pipeline import OnlinePipeline
from pater.estimators.table_encoder import TableEncoder
from pater.models.search import alpha_grid
from pater.models.settings import SETTINGS
from pater.models.spec import Spec

from ..plan import Plan
from .gradient import Descent

Kind = Literal["published", "PATER", "balanced", "chosen", "table", "batch"]


class Shipped(NamedTuple):
    """An estimator that makes its own choice during the pass."""

    make: Callable[[], Any]


class Learner(NamedTuple):
    """A learner under comparison.

    Its kind is "published" for learners in the literature, including the paper's own algorithms; "PATER" for
    second-order PATER; "balanced" for published learners with class_weight="balanced", which this package adds;
    "chosen" for those that choose among rules; "table" for those that learn from raw columns behind an encoder. Its
    settings are specs, or descents where the package does not offer the learner.
    """

    name: str
    kind: Kind
    specs: tuple[Spec | Descent | Shipped, ...]
    note: str = ""


def is_full(spec: Spec | Descent | Shipped) -> bool:
    """Whether it keeps a full covariance, whatever the rows."""
    if isinstance(spec, Shipped):
        return False
    return (spec.steps if isinstance(spec, Descent) else spec.family[1]) == "full"


R: float = SETTINGS["r"].default_of("so-pater-i")  # and for those that are to be its equal
AROW_R = (1.0, 0.1, 10.0)


def _acog(loss: Literal["hinge I", "hinge II"], covariance: Literal["full", "diagonal"]) -> tuple[Descent, ...]:
    return tuple(
        Descent(loss, covariance, rate, gamma) for gamma in (1.0, 10.0, 100.0) for rate in (1.0, 0.1, 10.0, 0.01, 100.0)
    )


CSOGD_RATES = (0.01, 0.1, 0.001, 1.0, 0.0001, 10.0)
CSOGD_NOTE = "η chosen of 0.0001, 0.001, …, 10"
ACOG_NOTE = "η chosen of 0.01, 0.1, …, 100, and γ of 1, 10, 100"
LOGISTIC_RATES = (0.1, 1.0, 0.01)

SECOND_ORDER_PATER = "SO-PATER-I"
"""The form that the package recommends."""

AUTO, AUTO_BY_ACCURACY = "Auto", "Auto by accuracy"
"""`AutoPATERClassifier()` as it is shipped, and with `scoring="accuracy"`."""


def _auto_by_accuracy() -> Any:
    return AutoPATERClassifier(scoring="accuracy")


def _behind_encoder(scoring: str = "balanced_accuracy") -> Any:
    return OnlinePipeline([("table", TableEncoder()), ("model", AutoPATERClassifier(scoring=scoring))])


def _behind_encoder_by_accuracy() -> Any:
    return _behind_encoder("accuracy")


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
    Learner("CSOGD-I", "published", tuple(Descent("hinge I", "plain", rate) for rate in CSOGD_RATES), CSOGD_NOTE),
    Learner("CSOGD-II", "published", tuple(Descent("hinge II", "plain", rate) for rate in CSOGD_RATES), CSOGD_NOTE),
    Learner("ACOG-I", "published", _acog("hinge I", "full"), ACOG_NOTE),
    Learner("ACOG-II", "published", _acog("hinge II", "full"), ACOG_NOTE),
    Learner("diagonal ACOG-I", "published", _acog("hinge I", "diagonal"), ACOG_NOTE),
    Learner("diagonal ACOG-II", "published", _acog("hinge II", "diagonal"), ACOG_NOTE),
    Learner(
        "AdaGrad LR",
        "published",
        tuple(Descent("logistic", "AdaGrad", rate) for rate in LOGISTIC_RATES),
        "balanced classes, η chosen of 0.01, 0.1, 1",
    ),
    Learner(
        "FTRL LR",
        "published",
        tuple(Descent("logistic", "FTRL", rate) for rate in LOGISTIC_RATES),
        "balanced classes, β = 1, λ₁ = 0, λ₂ = 1, α chosen of 0.01, 0.1, 1",
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
    Learner(AUTO, "chosen", (Shipped(AutoPATERClassifier),), "as shipped"),
    Learner(AUTO_BY_ACCURACY, "chosen", (Shipped(_auto_by_accuracy),), 'scoring="accuracy"'),
    Learner(
        "wPATER grid",
        "chosen",
        tuple(Spec(rule, alphas=pair) for pair in alpha_grid() for rule in ("pater-i", "pater-ii")),
        "PATER-I or -II and its weight chosen of 26",
    ),
)

OF_TABLES = (
    Learner("Auto on the table", "table", (Shipped(_behind_encoder),), "raw columns, as pater train takes them"),
    Learner("Auto on the table by accuracy", "table", (Shipped(_behind_encoder_by_accuracy),), 'scoring="accuracy"'),
)
"""What `pater train` does with a table: one pass over its raw columns. It sees more than the z-scores that the others
get, so it is not ranked among them; of a bag of words it sees the same, without an encoder."""

TABLES = tuple(learner.name for learner in OF_TABLES)

LINES = ("LR", "LR balanced", "LDA", "TER", "HGB", "HGB at prior")
"""Batch solutions, which see all rows at once (`lines.py`): what one pass should reach."""

BATCH_GOAL = "LR balanced"

ONE_PASS = tuple(learner.name for learner in LEARNERS)
PUBLISHED = tuple(learner.name for learner in LEARNERS if learner.kind == "published")
KINDS: dict[str, Kind] = {one.name: one.kind for one in (*LEARNERS, *OF_TABLES)} | dict.fromkeys(LINES, "batch")
NOTES = {one.name: one.note for one in (*LEARNERS, *OF_TABLES)} | {
    "LR": "C = 1",
    "LR balanced": "C = 1",
    "LDA": "",
    "TER": "",
    "HGB": "trees; p ≥ ½",
    "HGB at prior": "trees; p ≥ share of positives",
}


def plan_of_peers(plan: Plan) -> Plan:
    """The plan with the same data sets, runs and seed, for all learners."""
    return replace(plan, algorithms=(*ONE_PASS, *TABLES, *LINES))
