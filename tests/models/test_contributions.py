"""Terms that make up a margin to the bit, whatever they are."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np
import pytest

from pater.models.contributions import contributions, exact


def add_up(found, r, k):
    terms = [*found.terms[r, k].tolist(), found.base[r, k], found.rounding[r, k]]
    return reduce(add, terms), math.fsum(terms)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 1e-320])
@pytest.mark.parametrize("kind", ["usual", "cancels", "tiny", "zero", "apart"])
def test_they_add_up_in_their_order_and_exactly(kind, scale):
    random = np.random.default_rng(0)
    terms = random.standard_normal((200, 2, 9)) * np.exp(3 * random.standard_normal((200, 2, 9)))
    terms, base = scale * terms, scale * random.standard_normal((200, 2))
    total = terms.sum(axis=2) + base
    if kind == "cancels":
        base = base - total
        total = terms.sum(axis=2) + base
    margins = {
        "usual": total * (1 + 1e-15 * random.integers(-9, 9, total.shape)),
        "cancels": total + scale * 1e-17 * random.standard_normal(total.shape),
        "tiny": scale * 1e-30 * random.standard_normal(total.shape),
        "zero": np.zeros(total.shape),
        "apart": total * 1e3,
    }[kind]
    found = exact(terms, base, margins)
    for r in range(200):
        for k in range(2):
            assert add_up(found, r, k) == (margins[r, k], margins[r, k])
    size = np.abs(terms).sum(axis=2) + np.abs(base) + np.abs(margins)
    assert (np.abs(found.terms - terms).max(axis=2) <= 1e-15 * size + 5e-324).all()
    if kind != "apart":
        assert (np.abs(found.base - base) <= 1e-14 * size + np.abs(total - margins) + 5e-323).all()


def test_sparse_rows_are_dense_ones_and_centres_move_to_the_base():
    random = np.random.default_rng(1)
    X = np.where(random.random((30, 6)) < 0.5, random.standard_normal((30, 6)), 0.0)
    weights, intercepts = random.standard_normal((2, 6)), random.standard_normal(2)
    term_of, centres = np.array([0, 1, 0, 2, 2, 1]), random.standard_normal((2, 3))
    margins = X @ weights.T + intercepts
    counts = (X != 0).sum(axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    sparse = indptr, np.nonzero(X)[1].astype(np.uint32), X[X != 0]
    dense, other = (contributions(rows, margins, weights, intercepts, term_of, centres) for rows in ((X,), sparse))
    np.testing.assert_array_equal(dense.terms, other.terms)
    wanted = np.stack([(X * w) @ np.eye(3)[term_of] - c for w, c in zip(weights, centres, strict=True)], axis=1)
    np.testing.assert_allclose(dense.terms, wanted, atol=1e-12)
    np.testing.assert_allclose(dense.base, np.tile(intercepts + centres.sum(axis=1), (30, 1)), atol=1e-12)
