"""Any number of models merged: in order, with memory for two, and errors that say how which model differs."""

from __future__ import annotations

import copy
import pickle
import weakref
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from preprocessing.tables_to_encode import frame
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier

import pater
from pater import (
    AROWClassifier,
    AutoPATERClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    Perceptron,
    SecondOrderPATERClassifier,
    merge_all,
)
from pater.models.differences import DifferenceError
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

X = np.random.default_rng(0).standard_normal((600, 4))
Y = np.where(X[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(600) > 0.5, 1, 0)


def fitted(model, start=0, stop=600, y=Y):
    return model.partial_fit(X[start:stop], y[start:stop])


def fails(models, kind=ValueError):
    """The error of merging them; all of them must stay unchanged."""
    before = [pickle.dumps(model) for model in models]
    with pytest.raises(kind) as caught:
        merge_all(models)
    assert [pickle.dumps(model) for model in models] == before
    return str(caught.value)


DIFFERENT = [
    (AROWClassifier(r=1.0), AROWClassifier(r=10.0), "r=10.0 where model 1 has r=1.0"),
    (PATERClassifier("I"), PATERClassifier("II"), "variant='II' where model 1 has variant='I'"),
    (
        PATERClassifier(),
        PATERClassifier(fit_intercept=False),
        "fit_intercept=False where model 1 has fit_intercept=True",
    ),
    (
        PassiveAggressiveClassifier("PA-I"),
        PassiveAggressiveClassifier("PA-I", C=0.1, average=True),
        "C=0.1 where model 1 has C=1.0",
    ),
    (
        PATERClassifier(class_weight={0: 2.0}),
        PATERClassifier(class_weight={0: 3.0}),
        "class_weight={0: 3.0} where model 1 has class_weight={0: 2.0}",
    ),
    (Perceptron(), Perceptron(probability=True), "probability=True where model 1 has probability=False"),
    (
        PATERClassifier(),
        PATERClassifier(operating_point={"max_fpr": 0.1}),
        "operating_point={'max_fpr': 0.1} where model 1 has operating_point=None",
    ),
    (AutoPATERClassifier(), AutoPATERClassifier(forgetting=1.0), "forgetting=1.0 where model 1 has forgetting=None"),
    (
        AutoPATERClassifier(),
        AutoPATERClassifier(scoring="ter"),
        "scoring='ter' where model 1 has scoring='balanced_accuracy'",
    ),
    (AutoPATERClassifier(), AutoPATERClassifier(fading=0.9), "fading=0.9 where model 1 has fading=None"),
    (AutoPATERClassifier(), AutoPATERClassifier(variants=("I",)), "variants=('I',) where model 1 has variants=None"),
    (
        AutoPATERClassifier(discount=False),
        AutoPATERClassifier(class_weight="balanced"),
        "class_weight='balanced' where model 1 has class_weight=None",
    ),
    (
        SecondOrderPATERClassifier(covariance="full", average=False, random_state=1),
        SecondOrderPATERClassifier(covariance="diagonal", n_jobs=2),
        "covariance='diagonal' where model 1 has covariance='full'",
    ),
]


@pytest.mark.parametrize(("one", "other", "told"), DIFFERENT)
def test_the_first_difference_is_named(one, other, told):
    one, other = fitted(copy.deepcopy(one)), fitted(copy.deepcopy(other))
    assert fails([one, one, other]) == f"model 3 has {told}."
    with pytest.raises(DifferenceError) as caught:
        one.merge(other)
    assert str(caught.value) == f"cannot merge them: the other has {told.replace('model 1', 'this one')}."
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_does_not_matter_may_differ():
    params = ({"n_jobs": 1}, {"random_state": 3}, {"average": False}, {"n_passes": 2, "warm_start": True})
    assert merge_all(fitted(PATERClassifier(**each)) for each in params).t_ == 2400
    assert merge_all([fitted(AutoPATERClassifier()), fitted(AutoPATERClassifier(fading=0.985))]).t_ == 1200


def test_settings_that_were_changed_since_are_compared_as_they_were_learned():
    one, other = fitted(AROWClassifier(r=1.0)), fitted(AROWClassifier(r=10.0)).set_params(r=1.0)
    assert fails([one, other]) == "model 2 has r=10.0 where model 1 has r=1.0."


def test_features_and_classes_must_be_of_one_kind():
    model = fitted(PATERClassifier())
    narrow = PATERClassifier().fit(X[:, :3], Y)
    assert fails([model, narrow]) == "model 2 has n_features_in_=3 where model 1 has n_features_in_=4."
    named = [PATERClassifier().fit(pd.DataFrame(X, columns=list(names)), Y) for names in ("abcd", "abdc")]
    assert fails(named) == "model 2 has feature_names_in_[2]='d' where model 1 has feature_names_in_[2]='c'."
    assert merge_all([named[0], model, named[0]]).t_ == 1800  # a model without names takes those of the others
    text, truth = fitted(PATERClassifier(), y=np.where(Y, "yes", "no")), fitted(PATERClassifier(), y=Y == 1)
    assert (
        fails([model, text])
        == "model 2 has text as classes, such as 'no', where model 1 has numbers as classes, such as 0."
    )
    assert "truth values as classes, such as False" in fails([model, truth])
    assert merge_all([model, fitted(PATERClassifier(), y=Y.astype(float))]).classes_.tolist() == [0, 1]


def test_what_is_no_fitted_model_of_the_same_class():
    model = fitted(PATERClassifier())
    assert (
        fails([model, fitted(Perceptron())], TypeError) == "model 2 is a Perceptron where model 1 is a PATERClassifier."
    )
    assert fails([model, PATERClassifier()], NotFittedError).startswith("model 2 is not fitted: a PATERClassifier")
    assert fails([PATERClassifier()], NotFittedError).startswith("model 1 is not fitted")
    assert "model 2 is a SGDClassifier, which cannot be merged" in fails([model, SGDClassifier()], TypeError)
    assert "model 1 is a DataFrame, which cannot be merged" in fails([pd.DataFrame()], TypeError)
    assert "model 2 is a class PATERClassifier, which cannot" in fails([model, PATERClassifier], TypeError)
    assert "model 1 is a NoneType" in fails([None], TypeError)
    for path in ("a.pater", Path("a.pater")):
        for models in (path, [path], [model, path]):
            with pytest.raises(
                TypeError, match=r"the name of a file \('a.pater'\): use pater.load to get the model in it"
            ):
                merge_all(models)
    for models in (model, 3, None):
        with pytest.raises(TypeError, match="merge_all expects several models, for example in a list, not a"):
            merge_all(models)
    with pytest.raises(ValueError, match="at least one model"):
        merge_all([])


def test_classes_that_only_some_have_met():
    first = np.where(X[:, 1] > 1, 2, Y)
    parts = [
        fitted(PATERClassifier("II"), 0, 200),
        fitted(PATERClassifier("II"), 200, 300, np.ones(600, int)),  # one class only
        fitted(PATERClassifier("II"), 300, 600, first),  # a new one
        PATERClassifier("II").partial_fit(X[:5], Y[:5], sample_weight=np.zeros(5)),  # no row that counts
    ]
    both = merge_all(parts)
    assert both.classes_.tolist() == [0, 1, 2]
    assert both.t_ == 600
    assert np.isfinite(both.decision_function(X)).all()
    point = [PATERClassifier(operating_point={"max_fpr": 0.1}).partial_fit(X, y) for y in (Y, Y + 1)]
    assert fails(point).startswith(
        "model 2 cannot be merged with those before it: an operating point is for two classes"
    )
    fixed = [PATERClassifier().partial_fit(X, Y, classes=classes) for classes in ([0, 1], [0, 1, 2])]
    assert merge_all(fixed).classes_.tolist() == [0, 1, 2]


def test_a_model_that_has_seen_nothing_changes_nothing():
    empty = PATERClassifier("II").partial_fit(X[:5], Y[:5], sample_weight=np.zeros(5))
    model = fitted(PATERClassifier("II"))
    for several in ([model, empty], [empty, model], [empty, model, empty]):
        np.testing.assert_allclose(merge_all(several).coef_, model.coef_, rtol=1e-13)
    assert merge_all([empty, empty]).t_ == 0


def test_it_is_a_left_fold_and_a_copy_of_one():
    parts = [fitted(SecondOrderPATERClassifier(), at, at + 150) for at in range(0, 600, 150)]
    before = [pickle.dumps(part) for part in parts]
    both = merge_all(iter(parts))
    np.testing.assert_array_equal(both.coef_, reduce(lambda a, b: copy.copy(a).merge(b), parts).coef_)
    assert [pickle.dumps(part) for part in parts] == before
    one = merge_all(parts[:1])
    assert one is not parts[0]
    np.testing.assert_array_equal(one.coef_, parts[0].coef_)
    one.partial_fit(X, Y)
    assert pickle.dumps(parts[0]) == before[0]


def test_a_generator_is_held_one_model_at_a_time():
    alive, most = weakref.WeakSet(), []

    def models():
        for at in range(0, 600, 100):
            most.append(len(alive))
            model = fitted(PATERClassifier(), at, at + 100)
            alive.add(model)
            yield model
            del model

    assert merge_all(models()).t_ == 600
    assert most == [0] * 6  # all that were yielded are gone before the next is made


def table_models(n=3, **params):
    table = frame(1200).drop(columns=["note", "id"])
    y = (table["normal"].fillna(0) > 0.3).to_numpy().astype(int)
    begun = OnlinePipeline(
        [("table", TableEncoder(warm_up=300, **params)), ("model", AROWClassifier(covariance="diagonal"))]
    )
    begun.partial_fit(table[:300], y[:300])
    return [
        copy.deepcopy(begun).partial_fit(table[at : at + 300], y[at : at + 300])
        for at in range(300, 300 * (n + 1), 300)
    ]


def test_pipelines_and_encoders():
    models = table_models()
    both = merge_all(models)
    assert both.named_steps["table"].encoding_.rows == 1800
    encoder = merge_all(model.named_steps["table"] for model in models)
    assert encoder.get_feature_names_out().tolist() == both.named_steps["table"].get_feature_names_out().tolist()
    other = table_models(1, clip=4.0)[0]
    assert fails([*models, other]) == "model 4 has clip=4.0 where model 1 has clip=3.0."
    assert fails([models[0].named_steps["table"], other.named_steps["table"]]) == (
        "model 2 has clip=4.0 where model 1 has clip=3.0."
    )
    coarse = table_models(1, resolution="coarse")[0]
    assert fails([*models, coarse]) == "model 4 has resolution='coarse' where model 1 has resolution='nested'."
    apart = OnlinePipeline([("table", TableEncoder(warm_up=300)), ("model", AROWClassifier(covariance="diagonal"))])
    table = frame(300, seed=5).drop(columns=["note", "id"])
    apart.partial_fit(table, np.arange(300) % 2)
    assert fails([models[0], apart]).startswith("model 2 has bins=") or "edges[" in fails([models[0], apart])
    held = OnlinePipeline([("table", TableEncoder(warm_up=300)), ("model", AROWClassifier(covariance="diagonal"))])
    held.partial_fit(table[:100], np.arange(100) % 2)
    assert "once they have learned from 300 rows (warm_up); the other has learned from 100" in fails([models[0], held])
    assert "this one has learned from 100" in fails([held, models[0]])
    twice = copy.deepcopy(models[0])
    twice.steps = [("table", twice.steps[0][1]), ("model", fitted(Perceptron()))]
    assert "the other has TableEncoder and Perceptron, this one has TableEncoder and AROWClassifier" in fails(
        [models[0], twice], TypeError
    )
    unlearned = copy.deepcopy(models[0])
    unlearned.steps = [("table", unlearned.steps[0][1]), ("model", AROWClassifier(covariance="diagonal"))]
    assert "model 2 is not fitted" in fails([models[0], unlearned], NotFittedError)


def test_models_of_files_one_by_one(tmp_path):
    for k in range(3):
        fitted(AROWClassifier(), 200 * k, 200 * k + 200).save(tmp_path / f"{k}.pater")
    both = merge_all(pater.load(path) for path in sorted(tmp_path.iterdir()))
    assert both.t_ == 600
