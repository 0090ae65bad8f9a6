"""Labels of other types than those before: they stay exact, or are refused, and nothing is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater import AutoPATERClassifier, PATERClassifier, TERClassifier
from pater.models.differences import DifferenceError
from pater.models.labels import encode
from pater.stream import OnlinePipeline

LEARNERS = [
    PATERClassifier,
    TERClassifier,
    AutoPATERClassifier,
    lambda: OnlinePipeline([("learner", PATERClassifier())]),
]
X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)
TEXT, BYTES = np.array(["n", "p"])[Y], np.array([b"n", b"p"])[Y]
LARGE = Y + 2**53
HUGE = np.array([2**63, 2**63 + 1], np.uint64)[Y]


def refused(learner: Any, labels: Any, kind: type[Exception], said: str) -> None:
    """Other labels are refused, and the learner stays as it is."""
    classes, margins = learner.classes_.tolist(), learner.decision_function(X)
    with pytest.raises(kind, match=said):
        learner.partial_fit(X, labels)
    assert learner.classes_.tolist() == classes
    assert (learner.decision_function(X) == margins).all()


@pytest.mark.parametrize("new", LEARNERS)
@pytest.mark.parametrize(("first", "then"), [(BYTES, TEXT), (TEXT, BYTES), (BYTES, Y), (Y, BYTES)])
def test_bytes_and_text_are_not_of_one_kind(new: Any, first: Any, then: Any) -> None:
    refused(new().partial_fit(X, first), then, TypeError, "of one kind")


@pytest.mark.parametrize("new", LEARNERS[:3])
def test_models_of_bytes_and_of_text_are_not_merged(new: Any) -> None:
    with pytest.raises(DifferenceError, match="the other has text as classes, such as 'n', where this one has bytes"):
        new().fit(X, BYTES).merge(new().fit(X, TEXT))


@pytest.mark.parametrize("new", LEARNERS)
@pytest.mark.parametrize(
    ("first", "then"),
    [
        (LARGE, Y.astype(float)),
        (Y.astype(float), LARGE),
        (Y.astype(float), LARGE.astype(object)),
        (Y, HUGE),
        (HUGE, Y),
    ],
)
def test_no_two_classes_are_rounded_to_one(new: Any, first: Any, then: Any) -> None:
    refused(new().partial_fit(X, first), then, ValueError, "beside each other they are rounded, and 9")


@pytest.mark.parametrize("new", LEARNERS[:3])
def test_models_whose_classes_would_be_rounded_are_not_merged(new: Any) -> None:
    one, other = new().fit(X, LARGE), new().fit(X, Y.astype(float))
    for mine, theirs in ((one, other), (other, one)):
        with pytest.raises(DifferenceError, match="9007199254740993 would be another class"):
            mine.merge(theirs)


@pytest.mark.parametrize("new", LEARNERS[:3])
def test_classes_that_would_be_rounded_are_refused(new: Any) -> None:
    learner = new().partial_fit(X, Y)
    with pytest.raises(ValueError, match="classes holds 0 as uint64"):
        learner.partial_fit(X, Y, classes=np.array([0, 1, 2**63 + 1], np.uint64))
    assert learner.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("new", LEARNERS[:3])
def test_numbers_of_two_types_that_are_exact_beside_each_other_are_taken(new: Any) -> None:
    assert new().partial_fit(X, Y).partial_fit(X, Y * 2.0).classes_.tolist() == [0, 1, 2]
    assert new().partial_fit(X, LARGE.astype(object)).partial_fit(X, Y * 1.0).classes_.tolist() == [
        0,
        1,
        2**53,
        2**53 + 1,
    ]
    assert new().partial_fit(X, HUGE).partial_fit(X, HUGE.astype(object)).classes_.tolist() == [2**63, 2**63 + 1]


def test_a_known_label_is_found_in_any_type() -> None:
    known = np.array([2**53, 2**53 + 1])
    assert encode(np.array([2.0**53]), known).codes.tolist() == [0]
