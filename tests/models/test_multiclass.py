"""More than two classes: one against the rest in one pass, and classes that appear on the way.

A class that was not named is added before the row that brings it. The models of the first two classes are those of a
stream in which they were known from the start: with one or two classes, the model of either is the mirror image of the
other. The model of any later class has seen nothing before the row that brings it.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from pater import AutoPATERClassifier, PATERClassifier
from pater.kernels.rules import RULES
from pater.models import newcomers
from pater.models.model import Model
from pater.models.spec import Spec
from pater.models.warnings import ManyClassesWarning

FORMS = [(4, "dense-f8"), (70, "dense-f8"), (4, "csr-f8-i4")]


def close(a, b, *, within=1e-11):
    np.testing.assert_allclose(a, b, rtol=0, atol=within * np.abs(b).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
@pytest.mark.parametrize("first", [-1, 1])
def test_a_binary_stream_that_begins_with_one_class(rule, d, form, first, learner, as_form, stream, bits):
    """With or without `classes` up front, in one call or many: exactly the same."""
    X, y = stream(300, d)
    y[:40] = first
    X = as_form(X, form)
    named = learner(rule, average=True, class_weight="balanced").partial_fit(X, y, classes=[-1, 1])
    found = learner(rule, average=True, class_weight="balanced").partial_fit(X, y)
    cut = learner(rule, average=True, class_weight="balanced")
    for rows in (slice(0, 1), slice(1, 40), slice(40, 300)):
        cut.partial_fit(X[rows], y[rows])
    assert {**bits(named), "fixed": False} == bits(found) == bits(cut)


@pytest.mark.parametrize("rule", RULES)
def test_while_there_is_one_class(rule, learner):
    model = learner(rule).partial_fit([[1.0, 2.0]] * 3, ["only"] * 3)
    assert model.classes_.tolist() == ["only"]
    assert model.predict([[9.0, -9.0], [0.0, 0.0]]).tolist() == ["only", "only"]
    assert model.decision_function([[1.0, 2.0]])[0] > 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
def test_the_first_two_classes_lose_nothing_when_a_third_turns_up(rule, d, form, learner, as_form, stream):
    X, y = stream(400, d)
    y[250:][X[250:, 0] > 0.5] = 3
    y[249] = 3
    X = as_form(X, form)
    model = learner(rule, average=True).partial_fit(X, y)
    assert model.classes_.tolist() == [-1, 1, 3]
    for k, label in enumerate([-1, 1]):
        alone = learner(rule, average=True).partial_fit(X, y == label, classes=[False, True])
        close(model.coef_[k], alone.coef_[0])
        close(model.intercept_[k : k + 1], alone.intercept_, within=1e-10)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "form"), FORMS)
@pytest.mark.parametrize("label", [-7, 0, 3])
def test_the_model_of_a_later_class_starts_at_the_row_that_brings_it(rule, d, form, label, learner, as_form, stream):
    X, y = stream(400, d)
    y[250:][X[250:, 0] > 0.5] = label
    y[249] = label
    X = as_form(X, form)
    model = learner(rule).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    place = model.classes_.tolist().index(label)
    since = learner(rule).partial_fit(X[249:], y[249:] == label, classes=[False, True])
    assert model.coef_[place].tobytes() == since.coef_[0].tobytes()
    assert model.intercept_[place] == since.intercept_[0]
    assert model.t_ == 400


@pytest.mark.filterwarnings("ignore::pater.models.warnings.ManyClassesWarning")
def test_many_classes_in_any_order_of_appearance(stream, bits):
    """More than the table of labels holds; classes_ is sorted, and each column belongs to its class."""
    X, _ = stream(3000, 6)
    y = np.random.default_rng(0).permutation(3000) % 100
    model = PATERClassifier(n_jobs=2)
    for start in range(0, 3000, 37):
        model.partial_fit(X[start : start + 37], y[start : start + 37])
    assert model.classes_.tolist() == list(range(100))
    assert bits(model) == bits(PATERClassifier().partial_fit(X, y))
    first = [int(np.flatnonzero(y == label)[0]) for label in range(100)]
    late = int(np.argmax(first))
    since = PATERClassifier().partial_fit(X[first[late] :], y[first[late] :] == late, classes=[False, True])
    assert model.coef_[late].tobytes() == since.coef_[0].tobytes()


@pytest.mark.parametrize("rule", RULES)
def test_classes_named_up_front_have_models_from_the_start(rule, learner, stream):
    X, y = stream(300, 4)
    model = learner(rule).partial_fit(X, y, classes=[-1, 1, 5])
    assert model.classes_.tolist() == [-1, 1, 5]
    assert model.coef_.shape == (3, 4)
    never = learner(rule).partial_fit(X, np.zeros(300, bool), classes=[False, True])
    assert model.coef_[2].tobytes() == never.coef_[0].tobytes()


def test_naming_classes_later_fixes_them(stream):
    X, y = stream(300, 4)
    model = PATERClassifier().partial_fit(X, y).partial_fit(X, y, classes=[-1, 1, 5])
    assert model.classes_.tolist() == [-1, 1, 5]
    with pytest.raises(ValueError, match="row 1"):
        model.partial_fit(X[:2], [1, 9])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X[:2], [1, 5], classes=[1, 5])


def test_warm_start_takes_new_classes_along(stream):
    X, y = stream(300, 4)
    model = PATERClassifier(warm_start=True).fit(X, y)
    model.fit(X, np.where(y > 0, 7, y))
    assert model.classes_.tolist() == [-1, 1, 7]
    assert model.t_ == 600


def test_the_class_weight_of_a_class_weighs_in_its_own_model(stream):
    """With three or more classes, a class's weight is α⁺ in its own model, and α⁻ is 1."""
    X, y = stream(500, 4)
    y[X[:, 0] > 1] = 3
    model = PATERClassifier(class_weight={1: 2.5, 3: 0.5}).fit(X, y)
    for k, (label, alpha) in enumerate([(-1, 1.0), (1, 2.5), (3, 0.5)]):
        alone = PATERClassifier(class_weight={True: alpha, False: 1.0}).fit(X, y == label)
        assert model.coef_[k].tobytes() == alone.coef_[0].tobytes()


