"""OnlinePipeline: a stream through transformers, as scikit-learn's Pipeline does for a whole set."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
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
