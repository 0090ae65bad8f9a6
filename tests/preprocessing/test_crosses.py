"""Crosses of two columns: against plain Python, by name, for any cuts of the stream, and through state and merging."""

from __future__ import annotations

import copy
import json
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from preprocessing.tables_to_encode import as_dicts, columns, frame, largest_width, raw_rows

from pater.preprocessing.columns import Column, Numbers, Texts, part
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.encoding_merge import merge_encodings
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.features import MONTHS, WEEKDAYS, Feature
from pater.preprocessing.settings import RESOLUTIONS, EncodingSettings
from pater.preprocessing.stream_encoder import StreamEncoder

WARM_UP = 300
PAIRS = [("normal", "country"), ("flag", "count"), ("when", "country"), ("skewed", "when"), ("country", "mostly zero")]


def begun(table: dict[str, Column], interactions: Any = PAIRS, **more: Any) -> Encoding:
    settings = EncodingSettings(warm_up=WARM_UP, interactions=interactions, **more)
    return Encoding.begun(part(table, 0, WARM_UP), settings)


def parts_of(raw: dict[str, Any], row: dict[str, float], name: str) -> list[tuple[str, str, Any]]:
    """What a row has in a crossed column: which part, its name, and for a category its text."""
    if name == "flag":
        return [("-1", "flag: from 0.5" if raw["flag"] else "flag: below 0.5", None)]
    if name == "when" and raw["when"] is None:
        return [(str(k), f"when: {part} missing", None) for k, part in enumerate(("hour", "weekday", "month"))]
    if name == "country":
        (called,) = (key for key in row if key.startswith("country") and " × " not in key)
        code = {"country: rare": 1 << 32, "country: missing": (1 << 32) + 1}.get(called)
        return [("0", called, crc32(called.removeprefix("country=").encode()) if code is None else code)]
    found = [key for key in row if key.startswith(f"{name}: ") and " × " not in key]
    return [(str(k) if name == "when" else "-1", key, None) for k, key in enumerate(sorted(found, key=part_of_date))]


def part_of_date(called: str) -> int:
    return 0 if "hour" in called else 1 if called.endswith("day") else 2


def split_mix(seed: int, *codes: int) -> int:
    for code in codes:
        seed = ((seed ^ code) + 0x9E3779B97F4A7C15) % 2**64
        seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        seed = (seed ^ seed >> 27) * 0x94D049BB133111EB % 2**64
        seed ^= seed >> 31
    return seed


def test_every_cross_is_where_plain_python_puts_it() -> None:
    table = columns(700)
    encoding = begun(table, cross_buckets=100)
    pieces = [encoding.encode(part(table, 0, WARM_UP)), encoding.encode(part(table, WARM_UP, 700), learn=True)]
    crosses = np.concatenate([each.pieces[0].crosses for each in pieces])
    rows = [row for each in pieces for row in as_dicts(each, encoding, "coarse")]
    assert list(dict.fromkeys((each.column, each.crossed) for each in encoding.crosses.features())) == PAIRS
    names: dict[int, str] = {}
    bins = {
        name: [b.name for b in encoding.features("coarse") if b.column == name and b.kind == "bin"] for name in table
    }
    bins["flag"] = ["flag: below 0.5", "flag: from 0.5"]
    dates = [[f"when: hour {h}" for h in range(24)], [f"when: {d}" for d in WEEKDAYS], [f"when: {m}" for m in MONTHS]]
    for raw, row, got in zip(raw_rows(frame(700)), rows, crosses, strict=True):
        start, want = 0, []
        for left, right in PAIRS:
            for one, called, code in parts_of(raw, row, left):
                for other, also_called, also_code in parts_of(raw, row, right):
                    of_left = dates[int(one)] if left == "when" else bins[left]
                    of_right = dates[int(other)] if right == "when" else bins[right]
                    codes = [
                        code if code is not None else each.index(what) if what in each else len(each)
                        for code, each, what in ((code, of_left, called), (also_code, of_right, also_called))
                    ]
                    cells = (len(of_left) + 1) * (len(of_right) + 1)
                    if code is also_code is None and cells <= 100:
                        place, size = codes[0] * (len(of_right) + 1) + codes[1], cells
                    else:
                        seed = crc32(f"{left}\0{one}".encode()) << 32 | crc32(f"{right}\0{other}".encode())
                        place, size = split_mix(seed, *codes) % 100, 100
                        names.setdefault(start + place, f"{called} × {also_called}")
                    want.append(start + place)
                    start += size
        assert got.tolist() == want
    assert encoding.crosses.width == start
    assert encoding.crosses.rows.tolist() == np.bincount(crosses.ravel(), minlength=start).tolist()
    assert encoding.crosses.names == names


