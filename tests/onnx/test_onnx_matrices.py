"""For rows of numbers, onnxruntime gives what `predict`, `decision_function` and `predict_proba` give."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler

import pater
from pater import stream
from pater.export import ExportError, document
from pater.onnx import feed, to_onnx

LEARNERS = {
    "perceptron": (pater.Perceptron, {"average": True}),
    "pa": (pater.PassiveAggressiveClassifier, {"C": 0.1}),
    "alma": (pater.ALMAClassifier, {}),
    "pater": (pater.PATERClassifier, {}),
    "pater-ii averaged": (pater.PATERClassifier, {"variant": "II", "average": True}),
    "so-pater": (pater.SecondOrderPATERClassifier, {}),
    "arow diagonal": (pater.AROWClassifier, {"covariance": "diagonal"}),
    "cw": (pater.ConfidenceWeightedClassifier, {}),
    "so-perceptron": (pater.SecondOrderPerceptron, {}),
    "auto": (pater.AutoPATERClassifier, {}),
    "auto wpater": (pater.AutoPATERClassifier, {"variants": ("I", "II")}),
    "ter": (pater.TERClassifier, {}),
}


def session(model):
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def check(model, X, *, of=None, **how):
    """Check that all outputs for X are the same, for `model` itself or for `of`, which is converted in its place."""
    runner = session(to_onnx(of or model, **how))
    names = [output.name for output in runner.get_outputs()]
    found = dict(zip(names, runner.run(None, feed(of or model, X, **how)), strict=True))
    wanted = model.predict(X)
    assert found["label"].shape == wanted.shape
    assert (found["label"] == wanted).all()
    close(found["margin"], model.decision_function(X))
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        close(found["probabilities"], model.predict_proba(X))


def close(found, wanted):
    assert found.dtype == np.float64
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def standard(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.first_quick
@pytest.mark.parametrize("name", LEARNERS)
def test_two_classes_at_an_operating_point(name):
    X, y = standard(load_breast_cancer)
    kind, settings = LEARNERS[name]
    if name != "ter":
        settings = {**settings, "probability": True, "operating_point": {"max_fpr": 0.05}}
    model = kind(**settings).fit(X, y)
    check(model, X)
    check(model, sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)), sparse=True)


@pytest.mark.parametrize("name", LEARNERS)
def test_three_classes(name):
    X, y = standard(load_wine)
    kind, settings = LEARNERS[name]
    model = kind(**settings, **({} if name == "ter" else {"probability": True})).fit(X, np.array(["a", "b", "c"])[y])
    check(model, X)
    check(model, sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)), sparse=True)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [0.0, 1.0], np.array([1, 2], np.uint8)])
def test_labels_are_what_they_were(labels):
    X, y = standard(load_breast_cancer)
    check(pater.Perceptron().fit(X, np.array(labels)[y]), X)


def test_a_stream_of_one_class_and_one_column():
    check(pater.PATERClassifier(probability=True).partial_fit([[1.0], [2.0]], [3, 3]), np.array([[1.0], [-5.0]]))
    X = np.linspace(-1, 1, 50)[:, None]
    check(pater.PATERClassifier(probability=True).fit(X, X[:, 0] > 0.3), X)


def test_a_factor_next_to_one_is_not_left_out():
    """Runtimes drop a factor that is 1 in single precision."""
    X, y = standard(load_breast_cancer)
    model = pater.PATERClassifier(probability=True).fit(X, y)
    told = document(model)
    chance = told["models"][0]["probability"]
    chance.update(size=1.0, slope=1.0 + 1e-8, offset=0.0)
    found = session(to_onnx(told)).run(["probabilities"], {"X": X})[0]
    margins = np.clip(model.decision_function(X), -chance["most"], chance["most"])
    close(found[:, 1], 1 / (1 + np.exp(-margins * chance["slope"])))


def test_rows_without_entries_keep_their_places():
    X, y = standard(load_breast_cancer)
    rows = sp.csr_array(np.where(np.arange(len(X))[:, None] % 3 == 1, X, 0.0))
    model = pater.PATERClassifier().fit(X, y)
    check(model, rows, sparse=True)
    check(model, rows[:1], sparse=True)
    assert session(to_onnx(model, sparse=True)).run(["label"], feed(model, rows[:0], sparse=True))[0].shape == (0,)


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_std=False), RobustScaler(), MaxAbsScaler()])
def test_a_scaler_is_inside(scaler):
    X, y = load_breast_cancer(return_X_y=True)
    check(make_pipeline(scaler, pater.AROWClassifier(probability=True)).fit(X, y), X)


def test_what_is_no_number_has_no_label():
    X, y = standard(load_breast_cancer)
    runner = session(to_onnx(pater.PATERClassifier().fit(X, y)))
    for bad in (np.nan, np.inf):
        rows = X[:3].copy()
        rows[1, 2] = bad
        with pytest.raises(Exception, match="class_of_a_row_whose_margin_is_finite"):
            runner.run(None, {"X": rows})
    with pytest.raises(Exception, match="Got: 3 Expected: 30"):
        runner.run(None, {"X": X[:, :3]})


@pytest.mark.parametrize("indptr", [[1, 2, 3], [0, 2, 1, 3], [0, 1, 2], [0, 1, 4], [-1, 2, 3], [0, -1, 3]])
def test_rows_that_do_not_begin_in_order(indptr):
    X, y = standard(load_breast_cancer)
    runner = session(to_onnx(pater.PATERClassifier().fit(X, y), sparse=True))
    rows = {"indptr": np.array(indptr), "indices": np.arange(3), "data": np.ones(3)}
    with pytest.raises(Exception, match=r"rows_begin_in_order|ScatterElements"):
        runner.run(None, rows)


@pytest.mark.parametrize("column", [-1, 30])
def test_a_column_that_there_is_not_has_no_weight(column):
    X, y = standard(load_breast_cancer)
    runner = session(to_onnx(pater.PATERClassifier().fit(X, y), sparse=True))
    rows = {"indptr": np.array([0, 1]), "indices": np.array([column]), "data": np.ones(1)}
    with pytest.raises(Exception, match="weights_of_columns"):
        runner.run(None, rows)


@pytest.mark.parametrize("labels", [[-(2**70), 2**70], [-1, 2**63 + 1], ["a", "a\0"]])
def test_labels_that_onnx_does_not_have(labels):
    X, y = standard(load_breast_cancer)
    told = {**document(pater.Perceptron().fit(X, y)), "classes": labels}
    with pytest.raises(ExportError, match="ONNX has no type for the labels"):
        to_onnx(told)


@pytest.mark.parametrize("wrong", [{}, {"form": 2, "input": {}}, {"form": 1}])
def test_a_dict_that_is_no_document(wrong):
    with pytest.raises(ExportError, match="the dict is not a document of form 1"):
        to_onnx(wrong)


def test_feeding_what_does_not_fit_is_an_error():
    pd = pytest.importorskip("pandas")
    X, y = standard(load_breast_cancer)
    model = pater.PATERClassifier().fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y)
    with pytest.raises(ValueError, match="rows of 2 numbers are wanted, not an array of shape"):
        feed(model, X)
    for rows in (X, X[0]):
        with pytest.raises(ValueError, match="rows of 2 columns are wanted, not a matrix of shape"):
            feed(model, rows, sparse=True)
    with pytest.raises(ValueError, match=r"the columns are \['b', 'a'\], but the model has \['a', 'b'\]"):
        feed(model, pd.DataFrame(X[:, :2], columns=["b", "a"]))


@pytest.mark.parametrize("scale", [False, True])
def test_a_model_of_indices_ignores_columns_that_it_has_not_seen(tmp_path, scale):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 20)) < 0.3, rng.normal(size=(300, 20)), 0.0)
    lines = [f"{int(row[0] > 0)} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row.tolist()) if x) for row in X]
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    learner = stream.train(tmp_path / "rows.svm", algo="pater-i", scale=scale)
    (tmp_path / "more.svm").write_text("\n".join([*lines[:20], "1 1:0.5 77:3.5"]))
    (batch,) = stream.read(tmp_path / "more.svm")
    label, margin = session(to_onnx(learner)).run(["label", "margin"], feed(learner, batch))
    wanted = learner.margins(batch)
    close(margin, wanted[:, 0])
    assert (label == learner.labels(wanted)).all()
