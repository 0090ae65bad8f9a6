"""A caller's matrix becomes rows without a copy, where its form allows it; and faults in rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pater.kernels.rules import LARGEST_ROW
from pater.models.matrices import bad_row_message, first_bad_row, is_plain, is_plain_csr, number_of_rows, part, rows_of


def shares(rows, *arrays):
    return all(np.shares_memory(a, b) for a, b in zip(rows, arrays, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_rows_are_not_copied(dtype):
    X = np.ones((5, 3), dtype)
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows in (X, frozen, X[1:4]):
        assert is_plain(rows)
        assert shares(rows_of(rows), rows)
        assert rows_of(rows)[0].dtype == dtype
        assert rows_of(rows)[0].flags.writeable  # a kind of array for which the kernels are compiled
    assert not frozen.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_csr_rows_are_not_copied(dtype, index, make):
    X = make(np.eye(5, 7, dtype=dtype) + np.eye(5, 7, 2, dtype=dtype))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    for frozen in (False, True):
        for array in (X.indptr, X.indices, X.data):
            array.flags.writeable = not frozen
        rows = rows_of(X)
        assert is_plain_csr(X)
        assert shares(rows, X.indptr, X.indices, X.data)
        assert [a.dtype.kind for a in rows] == ["u", "u", "f"]
        assert number_of_rows(rows) == 5


def test_memory_outlives_the_caller_s_array():
    frozen = np.arange(6.0).reshape(2, 3)
    frozen.flags.writeable = False
    rows = rows_of(frozen)
    del frozen
    assert rows[0].sum() == 15


def test_other_forms_are_converted():
    X = np.arange(12).reshape(4, 3)
    for form in (X, np.asfortranarray(X, float), X.astype(float)[::2], X.astype(np.float16), X.astype(">f8")):
        (rows,) = rows_of(form)
        assert rows.flags.c_contiguous
        assert rows.dtype in (np.float32, np.float64)
        np.testing.assert_array_equal(rows, form)
    for form in (sp.csr_array(X), sp.coo_array(X), sp.csc_matrix(X.astype(np.float32))):
        indptr, indices, data = rows_of(form)
        signed = sp.csr_array((data, indices.view(np.int32), indptr.view(np.int32)), shape=X.shape)
        np.testing.assert_array_equal(signed.toarray(), X)


def test_parts_are_views():
    X = np.arange(12.0).reshape(4, 3)
    assert part(rows_of(X), 1, 3)[0].tolist() == X[1:3].tolist()
    rows = part(rows_of(sp.csr_array(X)), 1, 3)
    assert number_of_rows(rows) == 2
    assert first_bad_row(rows) == -1
    assert np.shares_memory(part(rows_of(X), 1, 3)[0], X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("columns", [1, 3, 130])
def test_the_first_bad_row_is_found(dtype, bad, columns):
    X = np.ones((6, columns), dtype)
    for row in range(6):
        for column in {0, columns // 2, columns - 1}:
            spoilt = X.copy()
            spoilt[row:, column] = bad
            for rows in (rows_of(spoilt), rows_of(sp.csr_array(spoilt))):
                assert first_bad_row(rows) == row
                message = bad_row_message(rows, row)
                assert f"{'NaN' if np.isnan(bad) else 'infinity'} in row {row}, column {column}" in message


def test_largest_finite_single_precision_is_no_bad_row():
    X = np.full((2, 3), np.finfo(np.float32).max, np.float32)
    for rows in (rows_of(X), rows_of(sp.csr_array(X))):
        assert first_bad_row(rows) == -1


def test_a_row_too_large_is_told_from_one_that_is_not_finite():
    X = np.array([[1.0, 1.0], [1e120, 0.0]])
    assert first_bad_row(rows_of(X)) == 1
    assert "norm" in bad_row_message(rows_of(X), 1)
    assert first_bad_row(rows_of(np.array([[np.sqrt(LARGEST_ROW) * 0.99]]))) == -1


def test_names_of_columns_are_in_the_message():
    X = np.array([[1.0, np.nan]])
    assert "column 1 ('weight')" in bad_row_message(rows_of(X), 0, np.array(["height", "weight"], object))
