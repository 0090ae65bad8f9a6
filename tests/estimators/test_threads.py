"""How many threads learn: `n_jobs` as everywhere in scikit-learn."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from pater import AutoPATERClassifier, PATERClassifier
from pater.estimators import online

X = np.random.default_rng(0).normal(size=(600, 3))
y = np.arange(600) % 3


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (1, 1), (3, 3), (-1, None), (-2, 3), (-4, 1), (-9, 1)])
def test_how_many(n_jobs, threads, monkeypatch):
    monkeypatch.setattr(online, "available_threads", lambda: 4)
    model = PATERClassifier(n_jobs=n_jobs).fit(X, y)
    assert model._threads(model._model, (X,)) == threads


def test_none_is_what_the_context_says():
    model = AutoPATERClassifier(("I", "II")).fit(X, y)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert model._threads(model._model, (X,)) == 3
        model.set_params(n_jobs=2)
        assert model._threads(model._model, (X,)) == 2
    assert AutoPATERClassifier(("I", "II"))._threads(model._model, (X,)) == 1


def test_a_row_or_two_are_learned_at_once():
    model = AutoPATERClassifier(("I", "II")).fit(X, y)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert model._threads(model._model, (X[:2],)) == 1