def test_numbers_are_crossed_cell_by_cell() -> None:
    rng = np.random.default_rng(0)
    table = {"a": Numbers(rng.random(500)), "b": Numbers(rng.integers(0, 2, 500) * 1.0)}
    encoding = begun(table, [("a", "b")])
    crosses = [feature for feature in encoding.features() if feature.kind == "cross"]
    assert len(crosses) == encoding.crosses.width == 5 * 3
    assert crosses[0] == Feature("a", "cross", f"{encoding.features('coarse')[2].name} × b: below 0.5", crossed="b")
    assert crosses[-1].name == "a: missing × b: missing"
    odd = {"a": Numbers(np.array([0.0, np.nan, 1.0])), "b": Numbers(np.array([np.nan, 1.0, 0.0]))}
    got = [[key for key in row if "×" in key] for row in as_dicts(encoding.encode(odd), encoding, "none")]
    lowest, highest = crosses[0].name.split(" × ")[0], crosses[9].name.split(" × ")[0]
    assert got == [[f"{lowest} × b: missing"], ["a: missing × b: from 0.5"], [f"{highest} × b: below 0.5"]]


def test_crosses_have_the_highest_level_and_indicators_come_after_them() -> None:
    table = columns(400)
    encoding = begun(table)
    for resolution, layers in RESOLUTIONS.items():
        levels, features = encoding.levels(resolution), encoding.features(resolution)
        assert levels.size == len(features) == encoding.width(resolution) <= largest_width(encoding)
        is_cross = np.array([feature.kind == "cross" for feature in features])
        assert (levels[is_cross] == len(layers) + 1).all()
        assert (levels[~is_cross] <= len(layers)).all()
        last = np.flatnonzero(is_cross)[-1]
        assert (levels[last + 1 :] == 0).all()
        assert is_cross.sum() == encoding.crosses.width
    texts = {name: table[name] for name in ("country", "flag")}
    assert set(begun(texts, "all").levels("nested")) == {0, 1}  # there are no bins


@pytest.mark.parametrize("size", [1, 7, 100, 333])
def test_cutting_the_stream_changes_no_bit(size: int) -> None:
    table = columns(900)
    whole, pieces = (begun(table, cross_buckets=30, max_categories=8, buckets=3) for _ in range(2))
    want = whole.encode(part(table, WARM_UP, 900), learn=True).rows()
    got = [pieces.encode(part(table, k, min(900, k + size)), learn=True).rows() for k in range(WARM_UP, 900, size)]
    assert np.concatenate([piece[1] for piece in got]).tobytes() == want[1].tobytes()
    assert whole.crosses.names == pieces.crosses.names
    assert whole.crosses.rows.tolist() == pieces.crosses.rows.tolist()
    assert len(whole.crosses.names) > 100


def test_a_hash_does_not_depend_on_what_came_before() -> None:
    names = [f"c{k}" for k in range(9)]
    codes = np.random.default_rng(0).integers(0, 9, 600)
    x = Numbers(np.random.default_rng(1).random(600))
    forth = {"c": Texts(codes, names), "x": x}
    back = {"c": Texts(codes[::-1], names), "x": Numbers(x.values[::-1])}
    one, other = (begun(table, [("c", "x")]) for table in (forth, back))
    assert list(one.columns[0].names) != list(other.columns[0].names)  # type: ignore[attr-defined]
    rows = {"c": Texts(np.arange(9), names), "x": Numbers(np.full(9, np.nan))}
    found = [each.encode(rows).pieces[0].crosses.ravel().tolist() for each in (one, other)]
    assert found[0] == found[1]
    assert len(set(found[0])) > 7


