"""OnlinePipeline: a stream through transformers, as scikit-learn's Pipeline goes through a whole set."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pater import PATERClassifier
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
    assert "probability=True" in str(caught.value.__cause__.__cause__)


def test_steps_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="cannot transform"):
        OnlinePipeline([("a", PATERClassifier()), ("b", PATERClassifier())]).fit(X, Y)
    with pytest.raises(TypeError, match="no partial_fit"):
        OnlinePipeline([("a", StandardScaler()), ("b", FeatureHasher())]).partial_fit(X, Y)
    with pytest.raises(ValueError, match="names"):
        OnlinePipeline([]).fit(X, Y)