@pytest.mark.parametrize("labels", [["ant", "bee"], [False, True], [10, -3], [1.0, 2.0], np.array(["x", "y"], object)])
def test_any_kind_of_label(labels, stream):
    X, y = stream(300, 4)
    labels = np.asarray(labels)
    named = labels[(y > 0).astype(int)]
    model = PATERClassifier().fit(X, named)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == labels.dtype
    assert (model.predict(X) == model.classes_[(model.decision_function(X) >= 0).astype(int)]).all()
    assert set(model.predict(X)) == set(labels.tolist())
    rows = PATERClassifier()
    for i in range(60):
        rows.partial_fit(X[i : i + 1], named[i : i + 1])
    assert rows.classes_.tolist() == model.classes_.tolist()


def test_labels_of_one_stream_are_of_one_kind(stream, unchanged_by):
    """Text in a stream of numbers would turn the numbers into text, and 0 into another class than "0"."""
    X, y = stream(100, 4)
    model = PATERClassifier().partial_fit(X, y)
    message = unchanged_by(model, lambda: model.partial_fit(X[:1], ["1"]))
    assert "y " in message
    model = PATERClassifier().partial_fit(X, np.where(y > 0, "a", "b"))
    unchanged_by(model, lambda: model.partial_fit(X[:1], [1]))
    model = PATERClassifier().partial_fit(X, y).partial_fit(X, y.astype(float)).partial_fit(X, y.astype(np.int8))
    assert model.classes_.tolist() == [-1, 1]


def test_longer_names_that_turn_up_later(stream):
    X, _ = stream(3, 4)
    model = PATERClassifier()
    for i, name in enumerate(["b", "much longer", "a"]):
        model.partial_fit(X[i : i + 1], [name])
    assert model.classes_.tolist() == ["a", "b", "much longer"]


@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_several_new_classes_at_once_are_as_one_after_the_other(form, as_form, stream):
    """Weights, counts and history, with one model per class and with many, for any chunks."""
    X, _ = stream(900, 5)
    X, y = as_form(X, form), np.random.default_rng(1).permutation(900) % 12 * 3
    weights = np.random.default_rng(2).random(900)
    for learner in (PATERClassifier, AutoPATERClassifier):
        whole = learner(n_jobs=2).partial_fit(X, y, sample_weight=weights)
        cut = learner()
        for start, stop in itertools.pairwise([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 40, 41, 900]):
            cut.partial_fit(X[start:stop], y[start:stop], sample_weight=weights[start:stop])
        assert whole.coef_.tobytes() == cut.coef_.tobytes()
        a, b = whole._model, cut._model
        assert a.state.scalars.tobytes() == b.state.scalars.tobytes()
        if a.history is not None:
            assert [rows for rows, _ in a.history.points] == [rows for rows, _ in b.history.points]
            for (_, ours), (_, theirs) in zip(a.history.points, b.history.points, strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_new_classes_do_not_copy_the_state_each(stream, monkeypatch):
    copies = []
    for name in ("joined", "among"):
        change = getattr(newcomers, name)
        monkeypatch.setattr(newcomers, name, lambda *given, change=change: copies.append(1) or change(*given))
    X, _ = stream(400, 4)
    PATERClassifier().partial_fit(X, np.arange(400) % 90)
    assert len(copies) < 10


def test_a_bad_row_among_new_classes_is_named(stream):
    X, _ = stream(60, 4)
    X[37, 2] = np.nan
    model = PATERClassifier()
    with pytest.raises(ValueError, match="NaN in row 37, column 2"):
        model.partial_fit(X, np.arange(60) % 50)
    assert not hasattr(model, "classes_")


def test_a_hundred_classes_are_worth_a_word(stream):
    X, _ = stream(400, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PATERClassifier().fit(X, np.arange(400) % 99)
    with pytest.warns(ManyClassesWarning, match="100 classes so far"):
        PATERClassifier().fit(X, np.arange(400) % 100)
    model = PATERClassifier().partial_fit(X[:99], np.arange(99))
    with pytest.warns(ManyClassesWarning, match="101 classes so far"):
        model.partial_fit(X[99:101], np.arange(99, 101))
    model.partial_fit(X[101:], np.arange(101, 400))  # one warning is enough


@pytest.mark.parametrize(("n_labels", "n_weights"), [(4, 0), (8, 0), (6, 5), (6, 8)])
def test_rows_that_bring_classes_need_a_label_and_a_weight_each(n_labels, n_weights):
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = Model.new(np.empty(0, np.int64), 3, (Spec("pater-i"),))
    with pytest.raises(ValueError, match=r"there are 6 rows, but .* one is needed for each row"):
        model.learn((X,), np.arange(n_labels) % 2, weights=np.ones(n_weights))
    assert model.classes.size == 0
