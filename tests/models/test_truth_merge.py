"""Models with different spellings of truth values merge as if spelled the same, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, TERClassifier, merge_all
from pater.formats.errors import InputError
from pater.models.differences import DifferenceError, check_classes
from pater.models.truth import classes_as_spelled
from pater.stream.learner import load
from pater.stream.merging import merged

rng = np.random.default_rng(7)
X = rng.normal(size=(400, 3))
TRUTHS = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
LEARNERS: dict[str, Any] = {
    "one": PATERClassifier,
    "at a point": lambda: PATERClassifier(operating_point={"max_fpr": 0.1}),
    "second order": SecondOrderPATERClassifier,
    "pool": AutoPATERClassifier,
    "batch": TERClassifier,
}


def half(learner: Any, k: int, *words: Any) -> Any:
    part = slice(200 * k, 200 * k + 200)
    return learner().partial_fit(X[part], np.array(words)[TRUTHS[part]])


def saved(folder: Path, *models: Any) -> list[str]:
    names = [str(folder / f"{k}.pater") for k in range(len(models))]
    for name, model in zip(names, models, strict=True):
        model.save(name)
    return names


@pytest.mark.first_quick
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("words", [("false", "true"), ("False", "true"), ("FALSE", "TRUE")])
def test_the_first_spelling_stays(name: str, words: tuple[str, str], tmp_path: Path) -> None:
    learner = LEARNERS[name]
    expected = merge_all([half(learner, 0, "False", "True"), half(learner, 1, "False", "True")])
    for first, second in ((("False", "True"), words), (words, ("False", "True"))):
        models = half(learner, 0, *first), half(learner, 1, *second)
        both = merge_all(models)
        assert both.classes_.tolist() == list(first)
        assert [model.classes_.tolist() for model in models] == [list(first), list(second)]
        assert np.array_equal(both.coef_, expected.coef_)
        names = saved(tmp_path, *models)
        assert np.array_equal(
            merged(map(load, names), names)._fitted().state.vectors, both._fitted_model().state.vectors
        )
        assert both.partial_fit(X, np.array([False, True])[TRUTHS]).classes_.tolist() == list(first)


def test_the_first_that_has_them_may_be_the_second() -> None:
    models = [half(PATERClassifier, k, *words) for k, words in enumerate((("no", "yes"), ("false", "true")))]
    both = merge_all([*models, half(PATERClassifier, 0, "False", "True"), half(PATERClassifier, 0, "FALSE", "no")])
    assert both.classes_.tolist() == ["false", "no", "true", "yes"]


def refused(folder: Path, *models: Any) -> str:
    """The error for models that cannot be merged, in Python; the command line gives the same."""
    before = [model.coef_.copy() for model in models]
    with pytest.raises(ValueError, match="model 2 has") as error:
        merge_all(models)
    assert all(np.array_equal(model.coef_, was) for model, was in zip(models, before, strict=True))
    names = saved(folder, *models)
    with pytest.raises(InputError) as other:
        merged(map(load, names), names)
    told = str(error.value)
    assert str(other.value) == told.replace("model 1", names[0]).replace("model 2", names[1])
    return told


def test_another_order_of_the_classes_is_refused(tmp_path: Path) -> None:
    told = refused(tmp_path, half(PATERClassifier, 0, "False", "True"), half(PATERClassifier, 1, "false", "TRUE"))
    assert "classes=['TRUE', 'false'] where model 1 has classes=['False', 'True']. Train both" in told


@pytest.mark.parametrize("theirs", [["True", "true"], ["TRUE", "true"]])
def test_two_classes_of_before_are_not_made_one(theirs: list[str]) -> None:
    check_classes(np.array(theirs), np.array(theirs))
    with pytest.raises(DifferenceError, match="spelled alike"):
        check_classes(np.array(theirs), np.array(["False", "True"]))


@pytest.mark.parametrize("name", ["one", "pool", "batch"])
@pytest.mark.parametrize("first", [("False", "True"), ("false", "true"), (False, True), (0, 1)])
@pytest.mark.parametrize("second", [("False", "True"), (False, True), (0, 1)])
def test_words_truth_values_and_numbers_are_not_mixed(name: str, first: Any, second: Any, tmp_path: Path) -> None:
    kinds = {str: "text", bool: "truth values", int: "numbers"}
    if type(first[0]) is type(second[0]):
        return
    told = refused(tmp_path, half(LEARNERS[name], 0, *first), half(LEARNERS[name], 1, *second))
    assert f"{kinds[type(second[0])]} as classes, such as {second[0]!r}, where" in told
    assert f"has {kinds[type(first[0])]} as classes, such as {first[0]!r}." in told


def test_classes_that_are_spelled_alike_stay_the_same_array() -> None:
    for classes in (["False", "True"], ["false", "no"], ["no", "yes"], [0, 1], [False, True]):
        theirs = np.array(classes)
        assert classes_as_spelled(theirs, np.array(["false", "true"] if "false" in classes else classes)) is theirs
    assert classes_as_spelled(np.array(["true"], object), np.array(["TRUE"])).dtype == object
