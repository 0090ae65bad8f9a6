"""Truth values as labels for estimators: one class each, in any spelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater import PATERClassifier
from pater.models.labels import encode
from pater.models.truth import as_known, named

rng = np.random.default_rng(5)
X = rng.normal(size=(300, 4))
TRUTHS = X[:, 0] + 0.3 * rng.normal(size=300) > 0
WAYS = {
    "bool": TRUTHS,
    "objects": TRUTHS.astype(object),
    "title": np.array(["False", "True"])[TRUTHS.astype(int)],
    "small": np.array(["false", "true"])[TRUTHS.astype(int)],
    "large": np.array(["FALSE", "TRUE"], object)[TRUTHS.astype(int)],
}


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("then", WAYS)
def test_a_stream_may_write_them_in_two_ways(first: str, then: str) -> None:
    whole = PATERClassifier().fit(X, WAYS[first])
    model = PATERClassifier().partial_fit(X[:100], WAYS[first][:100])
    for start in (100, 200):
        model.partial_fit(X[start : start + 100], WAYS[then][start : start + 100])
    assert model.classes_.tolist() == whole.classes_.tolist() == sorted(set(WAYS[first].tolist()))
    assert np.array_equal(model.coef_, whole.coef_)


def test_it_does_not_matter_where_a_stream_of_mixed_words_is_cut() -> None:
    words = np.array([["false", "False", "FALSE"], ["TRUE", "true", "True"]])[
        TRUTHS.astype(int), rng.integers(0, 3, 300)
    ]
    whole = PATERClassifier().fit(X, words)
    assert sorted(each.lower() for each in whole.classes_) == ["false", "true"]
    for size in (1, 7, 100):
        model = PATERClassifier()
        for start in range(0, 300, size):
            model.partial_fit(X[start : start + size], words[start : start + size])
        assert model.classes_.tolist() == whole.classes_.tolist()
        assert np.array_equal(model.coef_, whole.coef_)


def test_named_classes_are_found_in_other_words() -> None:
    model = PATERClassifier().partial_fit(X, WAYS["small"], classes=["false", "true"])
    model.partial_fit(X, WAYS["large"])
    model.partial_fit(X, TRUTHS)
    assert model.classes_.tolist() == ["false", "true"]


@pytest.mark.parametrize(
    ("known", "labels"),
    [(["1", "2"], [True, False]), ([1, 2], ["True"]), (["no", "yes"], [True]), ([0, 1, 2], ["true"])],
)
def test_nothing_is_guessed(known: list[Any], labels: list[Any]) -> None:
    with pytest.raises(TypeError, match="one kind"):
        encode(np.array(labels), np.array(known))


@pytest.mark.parametrize("known", [[1, 2], [-1, 1], [0.0, 2.0]])
def test_numbers_of_which_none_is_true_take_no_truth_values(known: list[float]) -> None:
    model = PATERClassifier().fit(X, np.array(known)[TRUTHS.astype(int)])
    weights = model.coef_.copy()
    with pytest.raises(TypeError, match="which of them is True"):
        model.partial_fit(X, TRUTHS)
    assert model.classes_.tolist() == known
    assert (model.coef_ == weights).all()


def test_words_are_new_classes_among_other_texts() -> None:
    found = encode(np.array(["True", "1", "true"]), np.array(["1", "2"]))
    assert (found.codes.tolist(), found.new.tolist(), found.first_rows.tolist()) == ([2, 0, 2], ["True"], [0])


def test_zero_and_one_are_truth_values_too() -> None:
    assert encode(np.array(["TRUE", "false"]), np.array([0, 1])).codes.tolist() == [1, 0]


def test_classes_that_were_two_before_stay_two() -> None:
    known = np.array(["True", "true"])
    assert encode(np.array(["true", "True", "TRUE"]), known).codes.tolist() == [1, 0, 0]


def test_labels_of_files_are_spelled_as_the_model_has_them() -> None:
    labels = np.array(["False", "True", "other"], object)
    assert as_known(labels, np.array(["false", "true"])).tolist() == ["false", "true", "other"]
    assert as_known(labels, np.array(["False", "True"])) is labels
    assert as_known(labels, np.array([0, 1])) is labels
    assert [named(label) for label in ("tRUE", "falsehood", "1", 1, False)] == ["True", "falsehood", "1", 1, "False"]
