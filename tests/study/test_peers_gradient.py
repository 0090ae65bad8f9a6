"""The compiled descents match the references, on dense and on sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from pater.reference import cost_sensitive as reference
from pater.study.peers.gradient import Descent, descend

Reference = Callable[[Any, Any], Any]

DESCENTS: dict[Descent, Reference] = {
    Descent("hinge I", "plain", 0.1): lambda X, y: reference.csogd(X, y, "I", 0.1),
    Descent("hinge II", "plain", 0.1): lambda X, y: reference.csogd(X, y, "II", 0.1),
    Descent("hinge I", "full", 2.0, 10.0): lambda X, y: reference.acog(X, y, "I", 2, 10),
    Descent("hinge II", "full", 0.5): lambda X, y: reference.acog(X, y, "II", 0.5),
    Descent("hinge I", "diagonal", 2.0): lambda X, y: reference.acog(X, y, "I", 2, diagonal=True),
    Descent("hinge II", "diagonal", 0.5, 10.0): lambda X, y: reference.acog(X, y, "II", 0.5, 10, diagonal=True),
    Descent("logistic", "AdaGrad", 0.3): lambda X, y: reference.adagrad(X, y, 0.3),
    Descent("logistic", "FTRL", 0.3): lambda X, y: reference.ftrl(X, y, 0.3),
}


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """Rows with many zeros and an all-zero column, a third of them positive, the first ones all negative."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 7)) * (rng.random((400, 7)) < 0.6)
    X[:, 3] = 0
    y = np.where(X @ rng.normal(size=7) + rng.normal(size=400) > 0.8, 1, -1)
    y[:5] = -1
    return X, y


@pytest.mark.parametrize("descent", DESCENTS, ids=str)
def test_a_pass_is_the_reference(descent: Descent, rows: tuple[Any, Any]) -> None:
    X, y = rows
    with_one = np.hstack([np.ones((len(X), 1)), X])
    expected = DESCENTS[descent](with_one, y)
    w, bias, margins = descend(descent, X, y > 0)
    np.testing.assert_allclose(np.append(bias, w), expected[-1], rtol=1e-9, atol=1e-12)
    before = np.vstack([np.zeros(8), expected[:-1]])
    np.testing.assert_allclose(margins, np.einsum("ij,ij->i", before, with_one), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("descent", DESCENTS, ids=str)
def test_dense_and_sparse_rows_are_the_same(descent: Descent, rows: tuple[Any, Any]) -> None:
    X, y = rows
    dense, sparse = (descend(descent, matrix, y > 0) for matrix in (X, csr_array(X)))
    for a, b in zip(dense, sparse, strict=True):
        np.testing.assert_array_equal(a, b)
