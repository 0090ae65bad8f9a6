"""Folds and scaling: a model knows nothing of the test half."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from pater.data import load
from pater.study.folds import folds, random_halves, standardised, tf_idf


@given(n=st.integers(2, 300), seed=st.integers(0, 2**32))
def test_the_halves_share_no_row_and_miss_none(n: int, seed: int) -> None:
    first, second = random_halves(n, (seed, 1, 0))
    assert sorted([*first, *second]) == list(range(n))
    assert len(second) - len(first) == n % 2


def test_a_run_is_shuffled_by_seed_set_and_run_alone() -> None:
    one = random_halves(50, (0, 7, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one, random_halves(50, (0, 7, 3)), strict=True))
    for other in ((1, 7, 3), (0, 8, 3), (0, 7, 4)):
        assert not np.array_equal(one[0], random_halves(50, other)[0])


def test_each_half_is_learned_from_once_and_tested_on_once() -> None:
    data = load("tic-tac-toe")
    a, b = folds(data, seed=0, run=0)
    assert np.array_equal(a.train_codes, b.test_codes)
    assert np.array_equal(a.test_codes, b.train_codes)
    assert len(a.X_train) + len(a.X_test) == len(data.y)


def test_z_scores_are_those_of_the_training_half() -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(5, 3, (40, 4)), rng.normal(-1, 2, (30, 4))
    scaler = StandardScaler().fit(train)
    for ours, theirs in zip(standardised(train, test), (scaler.transform(train), scaler.transform(test)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        assert ours.flags.c_contiguous


def test_a_constant_column_is_centred_and_divided_by_one() -> None:
    train, test = np.full((30, 1), 0.1), np.array([[0.1], [7.1]])
    scaled_train, scaled_test = standardised(train, test)
    np.testing.assert_allclose(scaled_train, 0, atol=1e-15)
    np.testing.assert_allclose(scaled_test, [[0], [7]], atol=1e-12)


def test_tf_idf_is_scikit_learns_fitted_on_the_training_half() -> None:
    rng = np.random.default_rng(0)
    counts = csr_array(rng.poisson(0.4, (60, 20)).astype(float))
    train, test = counts[:30], counts[30:]
    theirs = TfidfTransformer().fit(train)
    for ours, expected in zip(tf_idf(train, test), (theirs.transform(train), theirs.transform(test)), strict=True):
        np.testing.assert_allclose(ours.toarray(), expected.toarray(), atol=1e-12)


def test_a_document_without_words_stays_empty() -> None:
    train, test = tf_idf(csr_array(np.array([[1.0, 2.0], [0.0, 0.0]])), csr_array((1, 2)))
    assert np.isfinite(train.toarray()).all()
    assert test.nnz == 0
