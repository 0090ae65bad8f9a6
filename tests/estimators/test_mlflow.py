"""What MLflow calls to load a model file, without MLflow; the page docs/mlflow.md runs where it is installed."""

from __future__ import annotations

import numpy as np

import pater
from pater.mlflow import _load_pyfunc


def test_a_model_file_predicts(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = pater.PATERClassifier().fit(X, X[:, 0] > 0)
    model.save(tmp_path / "model.pater")
    assert (_load_pyfunc(str(tmp_path / "model.pater")).predict(X) == model.predict(X)).all()
