"""The encoding of tables: against plain Python, for any cuts of the stream, and with any content of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from preprocessing.tables_to_encode import Plain, as_dicts, columns, frame, largest_width, raw_rows

from pater.preprocessing.columns import Numbers, Texts, Times, part, rows_in
from pater.preprocessing.encoding import PIECE, Encoding
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import RESOLUTIONS, EncodingSettings
from pater.preprocessing.tables import table_of

WARM_UP = 300


def begun(table: dict, **settings: object) -> Encoding:
    settings = EncodingSettings(warm_up=WARM_UP, **settings)  # type: ignore[arg-type]
    return Encoding.begun(part(table, 0, settings.warm_up), settings)


@pytest.mark.first_quick
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_every_row_is_encoded_as_plain_python_has_it(resolution: str) -> None:
    table, rows = columns(700), raw_rows(frame(700))
    encoding = begun(table, word_buckets=1 << 20)
    assert encoding.kinds == {
        **dict.fromkeys(["normal", "skewed", "count", "mostly zero", "flag", "constant"], "number"),
        "country": "category",
        "when": "date",
        "note": "text",
        "id": "id",
    }
    plain = Plain(rows[:WARM_UP], encoding)
    first = as_dicts(encoding.encode(part(table, 0, WARM_UP)), encoding, resolution)
    later = encoding.encode(part(table, WARM_UP, 700), learn=True)
    got = first + as_dicts(later, encoding, resolution)
    for k, row in enumerate(rows):
        want = plain.encode(row, resolution, learn=k >= WARM_UP)
        assert got[k].keys() == want.keys(), k
        assert got[k] == pytest.approx(want, abs=1e-9), k
    assert encoding.rows == 700
    assert encoding.width(resolution) == later.rows(resolution).width == len(encoding.features(resolution))


def same(a: Encoding, b: Encoding) -> None:
    assert a.moments.tobytes() == b.moments.tobytes()
    assert a.places.tobytes() == b.places.tobytes()
    assert (a.known, a.rows) == (b.known, b.rows)
    for one, other in zip(a.columns, b.columns, strict=True):
        assert one.to_json() == other.to_json()
        assert [x.tobytes() for x in one.arrays().values()] == [x.tobytes() for x in other.arrays().values()]


@pytest.mark.parametrize("size", [1, 7, 100, 333])
def test_cutting_the_stream_changes_no_bit(size: int) -> None:
    table = columns(900)
    whole, cut = begun(table, max_categories=20), begun(table, max_categories=20)
    want = whole.encode(part(table, WARM_UP, 900), learn=True)
    got = [cut.encode(part(table, k, min(900, k + size)), learn=True) for k in range(WARM_UP, 900, size)]
    same(whole, cut)
    for resolution in RESOLUTIONS:
        indptr, indices, data = want.rows(resolution)
        some = [piece.rows(resolution) for piece in got]
        assert np.concatenate([np.diff(piece[0]) for piece in some]).tolist() == np.diff(indptr).tolist()
        assert np.concatenate([piece[1] for piece in some]).tobytes() == indices.tobytes()
        assert np.concatenate([piece[2] for piece in some]).tobytes() == data.tobytes()


def test_many_rows_are_encoded_in_pieces() -> None:
    n = PIECE + 5
    table = {"x": Numbers(np.random.default_rng(0).standard_normal(n)), "c": Texts(np.arange(n) % 3, ["a", "b", "c"])}
    encoding = begun(table)
    indptr, indices, data = encoding.encode(table).rows("fine")
    assert indptr.size == n + 1
    assert indptr[-1] == indices.size == data.size
    assert (np.diff(indptr) == 3).all()


def test_encoding_without_learning_changes_nothing() -> None:
    table = columns(600)
    encoding = begun(table)
    before = encoding.copy()
    encoding.encode(columns(600, seed=1))
    same(encoding, before)


def test_copies_learn_by_themselves() -> None:
    table = columns(600)
    encoding = begun(table)
    before = encoding.copy()
    encoding.copy().encode(part(table, WARM_UP, 600), learn=True)
    same(encoding, before)


def test_coarse_bins_are_sums_of_fine_ones() -> None:
    table = columns(500)
    encoding = begun(table)
    fine, coarse = (encoding.encode(table).rows(name) for name in ("fine", "coarse"))
    assert coarse.width < fine.width
    for column in encoding.numbers:
        assert (np.diff(column.groups) >= 0).all()
        assert len(column.bins("coarse")) <= encoding.settings.coarse_bins
        inner = {feature.low for feature in column.bins("coarse")}
        assert inner <= {feature.low for feature in column.bins("fine")}


def test_bins_hold_about_as_many_rows_each() -> None:
    x = np.random.default_rng(0).lognormal(0, 3, 1200)
    encoding = Encoding.begun({"x": Numbers(x)}, EncodingSettings())
    (column,) = encoding.numbers
    assert column.edges.size == 11
    assert np.histogram(x, [-np.inf, *column.edges, np.inf])[0].tolist() == [100] * 12
    assert column.groups.tolist() == np.repeat(range(4), 3).tolist()


def test_few_values_have_a_bin_each_and_two_need_none() -> None:
    of = np.random.default_rng(0).integers
    table = {"five": Numbers(of(0, 5, 500) * 1.0), "two": Numbers(of(0, 2, 500) * 1.0)}
    five, two = begun(table).numbers
    assert five.edges.tolist() == [0.5, 1.5, 2.5, 3.5] or len(five.edges) == 4
    assert two.edges.size == 0


def test_a_frequent_value_has_a_bin_of_its_own() -> None:
    table = columns(400)
    (column,) = (c for c in begun(table).numbers if c.name == "mostly zero")
    first, second = column.edges[:1], column.edges[1:]
    assert 0 < first[0] < 0.2
    assert second.size >= 2


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -1e308, 1e-300, np.nan])
def test_extreme_numbers_stay_in_bounds(value: float) -> None:
    x = np.random.default_rng(0).standard_normal(400)
    x[[5, 350]] = value
    table = {"x": Numbers(x)}
    encoding = begun(table)
    for encoded in (encoding.encode(part(table, 0, WARM_UP)), encoding.encode(part(table, WARM_UP, 400), learn=True)):
        _, _, data = encoded.rows("fine")
        assert np.isfinite(data).all()
        assert np.abs(data).max() <= 3.0
    assert np.isfinite(encoding.moments).all()
    kind = [feature.kind for feature in encoding.features("fine")]
    assert kind.count("missing") == np.isnan(value)


def test_a_column_of_one_value_says_nothing_until_it_varies() -> None:
    table = {"x": Numbers(np.where(np.arange(600) < 500, 4.0, 5.0))}
    encoding = begun(table)
    encoded = encoding.encode(part(table, WARM_UP, 600), learn=True).rows("fine")
    assert encoded.width == 1
    assert np.diff(encoded[0]).tolist() == [0] * 200 + [1] * 100
    assert encoded[2][0] == 3.0  # far out, and clipped


def test_a_column_without_values() -> None:
    table = {"n": Numbers(np.full(400, np.nan)), "t": Texts(np.full(400, -1), [])}
    encoding = begun(table)
    assert [feature.name for feature in encoding.features()] == ["n", "n: missing", "t: missing"]
    n, t = Numbers(np.array([1.0, 2.0])), Texts(np.array([0, 0]), ["a"])
    rows = encoding.encode({"n": n, "t": t}, learn=True).rows()
    assert np.diff(rows[0]).tolist() == [1, 2]
    assert encoding.features()[-1].name == "t: rare"


def test_a_text_among_numbers_is_missing_and_a_number_among_texts_is_a_category() -> None:
    rng = np.random.default_rng(0)
    table = {"n": Numbers(rng.standard_normal(300)), "c": Texts(rng.integers(0, 3, 300), ["7", "b", "c"])}
    encoding = begun(table)
    odd = {
        "n": Texts(np.array([0, 1, 2, -1]), ["0.5", "abc", "1_0"]),
        "c": Numbers(np.array([7.0, 7.0, 8.5, np.nan])),
    }
    got = [set(row) - {"n"} for row in as_dicts(encoding.encode(odd, learn=True), encoding, "none")]
    assert got == [{"c=7"}, {"n: missing", "c=7"}, {"n: missing", "c: rare"}, {"n: missing", "c: missing"}]
    assert encoding.encode({"n": Times(np.zeros(1)), "c": Times(np.zeros(1))}).rows("none")[1].size == 2


def test_numbers_written_as_texts_are_numbers() -> None:
    values = np.random.default_rng(0).standard_normal(300).round(3)
    texts = Texts(np.arange(301), [*map(str, values), "NA"])
    encoding = begun({"x": texts})
    assert encoding.columns[0].kind == "number"
    assert encoding.numbers[0].edges.tolist() == begun({"x": Numbers(values)}).numbers[0].edges.tolist()
    assert begun({"x": texts._replace(declared=True)}).columns[0].kind == "category"


@pytest.mark.parametrize(
    ("style", "written"),
    [
        ("grouped", "${:,.2f}"),
        ("grouped", "{:,.0f} %"),
        ("comma", "{:.2f}€"),
        ("comma", "{:,.3f}"),
        ("plain", "{:.2f}"),
        ("plain", " {:+.1e}"),
    ],
)
def test_numbers_as_people_write_them(style: str, written: str) -> None:
    values = np.random.default_rng(0).uniform(-3, 3, 300) * 10.0 ** np.random.default_rng(1).integers(0, 6, 300)
    texts = [written.format(value) for value in values]
    if style == "comma":
        texts = [text.translate(str.maketrans(".,", ",.")) for text in texts]
    encoding = begun({"x": Texts(np.arange(300), texts)})
    (column,) = encoding.numbers
    assert column.style == style
    got = column.values(Texts(np.arange(300), texts))
    np.testing.assert_allclose(got, values, atol=0.6 if "0f" in written else 0.006, rtol=0.06)
    assert np.isnan(column.values(Texts(np.array([0]), ["1,2,3"]))).all()  # type: ignore[arg-type]


def test_categories_beyond_the_bound_share_buckets() -> None:
    n = 5000
    names = [f"v{k}" for k in range(500)]
    table = {"c": Texts(np.random.default_rng(0).integers(0, 500, n), names)}
    encoding = begun(table, max_categories=10, buckets=4)
    encoding.encode(part(table, WARM_UP, n), learn=True)
    kinds = [feature.kind for feature in encoding.features()]
    assert (kinds.count("category"), kinds.count("bucket"), kinds.count("rare")) == (10, 4, 1)
    assert encoding.known <= largest_width(encoding) == 16
    assert all(feature.text in names for feature in encoding.features() if feature.kind == "bucket")


def test_a_rare_category_gets_its_column_at_the_row_that_makes_it_frequent() -> None:
    table = {"c": Texts(np.zeros(300, np.int64), ["a", "b"])}
    encoding = begun(table, min_count=3)
    encoded = encoding.encode({"c": Texts(np.array([1, 0, 1, 1, 1]), ["a", "b"])}, learn=True)
    assert [list(row) for row in as_dicts(encoded, encoding, "none")] == [
        ["c: rare"], ["c=a"], ["c: rare"], ["c=b"], ["c=b"],
    ]  # fmt: skip


def test_ids_and_endless_texts_stay_in_bounds() -> None:
    encoding = None
    for k in range(20):
        table = {
            "id": Texts(np.arange(500), [f"id-{500 * k + i}" for i in range(500)]),
            "code": Texts(np.arange(500), [f"x{i if i % 2 else 500 * k + i}" * 200 for i in range(500)]),
            "note": Texts(np.arange(500), [f"some new{500 * k + i} words" for i in range(500)]),
        }
        if encoding is None:
            table["code"] = Texts(np.arange(500) % 9, [f"k{i}" for i in range(9)])
            encoding = begun(table, word_buckets=64)
            assert [c.kind for c in encoding.columns] == ["id", "category", "text"]
            most = largest_width(encoding)
        encoding.encode(table, learn=True)
    assert encoding is not None
    assert encoding.width("fine") <= largest_width(encoding) == most
    told = str([column.to_json() for column in encoding.columns])
    assert len(told) < 100_000


def test_dates_in_any_form() -> None:
    moments = pd.date_range("2023-12-31 23:30", periods=400, freq="37min")[np.random.default_rng(0).permutation(400)]
    seconds = (moments - pd.Timestamp(0)).total_seconds().to_numpy()
    forms = {
        "a": Times(seconds),
        "b": Texts(np.arange(400), [f"{moment}" for moment in moments]),
        "c": Texts(np.arange(400), [f"{moment.isoformat()}Z" for moment in moments]),
        "d": Texts(np.arange(400), [f"{moment.isoformat()}+05:30" for moment in moments]),
        "e time": Numbers(seconds),
        "fCreatedAt": Numbers(seconds * 1e3),
        "g timestamp": Texts(np.arange(400), [f"{second:.0f}" for second in seconds]),
    }
    encoding = begun(forms)
    assert {column.kind for column in encoding.columns} == {"date"}
    for row in as_dicts(encoding.encode(forms), encoding, "fine"):
        said = [{key.removeprefix(name): value for key, value in row.items() if key.startswith(name)} for name in forms]
        assert all(each == pytest.approx(said[0]) for each in said)


def test_days_have_no_hours_and_numbers_no_dates() -> None:
    days = pd.date_range("2023-12-31", periods=400)
    table = table_of(pd.DataFrame({"day": days, "amount": (days - pd.Timestamp(0)).total_seconds()}))
    encoding = begun(table)
    encoding.encode(table)
    assert [column.kind for column in encoding.columns] == ["date", "number"]
    assert not any(feature.kind == "hour" for feature in encoding.features())
    assert "day: Sunday" in [feature.name for feature in encoding.features()]


def test_dates_have_bins_unless_they_are_the_clock_of_the_stream() -> None:
    born = np.random.default_rng(0).uniform(-1e9, 1e9, 400)
    table = {"born": Times(born), "clock": Times(np.sort(born)), "back": Times(-np.sort(born))}
    encoding = begun(table)
    edges = {column.name: column.edges for column in encoding.numbers}
    assert (edges["clock"].size, edges["back"].size) == (0, 0)
    assert edges["born"].size == 11
    assert (edges["born"] % 86400 == 0).all()
    (first, *_) = (feature for feature in encoding.features("coarse") if feature.kind == "bin")
    assert first.is_date
    edge = np.datetime64(int(first.high), "s").astype(str).replace("T", " ")
    assert first.name == f"born: below {edge.removesuffix(':00').removesuffix(' 00:00')}"


def test_a_moment_that_is_none_is_missing() -> None:
    encoding = begun({"when": Times(np.arange(300) * 3600.0)})
    odd = {"when": Texts(np.arange(4), ["2024-13-45", "soon", "1970-01-02", "2024-01-01T10:00:00+02:00"])}
    got = as_dicts(encoding.encode(odd, learn=True), encoding, "none")
    assert [("when: missing" in row) for row in got] == [True, True, False, False]
    assert "when: hour 10" in got[3]


def test_a_column_that_is_not_there_is_named() -> None:
    encoding = begun(columns(400))
    table = columns(10)
    del table["country"]
    with pytest.raises(ValueError, match="no column 'country'"):
        encoding.encode(table)


@pytest.mark.parametrize(
    ("name", "value"),
    [("warm_up", 0), ("fine_bins", 1), ("clip", 0), ("clip", np.nan), ("min_count", 300), ("coarse_bins", 13)],
)
def test_settings_out_of_range_are_named(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        EncodingSettings(**{name: value})  # type: ignore[arg-type]


def test_rows_in() -> None:
    assert rows_in({}) == 0
    with pytest.raises(ValueError, match="'b' has 2 rows"):
        rows_in({"a": Numbers(np.zeros(3)), "b": Numbers(np.zeros(2))})


@pytest.mark.parametrize("size", [1, 7, 60])
def test_numbers_in_texts_are_the_same_categories_in_any_batch(size: int) -> None:
    texts = ["1", "01", "x", "1.0", "x", "2", "02", "y", "2", "1"] * 6
    codes = np.array([sorted(set(texts)).index(text) for text in texts])
    table = {"a": Texts(codes, sorted(set(texts)), declared=True)}
    encoding = Encoding.begun(part(table, 0, 4), EncodingSettings())
    got = [encoding.encode(part(table, at, at + size), learn=True).rows() for at in range(0, 60, size)]
    assert [feature.text for feature in encoding.features() if feature.kind == "category"] == [
        "1",
        "x",
        "01",
        "2",
        "02",
        "y",
    ]
    at_once = Encoding.begun(part(table, 0, 4), EncodingSettings()).encode(table, learn=True).rows()
    assert np.concatenate([rows[1] for rows in got]).tolist() == at_once[1].tolist()


def test_the_clock_of_a_stream_is_no_number() -> None:
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + np.sort(rng.integers(0, 86400 * 30, 900)).astype(float)
    jittered = seconds + rng.normal(0, 3600, 900)  # rows of a few hours in any order
    born = 1e9 + rng.integers(0, 86400 * 9000, 900).astype(float)
    table = {"when": Times(seconds), "sent": Times(jittered), "born": Times(born)}
    encoding = begun(table)
    assert [column.clock for column in encoding.columns] == [True, True, False]
    assert [len(column.edges) for column in encoding.numbers][:2] == [0, 0]
    names = [feature.name for feature in encoding.features("none")]
    rows = as_dicts(encoding.encode(table), encoding, "none")
    assert not any("when" in row or "sent" in row for row in rows)
    assert sum("born" in row for row in rows) > 890
    assert {"when: Monday", "born"} <= set(names)
    told, arrays = to_state(encoding)
    again = from_state(told, arrays)
    assert [column.clock for column in again.columns] == [True, True, False]
    told["columns"][2]["clock"] = "yes"
    with pytest.raises(ValueError, match="a clock in a column that holds no dates"):
        from_state(told, arrays)
