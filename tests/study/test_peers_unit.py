"""One unit of the comparison: it writes what the estimators would give, and the test half has no influence."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

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
from pater.kernels import run as passes
from pater.kernels.rules import RULES
from pater.models.metrics import Confusion, balanced_accuracy
from pater.models.search import PAPER_WEIGHTS
from pater.models.spec import Spec
from pater.reference import cost_sensitive as reference
from pater.study import Plan
from pater.study.folds import Fold, folds
from pater.study.peers import unit
from pater.study.peers.gradient import Descent
from pater.study.peers.learners import LEARNERS, LINES, ONE_PASS, TABLES

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
    "wPATER-I": AutoPATERClassifier(("I",), PAPER_WEIGHTS),
    "wPATER-II": AutoPATERClassifier(("II",), PAPER_WEIGHTS),
    "wPATER grid": AutoPATERClassifier(("I", "II"), PAPER_WEIGHTS),
    "Auto": AutoPATERClassifier(),
    "Auto by accuracy": AutoPATERClassifier(scoring="accuracy"),
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
    """The rows of this fold, by learner."""
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
    assert tuple(lines) == (*ONE_PASS, *TABLES, *LINES)


@pytest.mark.parametrize("name", SAME)
def test_a_row_is_what_the_estimator_scores(lines: dict[str, dict[str, Any]], fold: Fold, name: str) -> None:
    says = SAME[name].fit(fold.X_train, fold.train_codes).predict(fold.X_test)
    assert lines[name]["accuracy"] == np.mean(says == fold.test_codes)
    assert lines[name]["fnr"] == np.mean(says[fold.test_codes == 1] == 0)


def test_weights_are_those_that_the_pass_chooses(lines: dict[str, dict[str, Any]], fold: Fold) -> None:
    chosen = AutoPATERClassifier(("I",), PAPER_WEIGHTS).fit(fold.X_train, fold.train_codes).best_params_
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
    assert found.keys() == {one.name for one in LEARNERS if isinstance(one.specs[0], Descent)}
    for name, settings in found.items():
        answers = [np.sum(np.vstack([0 * w[:1], w[:-1]]) * X, axis=1) >= 0 for w in settings]
        scores = [float(balanced_accuracy(Confusion.of(positive, says, True, places))) for says in answers]
        best = [w[-1] for w, score in zip(settings, scores, strict=True) if score == max(scores)]
        accuracies = [np.mean((test @ w >= 0) == (fold.test_codes == 1)) for w in best]
        assert lines[name]["accuracy"] in accuracies  # the first among equals, in an order that is not repeated here
        assert (lines[name]["alpha_neg"], lines[name]["r"]) == ("", "")


@pytest.mark.slow
def test_no_choice_looks_at_the_test_half(fold: Fold) -> None:
    learned = unit.everyone(fold)
    turned_round = unit.everyone(fold._replace(X_test=-fold.X_test[::-1], test_codes=1 - fold.test_codes))
    assert {name: one.setting for name, one in learned.items()} == {
        name: one.setting for name, one in turned_round.items()
    }
    assert all(one.margins.shape == fold.test_codes.shape for one in learned.values())


@pytest.mark.slow
def test_trees_decide_at_a_half_and_at_the_share_of_positives(fold: Fold) -> None:
    trees = HistGradientBoostingClassifier(random_state=0).fit(fold.X_train, fold.train_codes)
    probability = trees.predict_proba(fold.X_test)[:, 1]
    learned = unit.everyone(fold)
    for name, threshold in (("HGB", 0.5), ("HGB at prior", np.mean(fold.train_codes))):
        assert np.array_equal(learned[name].margins >= 0, probability >= threshold)


def test_an_area_is_that_of_the_estimator(lines: dict[str, dict[str, Any]], fold: Fold) -> None:
    for name in ("SO-PATER-I", "Auto", "PATER-II"):
        margins = SAME[name].fit(fold.X_train, fold.train_codes).decision_function(fold.X_test)
        assert lines[name]["auc"] == pytest.approx(roc_auc_score(fold.test_codes, margins), abs=1e-12)


@pytest.mark.slow
def test_no_second_holds_a_compilation(fold: Fold, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with an empty cache: the first to call a pass with a rule has to wait."""
    learn, known = passes.learn, set()

    def slow_at_first(rows: Any, codes: Any, state: Any, settings: Any, **more: Any) -> int:
        kind = (len(rows), state.n_features, state.metric, settings.tobytes())
        if kind not in known:
            known.add(kind)
            until = time.thread_time() + 0.02
            while time.thread_time() < until:
                pass
        return learn(rows, codes, state, settings, **more)

    monkeypatch.setattr(passes, "learn", slow_at_first)
    monkeypatch.setattr("pater.models.model.learn", slow_at_first)
    few = fold._replace(
        X_train=fold.X_train[:100], train_codes=fold.train_codes[:100], train_table=fold.train_table[:100]
    )
    learned = unit.everyone(few)
    assert len(known) > 20
    of_one_setting = [one.name for one in LEARNERS if isinstance(one.specs[0], Spec)]
    assert max(learned[name].seconds for name in of_one_setting) < 0.015
