"""A sparse row costs what it holds: the same time whether there are 2¹⁴ columns or 2²².

Times are medians of many calls, compared within one run, and the allowed factor is generous: a cost proportional to d
would be a factor of 256.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest
import scipy.sparse as sp

from pater import PATERClassifier
from pater.kernels.rules import RULES

FEW, MANY = 2**14, 2**22
FACTOR = 8


def sparse_rows(d, n, kind):
    """Fifty numbers per row; "duplicates": one row in both classes, so that z = 0 throughout."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        own = np.random.default_rng(0) if kind == "duplicates" else rng
        columns = np.sort(own.choice(d, 50, replace=False)).astype(np.int32)
        values = own.normal(size=50) + (1e6 if kind == "far" else 0)
        rows.append((sp.csr_array((values, columns, np.array([0, 50], np.int32)), shape=(1, d)), np.array([i % 2])))
    return rows


def median_time(model, rows, call):
    times = []
    for x, y in rows:
        start = time.perf_counter()
        call(model, x, y)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["usual", "duplicates", "far"])
def test_learning_from_one_row(rule, kind, learner):
    """Duplicates and means far from zero require care with ‖z‖²: that must not cost d per row either."""
    medians = []
    for d in (FEW, MANY):
        rows = sparse_rows(d, 300, kind)
        metric = {"covariance": "diagonal"} if RULES[rule].second_order else {}
        model = learner(rule, average=True, **metric).partial_fit(*rows[0], classes=[0, 1])
        medians.append(median_time(model, rows, lambda model, x, y: model.partial_fit(x, y)))
    assert medians[1] < FACTOR * medians[0]


@pytest.mark.parametrize("rule", ["perceptron", "pater-i", "pater-ii", "so-pater-i", "arow"])
@pytest.mark.parametrize("average", [True, False])
def test_asking_about_one_row(rule, average, learner):
    """The weights are not computed in full for it."""
    medians = []
    for d in (FEW, MANY):
        rows = sparse_rows(d, 200, "usual")
        metric = {"covariance": "diagonal"} if RULES[rule].second_order else {}
        model = learner(rule, average=average, **metric)
        for x, y in rows:
            model.partial_fit(x, y, classes=[0, 1])
        medians.append(median_time(model, rows, lambda model, x, y: model.decision_function(x)))
    assert medians[1] < FACTOR * medians[0]


@pytest.mark.slow
def test_the_whole_stream_is_amortised():
    """Not only the median: all rows together, including folds and scans of whole vectors."""
    totals = []
    for d in (FEW, 2**20):
        columns = np.sort(np.random.default_rng(0).integers(0, d, (20_000, 50)), axis=1)
        X = sp.csr_array((np.ones(10**6), columns.ravel().astype(np.int32), np.arange(20_001) * 50), shape=(20_000, d))
        X.sum_duplicates()
        y = np.resize([0, 1, 1], 20_000)
        PATERClassifier("II").fit(X[:100], y[:100])
        times = []
        for _ in range(3):
            start = time.perf_counter()
            PATERClassifier("II").fit(X, y)
            times.append(time.perf_counter() - start)
        totals.append(min(times))
    assert totals[1] < 2 * FACTOR * totals[0]  # 64 times the columns; the state no longer fits the cache


def test_one_row_calls_on_dense_rows_are_fast():
    """20 features: about ten microseconds on a quiet machine; the bound only excludes another order of magnitude."""
    X, y = np.random.default_rng(0).normal(size=(2000, 1, 20)), np.resize([0, 1], 2000)
    model = PATERClassifier().partial_fit(X[0], y[:1], classes=[0, 1])
    rows = [(X[i], y[i : i + 1]) for i in range(2000)]
    assert median_time(model, rows, lambda model, x, y: model.partial_fit(x, y)) < 150e-6
