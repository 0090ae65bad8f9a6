"""OnlinePipeline: a stream through transformers, as scikit-learn's Pipeline does for a whole set."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import DataConversionWarning, UnsetMetadataPassedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pater import PATERClassifier
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

X = np.random.default_rng(0).standard_normal((300, 4)) * [1, 10, 100, 1000]
Y = (X[:, 1] > 5).astype(int)


def test_fit_is_that_of_a_pipeline() -> None:
    ours = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())]).fit(X, Y)
    theirs = make_pipeline(StandardScaler(), PATERClassifier()).fit(X, Y)
    np.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))
    np.testing.assert_array_equal(ours.classes_, [0, 1])


def test_partial_fit_goes_through_every_step() -> None:
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())])
    scaler, last = StandardScaler(), PATERClassifier()
    for start in range(0, 300, 60):
        some = slice(start, start + 60)
        model.partial_fit(X[some], Y[some], classes=[0, 1])
        last.partial_fit(scaler.partial_fit(X[some], Y[some]).transform(X[some]), Y[some], classes=[0, 1])
    np.testing.assert_array_equal(model.predict(X), last.predict(scaler.transform(X)))
    assert model.score(X, Y) > 0.8


WEIGHTS = np.where(Y == 1, 50.0, 1.0)


@pytest.mark.parametrize("first", [StandardScaler, TableEncoder])
def test_weights_are_named_as_in_any_classifier_or_as_in_a_pipeline(first: Any) -> None:
    def fitted(call: str, *arguments: Any, **params: Any) -> Any:
        model = OnlinePipeline([("first", first()), ("learn", PATERClassifier())])
        return getattr(model, call)(X, Y, *arguments, **params).decision_function(X)

    for call, before in (("fit", ()), ("partial_fit", ([0, 1],))):
        weighted = fitted(call, *before, WEIGHTS)
        np.testing.assert_array_equal(fitted(call, *before, sample_weight=WEIGHTS), weighted)
        np.testing.assert_array_equal(fitted(call, *before, learn__sample_weight=WEIGHTS), weighted)
        assert (fitted(call, *before) != weighted).any()
    with pytest.raises(
        TypeError, match=r"only the last step, 'learn', learns with parameters, got \['first__weights'\]"
    ):
        fitted("fit", first__weights=WEIGHTS)


def test_weights_reach_the_pipeline_through_others() -> None:
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())])
    AdaBoostClassifier(model, n_estimators=2).fit(X, Y)
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError):  # not ignored without a word
            cross_validate(model, X, Y, params={"sample_weight": WEIGHTS})
        asking = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weighted, plain = (
            cross_validate(asking, X, Y, params=params, return_estimator=True)["estimator"]
            for params in ({"sample_weight": WEIGHTS}, {})
        )
    for a, b in zip(weighted, plain, strict=True):
        assert (a.decision_function(X) != b.decision_function(X)).any()


def test_a_class_in_place_of_a_step() -> None:
    for steps in ([("a", StandardScaler), ("b", PATERClassifier())], [("a", StandardScaler()), ("b", PATERClassifier)]):
        for call in ("fit", "partial_fit"):
            with pytest.raises(
                TypeError, match=r"step '.' is a class: give an object, (StandardScal|PATERClassifi)er\(\)"
            ):
                getattr(OnlinePipeline(steps), call)(X, Y)


def test_steps_that_need_no_learning() -> None:
    rows = [{"a": 1.0, "b": float(k % 2)} for k in range(50)]
    model = OnlinePipeline([("hash", FeatureHasher(16)), ("learn", PATERClassifier())])
    model.partial_fit(rows, [k % 2 for k in range(50)])
    assert model.predict(rows[:2]).tolist() == [0, 1]


def test_parameters() -> None:
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())])
    model.set_params(learn__variant="II", scale__with_mean=False)
    assert model.get_params()["learn__variant"] == "II"
    assert clone(model).named_steps["learn"].variant == "II"
    with pytest.raises(ValueError, match="no parameter"):
        model.set_params(nothing__at="all")


def test_why_there_are_no_probabilities() -> None:
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())]).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(X)
    assert "probability=True" in str(caught.value)
    assert "'learn'" in str(caught.value)
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_log_proba': set probability=True"):
        model.named_steps["learn"].predict_log_proba(X)
    assert "Probabilities" in PATERClassifier.predict_proba.__doc__


def test_logarithms_of_probabilities() -> None:
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier(probability=True))]).fit(X, Y)
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


def test_a_failed_call_changes_no_step(unchanged_by: Any) -> None:
    for last in (PATERClassifier(), SGDClassifier(random_state=0)):
        model = OnlinePipeline([("scale", StandardScaler()), ("learn", last)])
        unchanged_by(model, lambda model=model: model.partial_fit(X, ["x"] * 3))
        model.partial_fit(X, Y, classes=[0, 1])
        unchanged_by(model, lambda model=model: model.partial_fit(X * 5, ["x"] * 300))
        unchanged_by(model, lambda model=model: model.fit(X, np.zeros(300)))
        unchanged_by(model, lambda model=model: model.fit(X, Y, sample_weight=np.zeros(300)))
        assert model.predict(X).size == 300


def test_copies_learn_by_themselves() -> None:
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", SGDClassifier(random_state=0))])
    before = model.partial_fit(X, Y, classes=[0, 1]).decision_function(X).tolist()
    copy.copy(model).partial_fit(X * 3, 1 - Y)
    assert model.decision_function(X).tolist() == before


@pytest.mark.parametrize("first", [StandardScaler(), TableEncoder(warm_up=200)])
def test_labels_and_weights_in_every_form(first: Any) -> None:
    """`partial_fit` accepts what `fit` accepts, and both give the same classes."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    for y in (pd.Series(Y, dtype="Int64"), pd.Series(Y, dtype="boolean"), Y.tolist(), Y[:, None]):
        models = [OnlinePipeline([("first", clone(first)), ("learn", PATERClassifier())]) for _ in range(2)]
        with pytest.warns(DataConversionWarning) if np.ndim(y) == 2 else contextlib.nullcontext():
            models[0].fit(frame, y, sample_weight=2.0)
        with pytest.warns(DataConversionWarning) if np.ndim(y) == 2 else contextlib.nullcontext():
            models[1].partial_fit(frame, y, sample_weight=2.0)
        kinds = [model.classes_.dtype for model in models]
        assert kinds[0] == kinds[1] == (bool if getattr(y, "dtype", None) == "boolean" else int)
        assert models[1].n_features_in_ == 4
        assert models[1].feature_names_in_.tolist() == list("abcd")
    assert not hasattr(OnlinePipeline([("first", clone(first)), ("learn", PATERClassifier())]), "n_features_in_")


def test_steps_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="cannot transform"):
        OnlinePipeline([("a", PATERClassifier()), ("b", PATERClassifier())]).fit(X, Y)
    with pytest.raises(TypeError, match="no partial_fit"):
        OnlinePipeline([("a", StandardScaler()), ("b", FeatureHasher())]).partial_fit(X, Y)
    with pytest.raises(ValueError, match="names"):
        OnlinePipeline([]).fit(X, Y)
