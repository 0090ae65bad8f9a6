"""Labels to codes: the compiled table, and the sort used where it cannot serve, give the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pater.models.labels import TABLE_SIZE, as_labels, encode

NONE = np.empty(0, np.int64)
DTYPES = [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64, np.bool_]


def plain_encode(labels, known):
    """Known classes in order, then new ones as they appear."""
    names, codes, new, first = list(known), [], [], []
    for row, label in enumerate(labels):
        if label not in names:
            names.append(label)
            new.append(label)
            first.append(row)
        codes.append(names.index(label))
    return codes, new, first


def check(labels, known):
    found = encode(labels, known)
    codes, new, first = plain_encode(labels.tolist(), known.tolist())
    assert found.codes.tolist() == codes
    assert found.codes.dtype == np.int64
    assert found.new.tolist() == new
    assert found.first_rows.tolist() == first
    assert found.new.dtype == labels.dtype


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=25)
@given(data=st.data())
def test_numbers(dtype, data):
    values = st.integers(0, 1 if dtype == np.bool_ else 100)
    labels = data.draw(hnp.arrays(dtype, st.integers(1, 200), elements=values.map(dtype)))
    known = np.unique(data.draw(hnp.arrays(dtype, st.integers(0, 10), elements=values.map(dtype))))
    check(labels, known)


@settings(max_examples=25)
@given(labels=st.lists(st.sampled_from(["a", "bb", "ccc", "ä", ""]), min_size=1), known=st.sets(st.sampled_from("ab")))
def test_text(labels, known):
    check(np.array(labels), np.array(sorted(known), dtype="U1"))
    check(np.array(labels, dtype=object), np.array(sorted(known), dtype=object))


@pytest.mark.parametrize("n", [TABLE_SIZE - 1, TABLE_SIZE, TABLE_SIZE + 1, 500])
@pytest.mark.parametrize("n_known", [0, 1, TABLE_SIZE - 1, TABLE_SIZE, TABLE_SIZE + 1])
def test_more_labels_than_the_table_holds(n, n_known):
    labels = np.random.default_rng(0).permutation(np.resize(np.arange(n), 3 * n))
    check(labels, np.arange(n_known))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**63 + 5, 1, 2**63 + 5], np.uint64),
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([0.0, -0.0, 1.0]),
        np.array([2.0**53, 2.0**53 + 2, 1.0]),
        np.array([1, 2, 1], ">i4"),
        np.arange(12)[::3],
    ],
    ids=["large unsigned", "extremes", "two zeros", "large floats", "other byte order", "strided"],
)
def test_odd_numbers(labels):
    check(labels, labels[:0])


def test_numbers_of_different_types_are_the_same_label():
    known = np.array([0, 1, 2])
    for labels in (np.array([2.0, 0.0, 5.0]), np.array([2, 0, 5], np.uint8), np.array([True, False])):
        found = encode(labels, known)
        assert found.codes[:2].tolist() == [int(labels[0]), int(labels[1])]


def test_read_only_labels():
    labels = np.array([3, 1, 3])
    labels.flags.writeable = False
    assert encode(labels, NONE).codes.tolist() == [0, 1, 0]


def test_no_labels():
    found = encode(NONE, np.array([1, 2]))
    assert found.codes.size == found.new.size == 0


@pytest.mark.parametrize("y", [[1, 2], ["a", "b"], [True, False], [1.0, 2.0], np.array(["a", "b"], object)])
def test_labels_as_they_come(y):
    assert as_labels(y).tolist() == list(y)


@pytest.mark.parametrize(
    ("y", "named"),
    [
        ([[1], [2]], "1d"),
        ([0.0, np.nan], "NaN in row 1"),
        (np.array(["a", pd.NA], object), "NaN in row 1"),
        ([0.0, np.inf], "infinity in row 1"),
        ([0.0, 1.0, 0.25], "row 2"),
        (np.array(["a", None], object), "row 1"),
        (np.array(["a", float("nan")], object), "row 1"),
        (np.array(["a", 1], object), "strings and numbers"),
        (np.array([1j]), "complex"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
    ],
)
def test_what_is_no_label(y, named):
    with pytest.raises((ValueError, TypeError), match=named):
        as_labels(y)