def test_it_comes_back_to_the_bit_and_learns_on() -> None:
    table = columns(900)
    encoding = begun(table, cross_buckets=40)
    encoding.encode(part(table, WARM_UP, 600), learn=True)
    told, arrays = to_state(encoding)
    back = from_state(json.loads(json.dumps(told)), arrays)
    assert back.features() == encoding.features()
    one, other = (each.encode(part(table, 600, 900), learn=True).rows() for each in (encoding, back))
    assert [array.tobytes() for array in one] == [array.tobytes() for array in other]
    assert str(to_state(back)[0]) == str(to_state(encoding)[0])


def test_settings_of_files_without_interactions_are_as_they_were() -> None:
    told, _ = to_state(begun(columns(300), None))
    assert "crosses" not in told
    assert not {"interactions", "cross_buckets"} & set(told["settings"])
    assert EncodingSettings.from_json(told["settings"]).interactions == ()


FORGED: list[tuple[str, Any]] = [
    ("do not ask for", lambda told: told.pop("crosses")),
    ("do not ask for", lambda told: told["settings"].pop("interactions")),
    ("other fields", lambda told: told["crosses"].update(more=1)),
    ("splits", lambda told: told["crosses"].update(splits={"flag": "x"})),
    ("splits", lambda told: told["crosses"].update(splits={"normal": 0.5})),
    ("splits", lambda told: told["crosses"].update(splits={"flag": float("nan")})),
    ("names", lambda told: told["crosses"].update(names={"999999999": "x"})),
    ("names", lambda told: told["crosses"].update(names={"-1": "x"})),
    ("names", lambda told: told["crosses"].update(names={"1": 2})),
    ("interactions", lambda told: told["settings"].update(interactions=[["a"]])),
    ("no column 'a'", lambda told: told["settings"].update(interactions=[["a", "normal"]])),
    ("free text", lambda told: told["settings"].update(interactions=[["note", "normal"]])),
    ("cross_buckets", lambda told: told["settings"].update(cross_buckets=1 << 40)),
]


