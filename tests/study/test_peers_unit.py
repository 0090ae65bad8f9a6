"""One unit of the comparison: what it writes is what the estimators would say, and the test half has no part in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater import (
    ALMAClassifier,
    AROWClassifier,
    AutoPATERClassifier,
    ConfidenceWeightedClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    Perceptron,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
    TERClassifier,
)
from pater.data import load
from pater.kernels.rules import RULES
from pater.models.metrics import Confusion, balanced_accuracy
from pater.models.spec import Spec
from pater.reference import cost_sensitive as reference
from pater.study import Plan
from pater.study.halves import Fold, folds
from pater.study.peers import unit
from pater.study.peers.learners import LEARNERS, LINES, ONE_PASS

SAME = {
    "Perceptron": Perceptron(),
    "averaged Perceptron": Perceptron(average=True),
    "PA": PassiveAggressiveClassifier(),
    "averaged PA": PassiveAggressiveClassifier(average=True),
    "PA-I": PassiveAggressiveClassifier("PA-I"),
    "PA-II": PassiveAggressiveClassifier("PA-II"),
    "balanced averaged PA": PassiveAggressiveClassifier(average=True, class_weight="balanced"),
    "ALMA": ALMAClassifier(),
    "PATER-I": PATERClassifier("I"),
    "PATER-II": PATERClassifier("II"),
    "wPATER-I": AutoPATERClassifier(("I",)),
    "wPATER-II": AutoPATERClassifier(("II",)),
    "SOP": SecondOrderPerceptron(),
    "CW": ConfidenceWeightedClassifier("CW"),
    "SCW-I": ConfidenceWeightedClassifier("SCW-I"),
    "SCW-II": ConfidenceWeightedClassifier("SCW-II"),
    "diagonal SOP": SecondOrderPerceptron(covariance="diagonal"),
    "diagonal CW": ConfidenceWeightedClassifier("CW", covariance="diagonal"),
    "diagonal SCW-I": ConfidenceWeightedClassifier("SCW-I", covariance="diagonal"),
    "diagonal SCW-II": ConfidenceWeightedClassifier("SCW-II", covariance="diagonal"),
    "SO-PATER-I": SecondOrderPATERClassifier(),
    "SO-PATER-II": SecondOrderPATERClassifier("II"),
    "SO-PATER-I step": SecondOrderPATERClassifier("I", form="step"),
    "SO-PATER-II step": SecondOrderPATERClassifier("II", form="step"),
    "diagonal SO-PATER-I": SecondOrderPATERClassifier(covariance="diagonal"),
    "diagonal SO-PATER-II": SecondOrderPATERClassifier("II", covariance="diagonal"),
    "balanced AROW": AROWClassifier(30, class_weight="balanced"),
    "diagonal balanced AROW": AROWClassifier(30, class_weight="balanced", covariance="diagonal"),
    "TER": TERClassifier(),
}

pytestmark = pytest.mark.filterwarnings("ignore:Variables are collinear")


@pytest.fixture(scope="module")
def fold() -> Fold:
    return folds(load("wdbc"), 0, 0)[0]


@pytest.fixture(scope="module")
def lines(fold: Fold) -> dict[str, dict[str, Any]]:
    """The rows of that fold, by learner."""
    rows = unit.run_unit(load("wdbc"), 0, Plan(("wdbc",))).rows
    named = [dict(zip(unit.COLUMNS["rows"], row, strict=True)) for row in rows]
    return {row["algorithm"]: row for row in named if row["fold"] == 0}


def test_every_rule_of_the_package_takes_part_in_every_covariance_that_it_has() -> None:
    specs = [spec for learner in LEARNERS for spec in learner.specs if isinstance(spec, Spec)]
    asked = {(spec.rule, spec.family[1]) for spec in specs}
    second_order = {name for name, rule in RULES.items() if rule.second_order}
    assert asked == {(name, "none") for name in RULES.keys() - second_order} | {
        (name, covariance) for name in second_order for covariance in ("full", "diagonal")
    }


def test_everyone_has_a_row(lines: dict[str, dict[str, Any]]) -> None:
    assert tuple(lines) == (*ONE_PASS, *LINES)


@pytest.mark.parametrize("name", SAME)
def test_a_row_is_what_the_estimator_scores(lines: dict[str, dict[str, Any]], fold: Fold, name: str) -> None:
    says = SAME[name].fit(fold.X_train, fold.train_codes).predict(fold.X_test)
    assert lines[name]["accuracy"] == np.mean(says == fold.test_codes)
    assert lines[name]["fnr"] == np.mean(says[fold.test_codes == 1] == 0)


def test_weights_are_those_that_the_pass_chooses(lines: dict[str, dict[str, Any]], fold: Fold) -> None:
    chosen = AutoPATERClassifier(("I",)).fit(fold.X_train, fold.train_codes).best_params_
    assert isinstance(chosen, dict)
    assert (lines["wPATER-I"]["alpha_neg"], lines["wPATER-I"]["alpha_pos"]) == (
        chosen["alpha_neg"],
        chosen["alpha_pos"],
    )
    r = lines["AROW"]["r"]
    says = AROWClassifier(r).fit(fold.X_train, fold.train_codes).predict(fold.X_test)
    assert lines["AROW"]["accuracy"] == np.mean(says == fold.test_codes)


def _references(X: Any, y: Any) -> dict[str, list[Any]]:
    """The weights after each row, for every setting that a learner may choose from."""
    rates = [10.0**k for k in range(-4, 3)]
    acog = [(rate, gamma) for rate in rates[2:] for gamma in (1, 10, 100)]
    return {
        "CSOGD-I": [reference.csogd(X, y, "I", rate) for rate in rates[:-1]],
        "CSOGD-II": [reference.csogd(X, y, "II", rate) for rate in rates[:-1]],
        "ACOG-I": [reference.acog(X, y, "I", *pair) for pair in acog],
        "ACOG-II": [reference.acog(X, y, "II", *pair) for pair in acog],
        "diagonal ACOG-I": [reference.acog(X, y, "I", *pair, diagonal=True) for pair in acog],
        "diagonal ACOG-II": [reference.acog(X, y, "II", *pair, diagonal=True) for pair in acog],
        "AdaGrad LR": [reference.adagrad(X, y, rate) for rate in rates[2:5]],
        "FTRL LR": [reference.ftrl(X, y, rate) for rate in rates[2:5]],
    }


def test_a_descent_is_the_best_of_its_references_in_the_pass(lines: dict[str, dict[str, Any]], fold: Fold) -> None:
    X, test = (np.hstack([np.ones((len(half), 1)), half]) for half in (fold.X_train, fold.X_test))
    positive, places = fold.train_codes == 1, np.arange(1, len(X) + 1)
    found = _references(X, np.where(positive, 1, -1))
    assert found.keys() == {one.name for one in LEARNERS if not isinstance(one.specs[0], Spec)}
    for name, settings in found.items():
        answers = [np.sum(np.vstack([0 * w[:1], w[:-1]]) * X, axis=1) >= 0 for w in settings]
        scores = [float(balanced_accuracy(Confusion.of(positive, says, True, places))) for says in answers]
        best = [w[-1] for w, score in zip(settings, scores, strict=True) if score == max(scores)]
        accuracies = [np.mean((test @ w >= 0) == (fold.test_codes == 1)) for w in best]
        assert lines[name]["accuracy"] in accuracies  # of equals the first, in an order that is not repeated here
        assert (lines[name]["alpha_neg"], lines[name]["r"]) == ("", "")


def test_no_choice_looks_at_the_test_half(fold: Fold) -> None:
    verdicts, settings = unit._answers(fold)
    turned_round = fold._replace(X_test=-fold.X_test[::-1], test_codes=1 - fold.test_codes)
    assert unit._answers(turned_round)[1] == settings
    assert verdicts.shape == (len(ONE_PASS) + len(LINES), len(fold.test_codes))
