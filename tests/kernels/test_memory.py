"""Input in a form that the kernels read is never copied: memory grows with d and a few bytes per row, not with n·d."""

from __future__ import annotations

import contextlib
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from pater import PATERClassifier
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.search import alpha_grid
from pater.models.spec import Spec

N, D = 10**6, 20
A_ROW = 20  # bytes: its code takes 8, and 8 more while the classes are sorted
SLACK = 300_000


@contextlib.contextmanager
def allocates_at_most(limit):
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= limit


@pytest.fixture(
    scope="module", params=["dense-f8", "dense-f4", pytest.param("csr-f8-i4", marks=pytest.mark.slow), "csr-f4-i8"]
)
def big(request, as_form):
    """A million rows of 20 columns, or as many numbers in a sparse matrix."""
    rng = np.random.default_rng(0)
    kind, floats, *index = request.param.split("-")
    X = rng.random((N, D), np.float32)
    if kind == "dense":
        X = X.astype(floats, copy=False)
    else:
        columns = np.tile(np.arange(D, dtype=index[0]), N)
        X = sp.csr_array((X.ravel().astype(floats), columns, np.arange(N + 1, dtype=index[0]) * D), shape=(N, D))
    y = np.where(rng.random(N) < 0.3, 1, -1)
    few = np.resize([1, -1], 10)  # compiled before anything is measured
    PATERClassifier().fit(X[:10], few).partial_fit(X[:10], few).predict(X[:10])
    return X, y


@pytest.mark.parametrize("rule", ["pa", "pater-i", "pater-ii"])
def test_fit(rule, big, learner):
    X, y = big
    learner(rule).fit(X[:10], np.resize([1, -1], 10))
    with allocates_at_most(A_ROW * N + SLACK):
        learner(rule).fit(X, y)


def test_fit_with_all_that_a_call_may_have(big):
    """Importances are read in place; a random order takes 8 bytes per row, and 8 more while it is drawn."""
    X, y = big
    s = np.ones(N)
    model = PATERClassifier(average=True, shuffle=True, random_state=0, class_weight="balanced", n_passes=2)
    model.fit(X[:10], np.resize([1, -1], 10), sample_weight=s[:10])
    with allocates_at_most((A_ROW + 16 + 2) * N + SLACK):
        model.fit(X, y, sample_weight=s)


def test_partial_fit(big):
    X, y = big
    model = PATERClassifier().partial_fit(X[:10], np.resize([1, -1], 10))
    with allocates_at_most(A_ROW * N + SLACK):
        model.partial_fit(X, y)


def test_predictions(big):
    X, y = big
    model = PATERClassifier().fit(X[:1000], y[:1000])
    model.predict(X[:10])
    with allocates_at_most(3 * 8 * N + 2 * 8 * 4096 * D + SLACK):
        model.predict(X)


def test_a_wide_model_takes_a_few_vectors():
    """Four per model (and as many for a copy while a call may still fail), whatever the batch holds."""
    d = 2**18
    X = sp.csr_array((np.ones(1000), np.arange(1000, dtype="i4") * 200, np.arange(1001, dtype="i4")), shape=(1000, d))
    y = np.resize([1, -1], 1000)
    PATERClassifier().fit(X, y)
    with allocates_at_most(2 * 4 * 8 * d + SLACK):
        PATERClassifier().fit(X, y)
    model = PATERClassifier().fit(X, y)
    model.partial_fit(X[:1], y[:1]).predict(X[:1])
    with allocates_at_most(SLACK):
        for i in range(100):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            model.predict(X[i : i + 1])


def test_the_second_class_of_a_search(as_form):
    """Mirrored models need room for themselves, and for one more at a time."""
    specs, d = tuple(Spec(rule, alphas=pair) for pair in alpha_grid() for rule in ("pater-i", "pater-ii")), 4_000
    rows = rows_of(as_form(np.random.default_rng(0).normal(size=(3, d)), "csr-f8-i4"))
    model = Model.new(np.array([0]), d, specs)
    model.learn(rows, np.zeros(3, np.int64))
    assert model.state.layout == "herd"
    model.copy().add_class(1)  # compiled before anything is measured
    one = 8 * 4 * d
    with allocates_at_most((2 * len(specs) + 6) * one + SLACK):  # once as zeros that are never touched
        model.add_class(1)
    assert model.state.n_models == len(specs)