@pytest.mark.parametrize("rows", [np.zeros(3, np.int64), np.full(10, 0.5), None, -1])
def test_forged_counts_are_refused(rows: Any) -> None:
    told, arrays = to_state(begun(columns(300)))
    arrays["encoder.cross_rows"] = np.full_like(arrays["encoder.cross_rows"], -1) if type(rows) is int else rows
    with pytest.raises(ValueError, match="cross"):
        from_state(told, {name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(("what", "forge"), FORGED)
def test_what_is_forged_is_refused(what: str, forge: Any) -> None:
    told, arrays = to_state(begun(columns(300)))
    told = copy.deepcopy(told)
    forge(told)
    with pytest.raises(ValueError, match=what):
        from_state(told, arrays)


def test_merged_encodings_have_the_crosses_of_both() -> None:
    table = columns(900)
    mine, theirs = (begun(table, cross_buckets=64) for _ in range(2))
    mine.encode(part(table, 300, 600), learn=True)
    theirs.encode(part(table, 600, 900), learn=True)
    both, places = merge_encodings(mine, theirs)
    fixed = both.width("nested") - both.known
    assert places[:fixed].tolist() == list(range(fixed))
    assert both.crosses.names == theirs.crosses.names | mine.crosses.names
    assert both.crosses.rows.tolist() == (mine.crosses.rows + theirs.crosses.rows).tolist()
    assert len(both.crosses.names) > max(len(mine.crosses.names), len(theirs.crosses.names))
    assert both.features()[: mine.width("nested") - mine.known] != mine.features()
    rows = [each.encode(part(table, 0, 300)).pieces[0].crosses for each in (mine, both)]
    assert (rows[0] == rows[1]).mean() > 0.9  # except for categories that have become frequent
    from_state(*to_state(both))  # is sound
    with pytest.raises(ValueError, match="the other has interactions='all' where this one has interactions="):
        merge_encodings(mine, begun(table, "all"))


def test_numbers_that_were_cut_elsewhere_are_not_merged() -> None:
    a, b = ({"x": Numbers(np.arange(300) % 2 * high), "y": Numbers(np.arange(300) % 2 * 1.0)} for high in (1.0, 9.0))
    with pytest.raises(ValueError, match=r"the other has split=4\.0 in column 'x' where this one has split=0\.5"):
        merge_encodings(begun(a, "all"), begun(b, "all"))


def test_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pater.preprocessing.crosses.MOST_NAMED", 50)
    table = columns(900)
    mine, theirs, short = (begun(table, cross_buckets=64) for _ in range(3))
    assert len(mine.crosses.names) == 50
    mine.encode(part(table, 300, 900), learn=True)
    assert mine.crosses.names == theirs.crosses.names
    short.crosses.names.popitem()
    theirs.crosses.names |= {1: "one", 2: "two"}
    both = merge_encodings(short, theirs)[0].crosses.names
    assert len(both) == 50
    assert short.crosses.names.items() <= both.items()
    assert any("~" in feature.name for feature in mine.features() if feature.kind == "cross")


def test_copies_learn_by_themselves() -> None:
    table = columns(900)
    encoding = begun(table)
    before, rows = dict(encoding.crosses.names), encoding.crosses.rows.copy()
    encoding.copy().encode(part(table, WARM_UP, 900), learn=True)
    encoding.encode(part(table, WARM_UP, 900))
    assert encoding.crosses.names == before
    assert encoding.crosses.rows.tolist() == rows.tolist()


def test_all_leaves_out_what_cannot_be_crossed() -> None:
    encoding = begun(columns(300), "all")
    crossed = {name for pair in encoding.crosses.pairs for name in pair}
    assert crossed == {"normal", "skewed", "count", "mostly zero", "flag", "country", "when"}
    assert len(encoding.crosses.pairs) == 21
    alone = {name: columns(300)[name] for name in ("normal", "id")}
    assert begun(alone, "all").crosses.width == 0


def test_all_of_many_columns_is_refused() -> None:
    table = {f"x{k}": Numbers(np.random.default_rng(k).random(300)) for k in range(21)}
    with pytest.raises(ValueError, match="all interactions of 21 columns are 210 pairs, but there can be at most 190"):
        begun(table, "all")
    del table["x3"]
    assert len(begun(table, "all").crosses.pairs) == 190


@pytest.mark.parametrize(
    ("interactions", "what"),
    [
        ([("normal", "normal")], "'normal' is crossed with itself"),
        ([("normal", "absent")], "no column 'absent'"),
        ([("normal", "note")], "'note' cannot be crossed: it holds free text"),
        ([("id", "normal")], "'id' cannot be crossed: it holds texts that are nearly all different"),
        ("normal:country", 'must be "all" or pairs'),
        (["ab"], 'must be "all" or pairs'),
        ([("a", "b", "c")], 'must be "all" or pairs'),
        (7, 'must be "all" or pairs'),
        ([(str(k), str(k + 1)) for k in range(200)], "can be at most 190 interactions, but 200"),
    ],
)
def test_what_cannot_be_crossed_is_named(interactions: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        begun(columns(300), interactions)


def test_a_column_that_is_not_there_is_named_at_the_first_row() -> None:
    stream = StreamEncoder(EncodingSettings(interactions=[("normal", "absent")]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no column 'absent'"):
        stream.take(columns(1))


def test_a_pair_counts_once() -> None:
    settings = EncodingSettings(interactions=[("a", "b"), ["b", "a"], ("a", "b"), (1, "b")])  # type: ignore[arg-type, list-item]
    assert settings.interactions == (("a", "b"), ("1", "b"))
