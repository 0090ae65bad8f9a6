"""Predictions by block: lazy, of the right shape and type, and equal to the model's own."""

from __future__ import annotations

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import pater.dask
from pater import PATERClassifier, SecondOrderPATERClassifier
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="sync"):
        yield


def rows(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, np.digitize(X[:, 0], np.linspace(-0.5, 1, n_classes - 1))


KINDS = [("int64", 2), ("int64", 3), ("int16", 3), ("bool", 2), ("<U9", 2), ("<U9", 3)]


@pytest.mark.parametrize(("kind", "n_classes"), KINDS)
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_answers_of_arrays(method, kind, n_classes):
    X, y = rows(n_classes)
    model = PATERClassifier(probability=True).fit(X, y.astype(kind))
    blocks = da.from_array(X, chunks=(150, 3))
    wanted = getattr(model, method)(X)
    for given in (blocks, blocks[blocks[:, 0] > -99], da.concatenate([blocks, blocks[:0]])):
        answers = getattr(pater.dask, method)(model, given)
        assert answers.dtype == wanted.dtype
        assert answers.ndim == wanted.ndim
        assert answers.chunks[0] == given.chunks[0] or np.isnan(answers.chunks[0]).all()
        assert answers.shape[1:] == wanted.shape[1:]
        found = answers.compute()
        assert found.dtype == wanted.dtype
        assert (found == wanted).all()


@pytest.mark.parametrize(("kind", "n_classes"), KINDS)
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_answers_of_frames(method, kind, n_classes):
    X, y = rows(n_classes)
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(400) * 2)
    model = PATERClassifier(probability=True).fit(frame, y.astype(kind))
    blocks = dd.from_pandas(frame, npartitions=3)
    for given in (blocks, dd.concat([blocks, blocks[blocks["a"] > 99]])):
        answers = getattr(pater.dask, method)(model, given)
        found, wanted = answers.compute(), getattr(model, method)(frame)
        assert found.index.equals(frame.index)
        assert (found.to_numpy() == wanted).all()
        if wanted.ndim == 1:
            assert isinstance(found, pd.Series)
            assert answers.dtype == found.dtype
        else:
            assert answers.columns.tolist() == found.columns.tolist() == model.classes_.tolist()
            assert answers.dtypes.tolist() == found.dtypes.tolist()
    if method == "predict":
        both = blocks.assign(said=getattr(pater.dask, method)(model, blocks)).compute()
        assert (both["said"].to_numpy() == model.predict(frame)).all()


def test_a_pipeline_answers_of_a_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(["a", "b"], 300)})
    model = OnlinePipeline([("t", TableEncoder(warm_up=50)), ("m", SecondOrderPATERClassifier())])
    model.partial_fit(frame, frame["x"] > 0)
    said = pater.dask.decision_function(model, dd.from_pandas(frame, npartitions=2)).compute()
    assert (said.to_numpy() == model.decision_function(frame)).all()


def test_the_model_is_in_the_graph_once():
    X, y = rows(2)
    model = PATERClassifier().fit(np.hstack([X, np.ones((400, 5000))]), y)
    blocks = da.ones((400, 5003), chunks=(10, 5003))
    graph = dict(pater.dask.predict(model, blocks).__dask_graph__())
    assert len(graph) >= 81
    assert sum(len(cloudpickle.dumps(task)) > 10_000 for task in graph.values()) == 1


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda m, X: pater.dask.predict(m, X), TypeError, "X is a numpy ndarray"),
        (lambda m, X: pater.dask.predict(m, da.from_array(X, chunks=(100, 1))), ValueError, r"rechunk\(\{1: -1\}\)"),
        (lambda m, X: pater.dask.predict_proba(m, da.from_array(X)), AttributeError, "probability=True"),
        (lambda m, X: pater.dask.predict(PATERClassifier(), da.from_array(X)), ValueError, "not fitted"),
        (lambda m, X: pater.dask.predict("model", da.from_array(X)), TypeError, "model must be"),
        (lambda m, X: pater.dask.predict(m, da.from_array(X[:, :2])), ValueError, "2 features"),
        (lambda m, X: pater.dask.predict(m, da.from_array(X * np.nan)).compute(), ValueError, "block 0 .*NaN in row 0"),
    ],
)
def test_mistakes_are_said(call, kind, message):
    X, y = rows(2)
    with pytest.raises(kind, match=message):
        call(PATERClassifier().fit(X, y), X)
