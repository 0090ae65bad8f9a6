"""Shards that start from one begun encoding count every row once when merged."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from preprocessing.tables_to_encode import columns

from pater.preprocessing.column_encoders import CategoryEncoder
from pater.preprocessing.columns import Numbers, Texts, part
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.encoding_merge import merge_encodings
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.shard_encodings import begun_with, without

ROOMY = EncodingSettings(warm_up=200, max_categories=100, word_buckets=16, interactions="all", cross_buckets=64)


def shards_of(table, cuts, begun):
    found = []
    for start, stop in zip([0, *cuts], [*cuts, 900], strict=True):
        shard = begun.copy()
        shard.encode(part(table, start, stop), learn=True)
        found.append(without(shard, begun))
    return found


def test_merged_shards_have_counted_every_row_once():
    table = columns(900)
    begun = begun_with([part(table, k, k + 60) for k in (0, 250, 500, 750)], ROOMY)
    shards = shards_of(table, [250, 250, 500, 501, 750], begun)
    assert [shard.rows for shard in shards] == [250, 0, 250, 1, 249, 150]
    assert not shards[1].moments.any()
    assert not shards[1].counts.indicators.any()
    assert not shards[1].crosses.rows.any()
    for shard in shards:
        assert (shard.moments[:, [0, 2]] >= 0).all()
        from_state(*to_state(shard))  # is sound
    both = reduce(lambda a, b: merge_encodings(a, b)[0], shards)
    assert both.rows == 900
    for j, column in enumerate(both.numbers):
        x = column.values(table[column.name])
        x = x[~np.isnan(x)]
        expected = [x.size, x.mean(), ((x - x.mean()) ** 2).sum()]
        np.testing.assert_allclose(both.moments[j], expected, rtol=1e-9, err_msg=column.name)
    np.testing.assert_array_equal(both.counts.bins.sum(axis=1), both.moments[:, 0])
    whole = begun.copy()
    whole.encode(table, learn=True)
    whole = without(whole, begun)
    np.testing.assert_array_equal(both.counts.bins, whole.counts.bins)
    np.testing.assert_array_equal(both.crosses.rows.sum(), whole.crosses.rows.sum())
    for one, other in zip(both.columns, whole.columns, strict=True):
        if isinstance(one, CategoryEncoder):
            assert set(one.names) <= set(other.names)
            np.testing.assert_array_equal(one.seen, other.seen)


def test_rare_texts_count_where_they_come_again():
    names = ["often", "twice", "once"]
    table = {"x": Texts(np.array([0, 0, 0, 0, 1, 1, 2]), names)}
    begun = begun_with([table], EncodingSettings())
    shard = begun.copy()
    shard.encode(table, learn=True)
    own = without(shard, begun)
    assert list(own.columns[0].names) == ["often"]  # type: ignore[attr-defined]
    assert sorted(own.columns[0].seen[own.columns[0].seen > 0]) == [1, 2]  # type: ignore[attr-defined]
    again = merge_encodings(own, own)[0].columns[0]
    assert sorted(again.seen[again.seen > 0]) == [2, 3]  # type: ignore[attr-defined]


def test_one_row_has_no_spread_and_none_has_no_mean():
    x = np.array([1e9, 1e9 + 1, 1e9 + 2, 1e9 + 4] * 5)
    begun = begun_with([{"x": Numbers(x)}], EncodingSettings())
    none, one = without(begun.copy(), begun), begun.copy()
    assert none.moments.tolist() == [[0.0, 0.0, 0.0]]
    one.encode({"x": Numbers(np.array([1e9 + 3]))}, learn=True)
    count, mean, square = without(one, begun).moments[0]
    assert (count, square) == (1.0, 0.0)
    np.testing.assert_allclose(mean, 1e9 + 3, rtol=1e-13)


def test_what_did_not_start_from_it_is_refused():
    table = columns(900)
    begun = begun_with([part(table, 0, 200)], ROOMY)
    later = begun.copy()
    later.encode(part(table, 200, 500), learn=True)
    with pytest.raises(ValueError, match="did not start as a copy"):
        without(begun, later)
    with pytest.raises(ValueError, match=r"clip=4\.0"):
        without(later, Encoding.begun(part(table, 0, 200), replace(ROOMY, clip=4.0)))
    with pytest.raises(ValueError, match="in column"):
        without(later, Encoding.begun(part(table, 100, 300), ROOMY))


def test_it_begins_with_rows_of_the_same_columns():
    with pytest.raises(ValueError, match="no row"):
        begun_with([{"x": Numbers(np.zeros(0))}], ROOMY)
    with pytest.raises(ValueError, match="but the rows before had"):
        begun_with([{"x": Numbers(np.zeros(3))}, {"y": Numbers(np.zeros(3))}], ROOMY)


def test_an_older_file_that_has_not_counted():
    table = columns(900)
    begun = begun_with([part(table, 0, 200)], ROOMY)
    shard = begun.copy()
    shard.encode(part(table, 200, 400), learn=True)
    begun.counts = None
    assert without(shard, begun).counts is None
