"""Scaling along the stream: at every row as StandardScaler would have learned up to it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from pater.models.matrices import rows_of
from pater.preprocessing.scaling import Scaler


def test_dense_rows() -> None:
    X = np.random.default_rng(0).standard_normal((50, 4)) * [1, 100, 1e-3, 0] + [0, 1e6, 5, 3]
    scaler, scaled = Scaler.new(4), X.copy()
    scaler((scaled,), learn=True)
    for k in range(2, 50):
        want = StandardScaler().fit(X[: k + 1]).transform(X[k : k + 1])[0]
        np.testing.assert_allclose(scaled[k], want, rtol=1e-6, atol=1e-9)
    again = X.copy()
    scaler((again,), learn=False)
    np.testing.assert_allclose(again, StandardScaler().fit_transform(X), rtol=1e-6, atol=1e-9)


def test_sparse_rows() -> None:
    X = sp.random_array((60, 8), density=0.3, rng=np.random.default_rng(1), format="csr")
    X.data += 1
    rows = rows_of(X.copy())
    scaler = Scaler.new(8)
    scaler(rows, learn=True)
    got = sp.csr_array((rows[2], X.indices, X.indptr), X.shape)
    for k in range(20, 60):
        want = StandardScaler(with_mean=False).fit(X[: k + 1]).transform(X[[k]])
        np.testing.assert_allclose(got[[k]].toarray(), want.toarray(), rtol=1e-9)


def test_missing_values_are_the_mean() -> None:
    X = np.array([[1.0, 5.0], [np.nan, 7.0], [3.0, np.nan], [5.0, 6.0]])
    scaler = Scaler.new(2)
    scaler((X,), learn=True)
    assert (X[1, 0], X[2, 1]) == (0, 0)
    np.testing.assert_allclose(scaler.mean, [3, 6])


def test_any_cut_gives_the_same_bits() -> None:
    X = np.random.default_rng(2).standard_normal((40, 3))
    a, b = Scaler.new(3), Scaler.new(3)
    whole, parts = X.copy(), X.copy()
    a((whole,), learn=True)
    for start in range(0, 40, 7):
        b((parts[start : start + 7],), learn=True)
    assert whole.tobytes() == parts.tobytes()
    assert a.square.tobytes() == b.square.tobytes()
