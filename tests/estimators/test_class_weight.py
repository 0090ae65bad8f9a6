"""Class weights: those that can never apply are an error, and their order means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, TERClassifier, load
from pater.models.differences import DifferenceError

LEARNERS = [AROWClassifier, PATERClassifier, AutoPATERClassifier, TERClassifier]
X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)


def refused(learner: Any, said: str, call: Any) -> None:
    margins = learner.decision_function(X)
    with pytest.raises(ValueError, match=said):
        call()
    learner.set_params(class_weight=None)
    assert (learner.decision_function(X) == margins).all()


@pytest.mark.parametrize("new", LEARNERS)
@pytest.mark.parametrize("weight", [{"1": 9}, {2: 9}])
def test_a_weight_of_no_class_is_an_error_once_classes_are_fixed(new: Any, weight: dict[Any, float]) -> None:
    learner = new().partial_fit(X, Y, classes=[0, 1])
    learner.set_params(class_weight=weight)
    refused(learner, "which are not among the classes", lambda: learner.partial_fit(X, Y))


@pytest.mark.parametrize("new", LEARNERS)
@pytest.mark.parametrize(
    ("weight", "labels"),
    [({"1": 9}, Y), ({1: 9}, Y.astype(str)), ({1: 2, "1": 9}, Y), ({"True": 9}, Y == 1), ({b"1": 9}, Y.astype(str))],
)
def test_a_weight_of_another_kind_than_the_labels_is_an_error(new: Any, weight: dict[Any, float], labels: Any) -> None:
    with pytest.raises(ValueError, match="but the labels are"):
        new(class_weight=weight).partial_fit(X, labels)
    learner = new().partial_fit(X, labels)
    learner.set_params(class_weight=weight)
    refused(learner, "but the labels are", lambda: learner.partial_fit(X, labels))


@pytest.mark.parametrize("new", LEARNERS)
def test_a_class_that_may_still_come_can_have_a_weight(new: Any) -> None:
    learner = new(class_weight={0: 1, 2: 9}).partial_fit(X, Y)
    assert learner.partial_fit(X, Y + 1).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("weight", [{"1": 9}, {2: 9}])
def test_solve_checks_weights_as_fit_does(weight: dict[Any, float]) -> None:
    learner = TERClassifier().fit(X, Y)
    learner.set_params(class_weight=weight)
    refused(learner, "which are not among the classes", learner.solve)


def test_merging_checks_weights() -> None:
    one, other = TERClassifier().fit(X, Y), TERClassifier().fit(X, Y)
    one.set_params(class_weight={"1": 9})
    refused(one, "but the labels are", lambda: one.merge(other))


@pytest.mark.parametrize("new", LEARNERS)
@pytest.mark.parametrize("weight", [{0: 1, 1: 2}, {False: 1, 1.0: 2}])
def test_the_order_of_class_weights_means_nothing(new: Any, weight: dict[Any, float], tmp_path: Any) -> None:
    one, other = new(class_weight=weight).fit(X, Y), new(class_weight={1: 2, 0: 1}).fit(X, Y)
    for mine, theirs in ((one, other), (other, one)):
        mine.save(tmp_path / "model.pater")
        assert load(tmp_path / "model.pater").merge(theirs).t_ == 200


def test_other_class_weights_are_still_a_difference() -> None:
    one, other = (AROWClassifier(class_weight={0: 1, 1: weight}).fit(X, Y) for weight in (2, 3))
    with pytest.raises(DifferenceError, match="class_weight"):
        one.merge(other)
