"""Encodings merged in any grouping are the same; merged in any order, they count the same."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from preprocessing.tables_to_encode import frame

from pater.formats import hashed_names
from pater.formats.hashed_names import HashedNames
from pater.formats.hashing import marked_place_of
from pater.preprocessing import crosses
from pater.preprocessing.encoding_merge import merge_encodings
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.shard_encodings import begun_with, without
from pater.preprocessing.tables import table_of

ROOMY = EncodingSettings(warm_up=200, word_buckets=64, interactions=(("country", "flag"), ("country", "count")))
NARROW = EncodingSettings(warm_up=200, max_categories=12, buckets=3, min_count=2, word_buckets=16, interactions="all")


def shards_of(settings, seed, n=7):
    """Encodings of shards that began together: some have categories of their own, one has no row."""
    rng = np.random.default_rng(seed)
    table = frame(1400, seed)
    begun = begun_with([table_of(table[:200])], settings)
    cuts = np.sort(rng.integers(0, 1400, n - 2)).tolist()
    shards = []
    for k, (start, stop) in enumerate(zip([0, *cuts, 700], [*cuts, 1400, 700], strict=True)):
        some = table[start:stop].copy()
        own = rng.choice(some.index, min(len(some), 12), replace=False)
        some.loc[own, "country"] = [f"only {k} {j % 4}" for j in range(len(own))]
        shard = begun.copy()
        if len(some):
            shard.encode(table_of(some), learn=True)
        shards.append(without(shard, begun))
    return shards


def merged(a, b):
    return merge_encodings(a, b)[0]


def through_a_file(encoding):
    told, arrays = to_state(encoding)
    return from_state(json.loads(json.dumps(told)), arrays)


def grouped(shards, rng, join):
    """Neighbours merged two at a time, at random places, sometimes through a file."""
    parts = list(shards)
    while len(parts) > 1:
        at = int(rng.integers(len(parts) - 1))
        both = join(parts[at], parts[at + 1])
        parts[at : at + 2] = [both]
    return parts[0]


@pytest.mark.first_quick
@pytest.mark.parametrize("settings", [ROOMY, NARROW], ids=["room for all", "at the bounds"])
@pytest.mark.parametrize("seed", range(4))
def test_any_grouping_gives_the_same(settings, seed, monkeypatch):
    if settings is NARROW:
        monkeypatch.setattr(crosses, "MOST_NAMED", 500)
    shards, rng = shards_of(settings, seed), np.random.default_rng(seed)
    told, arrays = to_state(reduce(merged, shards))
    if settings is NARROW:
        assert len(told["crosses"]["names"]) == 500
        assert len(told["columns"][6]["names"]) == 12
    for k in range(4):
        join = (lambda a, b: through_a_file(merged(a, b))) if k % 2 else merged
        other, other_arrays = to_state(grouped(shards, rng, join))
        assert json.dumps(other) == json.dumps(told)
        for name, array in arrays.items():
            if name == "encoder.moments":
                np.testing.assert_allclose(other_arrays[name], array, rtol=1e-12)
            else:
                np.testing.assert_array_equal(other_arrays[name], array, err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_where_some_find_no_room_the_same_have_columns_in_any_grouping(seed):
    """Counts of categories that were left out on the way are lost, which depends on the grouping."""
    shards, rng = shards_of(replace(ROOMY, max_categories=42), seed), np.random.default_rng(seed)
    assert len(shards[0].columns[6].names) < 42
    told, arrays = to_state(reduce(merged, shards))
    assert len(told["columns"][6]["names"]) == 42
    for k in range(4):
        join = (lambda a, b: through_a_file(merged(a, b))) if k % 2 else merged
        other, other_arrays = to_state(grouped(shards, rng, join))
        assert json.dumps(other) == json.dumps(told)
        for name in ("encoder.places", "encoder.counters", "encoder.bin_rows", "encoder.cross_rows"):
            np.testing.assert_array_equal(other_arrays[name], arrays[name], err_msg=name)
        assert (other_arrays["encoder.indicator_rows"] <= arrays["encoder.indicator_rows"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_any_order_counts_the_same_while_there_is_room(seed):
    shards = shards_of(ROOMY, seed)
    one, other = reduce(merged, shards), reduce(merged, shards[::-1])
    assert one.rows == other.rows == 1400
    np.testing.assert_allclose(one.moments, other.moments, rtol=1e-12)
    np.testing.assert_array_equal(one.counts.bins, other.counts.bins)
    np.testing.assert_array_equal(one.crosses.rows, other.crosses.rows)
    fixed = one.width("nested") - one.known
    told = []
    for encoding in (one, other):
        names = [f"{each.kind} {each.column} {sorted([each.text, *each.also])}" for each in encoding.features()[fixed:]]
        told.append(dict(zip(names, encoding.counts.indicators.tolist(), strict=True)))
        assert len(told[-1]) == len(names)
    categories = [{name: n for name, n in each.items() if not name.startswith("word")} for each in told]
    assert categories[0] == categories[1]
    assert sorted(told[0].values()) == sorted(told[1].values())
    assert any("only 3" in name for name in told[0])
    for a, b in zip(one.columns, other.columns, strict=True):
        np.testing.assert_array_equal(getattr(a, "seen", 0), getattr(b, "seen", 0))


def test_a_bucket_is_not_called_by_a_category_that_has_found_a_place():
    shards = shards_of(NARROW, 0)
    both = reduce(merged, shards)
    own = set(both.columns[6].names)
    for feature in both.features():
        if feature.kind == "bucket":
            assert not own & {feature.text, *feature.also}


@pytest.mark.parametrize("room", [1 << 16, 60])
def test_hashed_names_in_any_grouping(room, monkeypatch):
    monkeypatch.setattr(hashed_names, "MOST_COLUMNS", room)
    rng = np.random.default_rng(0)
    for _ in range(20):
        shards = []
        for _ in range(5):
            names = HashedNames(6 if room > 64 else 9)
            for word in rng.choice(200, int(rng.integers(0, 60))).tolist():
                place, _, mark = marked_place_of(f"w{word}", names.bits)
                if len(names.names) < room:
                    names._take(place, mark, f"w{word}")
            shards.append(names)
        expected = reduce(HashedNames.merged, shards)
        for k in range(4):
            other = grouped(shards, rng, HashedNames.merged)
            if k % 2:
                other = HashedNames.from_json(json.loads(json.dumps(other.to_json())), other.bits)
            told = [
                [(column, found[: 2 if room > 64 else 1]) for column, found in some.names.items()]
                for some in (other, expected)
            ]
            assert told[0] == told[1]
        assert len(expected.names) <= room
