"""Rows are counted and names are kept, however a stream is cut, saved and merged."""

from __future__ import annotations

import copy
import json
from itertools import pairwise

import numpy as np
import pytest
from preprocessing.tables_to_encode import columns

from pater.preprocessing.columns import Texts, part
from pater.preprocessing.effects import Described
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.encoding_merge import merge_encodings
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.features import Feature
from pater.preprocessing.known_names import MOST_NAMES, KnownNames
from pater.preprocessing.settings import RESOLUTIONS, EncodingSettings

SETTINGS = EncodingSettings(warm_up=300, max_categories=20, buckets=5, word_buckets=16)


def learned(*cuts):
    table = columns(900)
    encoding = Encoding.begun(part(table, 0, 300), SETTINGS)
    for start, stop in pairwise(cuts):
        encoding.encode(part(table, start, stop), learn=True)
    return encoding


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_counts_are_those_of_the_encoded_rows(resolution):
    table = columns(900)
    encoding = Encoding.begun(part(table, 0, 300), SETTINGS)
    found = np.zeros(2000)
    for rows in (encoding.encode(part(table, 0, 300)), encoding.encode(part(table, 300, 900), learn=True)):
        _, indices, data = rows.rows(resolution)
        found += np.bincount(indices[data != 0], minlength=2000)
    described = Described.of(encoding, resolution)
    for feature, told, there in zip(described.features, described.rows, found, strict=False):
        assert np.isnan(told) if feature.kind == "z" else told == there, feature


def test_no_cut_changes_counts_or_names():
    whole = to_state(learned(300, 900))
    cut = to_state(learned(300, 301, 302, 450, 700, 900))
    assert json.dumps(whole[0]) == json.dumps(cut[0])
    for name in whole[1]:
        np.testing.assert_array_equal(whole[1][name], cut[1][name])


def test_they_come_back_and_are_merged():
    mine, theirs = learned(300, 600), learned(600, 900)
    both, places = merge_encodings(mine, theirs)
    again = from_state(json.loads(json.dumps(to_state(both)[0])), to_state(both)[1])
    assert again.features() == both.features()
    np.testing.assert_array_equal(again.counts.indicators, both.counts.indicators)
    np.testing.assert_array_equal(both.counts.bins, mine.counts.bins + theirs.counts.bins)
    fixed = both.width("nested") - both.known
    for k, feature in enumerate(mine.features()[fixed:]):
        there = np.flatnonzero(places[fixed:] == fixed + k)
        assert both.counts.indicators[k] == mine.counts.indicators[k] + theirs.counts.indicators[there].sum(), feature


def test_an_older_file_has_not_counted_and_has_one_name_of_each():
    told, arrays = to_state(learned(300, 900))
    told = copy.deepcopy(told)
    for name in ("encoder.bin_rows", "encoder.indicator_rows"):
        arrays.pop(name)
    for column in told["columns"]:
        if "examples" in column:
            column["examples"] = {place: names[0] for place, names in column["examples"].items()}
    old = from_state(told, arrays)
    assert old.counts is None
    assert np.isnan(Described.of(old, "fine").rows).all()
    assert not Described.of(old, "fine").mean.any()
    old.encode(columns(50), learn=True)
    assert old.copy().counts is None
    assert merge_encodings(old, learned(300, 900))[0].counts is None
    assert [feature.text for feature in old.features()][:50] == [each.text for each in learned(300, 900).features()][
        :50
    ]


@pytest.mark.parametrize(
    "forge",
    [
        lambda arrays: arrays["encoder.bin_rows"].__setitem__((0, 0), -1),
        lambda arrays: arrays["encoder.bin_rows"].__setitem__((0, 0), 1 << 60),
        lambda arrays: arrays["encoder.indicator_rows"].__setitem__(0, 1 << 60),
        lambda arrays: arrays.update({"encoder.indicator_rows": np.zeros(3, np.int64)}),
        lambda arrays: arrays.update({"encoder.bin_rows": np.zeros((2, 2), np.int64)}),
        lambda arrays: arrays.update({"encoder.bin_rows": np.zeros((2, 2))}),
        lambda arrays: arrays.pop("encoder.indicator_rows"),
    ],
)
def test_forged_counts_are_refused(forge):
    told, arrays = to_state(learned(300, 900))
    arrays = {name: array.copy() for name, array in arrays.items()}
    forge(arrays)
    with pytest.raises(ValueError, match=r"counts|has no"):
        from_state(told, arrays)


@pytest.mark.parametrize("names", [[], ["a", "a"], ["a"] * 9, [1], 7, ["a", "b", "c", "d", "e", "f"]])
def test_forged_names_are_refused(names):
    told, arrays = to_state(learned(300, 900))
    told = copy.deepcopy(told)
    told["columns"][8]["examples"] = {"3": names}
    with pytest.raises(ValueError, match="examples"):
        from_state(told, arrays)


def test_texts_that_collide_are_all_named():
    settings = EncodingSettings(warm_up=10, max_categories=1, buckets=1, min_count=1)
    names = ["fr", "xx", "yy"]
    encoding = Encoding.begun({"country": Texts(np.array([0, 0, 1, 2, 1, 2]), names)}, settings)
    assert [feature.name for feature in encoding.features()] == ["country=fr", "country=xx or country=yy"]
    assert [feature.told() for feature in encoding.features()] == ["country = fr", "country = xx or yy"]
    more = [f"c{k}" for k in range(9)]
    encoding.encode({"country": Texts(np.arange(9), more)}, learn=True)
    assert encoding.features()[1].name == "country=xx or country=yy or country=c0 or country=c1 or others"


def test_names_have_a_bound():
    names = KnownNames()
    for k in range(100):
        names.note(7, f"n{k % 50}")
    assert names.told(7, "") == {"text": "n0", "also": ("n1", "n2", "n3"), "and_more": True}
    assert len(names.to_json()["7"]) == MOST_NAMES + 1
    assert names.told(8, "x") == {"text": "x", "also": (), "and_more": False}


@pytest.mark.parametrize(
    ("feature", "told"),
    [
        (Feature("amount", "bin", low=12.5, high=40), "amount 12.5 to 40"),
        (Feature("amount", "bin", high=3), "amount below 3"),
        (Feature("amount", "missing"), "amount missing"),
        (Feature("country", "category", "fr"), "country = fr"),
        (Feature("country", "rare"), "country: rare ones"),
        (Feature("when", "hour", "hour 22"), "when: hour 22 to 23"),
        (Feature("when", "weekday", "Monday"), "when: Monday"),
        (Feature("note", "word", "refund"), "note has refund"),
        (Feature("when", "bin", low=1704067200, high=1704110400, is_date=True), "when 2024-01-01 to 2024-01-01 12:00"),
    ],
)
def test_features_are_told_in_the_units_of_the_table(feature, told):
    assert feature.told() == told


def test_z_scores_are_told_with_their_unit():
    assert Feature("amount", "z").told(3.21) == "amount, per deviation (3.21)"
    assert Feature("when", "z", is_date=True).told(3 * 86400) == "when, per deviation (3 days)"
