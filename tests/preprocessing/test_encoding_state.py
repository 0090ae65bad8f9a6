"""An encoding is restored from JSON and arrays to the bit; two that began alike become one."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from preprocessing.tables_to_encode import as_dicts, columns

from pater.models.differences import DifferenceError
from pater.preprocessing.columns import Numbers, Texts, part
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.encoding_merge import merge_encodings
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import RESOLUTIONS, EncodingSettings

SETTINGS = EncodingSettings(warm_up=300, max_categories=20, buckets=5, word_buckets=64)


def learned(start: int = 300, stop: int = 900) -> Encoding:
    table = columns(900)
    encoding = Encoding.begun(part(table, 0, 300), SETTINGS)
    encoding.encode(part(table, start, stop), learn=True)
    return encoding


def test_it_comes_back_to_the_bit_and_learns_on() -> None:
    encoding = learned(stop=700)
    told, arrays = to_state(encoding)
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float64), np.dtype(np.int64)}
    back = from_state(json.loads(json.dumps(told)), arrays)
    table = columns(900)
    for resolution in RESOLUTIONS:
        assert back.features(resolution) == encoding.features(resolution)
    for learn in (False, True):
        one, other = (each.encode(part(table, 700, 900), learn=learn).rows() for each in (encoding, back))
        assert [array.tobytes() for array in one] == [array.tobytes() for array in other]
    assert str(to_state(back)[0]) == str(to_state(encoding)[0])


FORGED: list[tuple[str, Any]] = [
    ("other fields", lambda told, arrays: told.pop("known")),
    ("no columns", lambda told, arrays: told.update(columns=[])),
    ("settings", lambda told, arrays: told["settings"].pop("clip")),
    ("warm_up", lambda told, arrays: told["settings"].update(warm_up=-1)),
    ("sound counts", lambda told, arrays: told.update(rows=-1)),
    ("not in order", lambda told, arrays: told.update(known=told["known"] + 1)),
    ("kind", lambda told, arrays: told["columns"][0].update(kind="spell")),
    ("other fields", lambda told, arrays: told["columns"][0].update(more=1)),
    ("one name", lambda told, arrays: told["columns"][1].update(name="normal")),
    ("without bins", lambda told, arrays: told["columns"][0].update(bins=0)),
    ("sound edges|do not ascend|more edges", lambda told, arrays: told["columns"][0].update(bins=500)),
    ("do not ascend", lambda told, arrays: arrays["encoder.edges"].__setitem__(0, np.nan)),
    ("do not ascend", lambda told, arrays: arrays["encoder.edges"].__setitem__(1, -1e9)),
    ("out of order", lambda told, arrays: arrays["encoder.groups"].__setitem__(1, 7)),
    ("sound moments", lambda told, arrays: arrays["encoder.moments"].__setitem__((0, 1), np.inf)),
    ("out of range", lambda told, arrays: arrays["encoder.moments"].__setitem__((0, 0), 1e9)),
    ("not in order", lambda told, arrays: arrays["encoder.places"].__setitem__(0, 10**6)),
    ("sound places", lambda told, arrays: arrays["encoder.places"].__setitem__(0, -2)),
    ("no places", lambda told, arrays: arrays.pop("encoder.places")),
    ("counters elsewhere", lambda told, arrays: arrays["encoder.counters"].__setitem__(0, 1 << 40)),
    ("counters out of range", lambda told, arrays: arrays["encoder.counters"].__iadd__(200)),
    ("categor", lambda told, arrays: told["columns"][6].update(names=["a", "a"])),
    ("categor", lambda told, arrays: told["columns"][6].update(names=[1])),
    ("without a name", lambda told, arrays: told["columns"][6].update(names=[])),
    ("examples", lambda told, arrays: told["columns"][8].update(examples={"64": "x"})),
    ("examples", lambda told, arrays: told["columns"][8].update(examples={"1": "x" * 1000})),
    ("dates", lambda told, arrays: told["columns"][7].update(unit=3.0)),
    ("style", lambda told, arrays: told["columns"][0].update(style="roman")),
    ("more edges", lambda told, arrays: arrays.update({"encoder.edges": np.arange(500.0)})),
]


@pytest.mark.parametrize(("what", "forge"), FORGED)
def test_what_is_forged_is_refused(what: str, forge: Any) -> None:
    told, arrays = to_state(learned(stop=500))
    told, arrays = copy.deepcopy(told), {name: array.copy() for name, array in arrays.items()}
    forge(told, arrays)
    with pytest.raises(ValueError, match=what):
        from_state(told, arrays)


def test_a_newer_version_may_tell_more_of_every_kind_of_column() -> None:
    told, arrays = to_state(learned(stop=500))
    more = copy.deepcopy(told)
    for each in (more, more["settings"], *more["columns"]):
        each["sparkle"] = 3
    assert {each["kind"] for each in told["columns"]} >= {"number", "date", "category", "text"}
    assert str(to_state(from_state(more, arrays, newer=True))[0]) == str(told)
    with pytest.raises(ValueError, match="other fields"):
        from_state(more, arrays)
    del more["columns"][0]["bins"]
    with pytest.raises(ValueError, match="a column of other fields"):
        from_state(more, arrays, newer=True)


def test_merged_moments_and_categories_are_those_of_all_rows() -> None:
    mine, theirs = learned(300, 600), learned(600, 900)
    both, places = merge_encodings(mine, theirs)
    table = columns(900)
    x = np.concatenate([table["normal"][0][a:b] for a, b in ((0, 600), (0, 300), (600, 900))])
    x = x[~np.isnan(x)]
    np.testing.assert_allclose(both.moments[0], [x.size, x.mean(), ((x - x.mean()) ** 2).sum()])
    assert both.rows == 1200
    first = [replace(each, also=(), and_more=False) for each in both.features()]  # a hashed one may have more names
    assert first[: mine.width("nested")] == [replace(each, also=(), and_more=False) for each in mine.features()]
    names, their_names = both.features(), theirs.features()
    for k, place in enumerate(places):
        one, other = names[place], their_names[k]
        same = one.kind == other.kind if other.kind in ("word", "bucket") else one == other  # these share their column
        assert place < 0 or same
    lost = [their_names[k] for k in np.flatnonzero(places < 0)]
    assert all(feature.kind == "category" for feature in lost)
    assert len(both.columns[6].names) == SETTINGS.max_categories  # type: ignore[attr-defined]
    from_state(*to_state(both))  # is sound
    encoded = both.encode(table, learn=True)
    assert len(as_dicts(encoded, both, "coarse")) == 900


def test_what_began_differently_is_not_merged() -> None:
    rng = np.random.default_rng(0)
    a, b = (Encoding.begun({"x": Numbers(rng.standard_normal(99))}, SETTINGS) for _ in range(2))
    told = r"the other has edges\[0\]=-1\.\d+ in column 'x' where this one has edges\[0\]=-1\.\d+\. What is"
    with pytest.raises(DifferenceError, match=told):
        merge_encodings(a, b)
    with pytest.raises(DifferenceError, match="the other has 'y' as column 1 where this one has 'x' as column 1"):
        merge_encodings(a, Encoding.begun({"y": Numbers(np.zeros(9))}, SETTINGS))
    with pytest.raises(DifferenceError, match="the other has 'y' as column 2 where this one has no column 2"):
        merge_encodings(a, Encoding.begun({"x": Numbers(np.zeros(9)), "y": Numbers(np.zeros(9))}, SETTINGS))
    with pytest.raises(DifferenceError, match=f"has warm_up=1000 where this one has warm_up={SETTINGS.warm_up}"):
        merge_encodings(a, Encoding.begun({"x": Numbers(np.zeros(9))}, EncodingSettings()))
    with pytest.raises(DifferenceError, match="has kind='category' in column 'x' where this one has kind='number'"):
        merge_encodings(a, Encoding.begun({"x": Texts(np.zeros(9, np.int64), ["a"])}, SETTINGS))
    with pytest.raises(DifferenceError, match="the other has bins=1 in column 'x' where this one has bins="):
        merge_encodings(a, Encoding.begun({"x": Numbers(np.zeros(9))}, SETTINGS))


def test_columns_without_places_take_no_memory() -> None:
    told, arrays = to_state(learned())
    column = {"name": "x", "kind": "text", "examples": {}}
    told = {**told, "settings": {**told["settings"], "word_buckets": 1 << 20}, "columns": [column]}
    with pytest.raises(ValueError, match="more columns than places"):
        from_state(told, arrays)
