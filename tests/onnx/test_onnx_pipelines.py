"""Scikit-learn pipelines that end with a classifier of pater are converted by skl2onnx."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pater
from pater.estimators.load import ESTIMATORS
from pater.onnx import register

register()


def answers(model, types, rows, **more):
    converted = convert_sklearn(model, initial_types=types, **more).SerializeToString()
    runner = onnxruntime.InferenceSession(converted, providers=["CPUExecutionProvider"])
    names = [output.name for output in runner.get_outputs()]
    return dict(zip(names, runner.run(None, rows), strict=True))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_a_pipeline_answers_alike(name, load):
    X, y = load(return_X_y=True)
    more = {} if name == "TERClassifier" else {"probability": True}
    labels = np.array(["a", "b", "c"])[y]
    model = make_pipeline(StandardScaler(), PCA(5), ESTIMATORS[name](**more)).fit(X, labels)
    found = answers(model, [("X", DoubleTensorType([None, X.shape[1]]))], {"X": X}, options={"zipmap": False})
    assert (found["label"] == model.predict(X)).all()
    np.testing.assert_allclose(found["margin"], model.decision_function(X), rtol=1e-9, atol=1e-9)  # PCA is not ours
    if more:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=1e-9, atol=1e-9)


def test_columns_of_their_own():
    X, y = load_breast_cancer(return_X_y=True)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 90, "large", "small")})
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(columns, pater.PATERClassifier()).fit(table, y == 1)
    types = [("a", DoubleTensorType([None, 1])), ("b", DoubleTensorType([None, 1])), ("c", StringTensorType([None, 1]))]
    found = answers(model, types, {name: table[[name]].to_numpy() for name in table})
    assert (found["label"] == model.predict(table)).all()
    np.testing.assert_allclose(found["margin"], model.decision_function(table), rtol=1e-12, atol=1e-12)
    alone = pater.PATERClassifier().fit(table[["a", "b"]], y)
    found = answers(alone, types[:2], {name: table[[name]].to_numpy() for name in ("a", "b")})
    np.testing.assert_allclose(found["margin"], alone.decision_function(table[["a", "b"]]), rtol=1e-12, atol=1e-12)


def test_rows_of_single_precision():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    model = pater.Perceptron().fit(X, y)
    found = answers(model, [("X", FloatTensorType([None, 30]))], {"X": X})
    np.testing.assert_allclose(found["margin"], model.decision_function(X), rtol=1e-12, atol=1e-12)


def test_inside_of_another_classifier_it_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    model = CalibratedClassifierCV(pater.PATERClassifier()).fit(X, y)
    with pytest.raises(RuntimeError, match="not inside another classifier"):
        answers(model, [("X", DoubleTensorType([None, 30]))], {"X": X})


def test_an_older_opset_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(RuntimeError, match="need target_opset=18 or later, not 15"):
        answers(pater.Perceptron().fit(X, y), [("X", DoubleTensorType([None, 30]))], {"X": X}, target_opset=15)
