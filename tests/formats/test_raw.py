"""Tables passed on raw: numbers, texts and times, from CSV and from Parquet and Arrow."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pater.formats import arrow_files
from pater.formats.batches import Batch
from pater.formats.blocks import Place
from pater.formats.columns import Columns
from pater.formats.csv_blocks import TableBlock
from pater.formats.csv_cells import Cells
from pater.formats.csv_texts import texts_of
from pater.formats.raw import RawBatch
from pater.formats.reading import make_input
from pater.preprocessing.columns import Numbers, Texts, Times, as_texts, part
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.stream_encoder import StreamEncoder
from pater.preprocessing.tables import of_arrow, table_of
from pater.stream import InputError


def batches(path: Path, text: str | bytes | None = None, **settings: object) -> list[Batch]:
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(make_input(path, encoded=True, **settings).batches())  # type: ignore[arg-type]


def one(path: Path, text: str | bytes | None = None, **settings: object) -> RawBatch:
    (batch,) = batches(path, text, **settings)
    assert isinstance(batch, RawBatch)
    return batch


def values(column: object) -> list[object]:
    if isinstance(column, Texts):
        return [None if code < 0 else column.names[code] for code in column.codes]
    return [None if np.isnan(value) else value for value in column[0].tolist()]  # type: ignore[index]


TEXT = """id,age,city,w,ok
1,30,"Par""is, x",2,yes
2,,NA,1,no
3,41.5, Rome ,1,yes
4,0,"two
lines",1,no
5,?,"Rome",0.5,no
"""


def test_columns_come_as_they_are(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", TEXT, label="ok", weight="w")
    assert list(batch.table) == ["id", "age", "city"]
    assert values(batch.table["id"]) == [1, 2, 3, 4, 5]
    assert values(batch.table["age"]) == [30, None, 41.5, 0, None]
    assert values(batch.table["city"]) == ['Par"is, x', None, "Rome", "two\nlines", "Rome"]
    assert batch.labels is not None
    assert batch.labels.tolist() == ["yes", "no", "yes", "no", "no"]
    assert batch.weights.tolist() == [2, 1, 1, 1, 0.5]
    assert batch.lines.tolist() == [2, 3, 4, 5, 7]
    assert batch.missing == 3
    assert len(batch) == 5


def test_what_the_caller_says_of_columns(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", TEXT, label="ok", categorical=["id"], drop=["w", "age"])
    assert list(batch.table) == ["id", "city"]
    assert values(batch.table["id"]) == ["1", "2", "3", "4", "5"]
    assert batch.table["id"].declared
    assert not batch.table["city"].declared


def test_a_column_of_numbers_that_holds_text_later(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2.50,1\n")
    (tmp_path / "b.csv").write_text("a,y\n3,0\nfour,1\n-,1\n")
    first, second = make_input([tmp_path / "a.csv", tmp_path / "b.csv"], encoded=True).batches()
    assert isinstance(first.table["a"], Numbers)
    assert values(second.table["a"]) == ["3", "four", "-"]


@pytest.mark.parametrize("kind", ["", "text"])
def test_malformed_rows_are_left_out_of_every_column(tmp_path: Path, kind: str) -> None:
    (tmp_path / "0.csv").write_text(f"a,b,y\n1,{kind or 2},1\n")
    (tmp_path / "1.csv").write_text("a,b,y\n5,6,1\ninf,7,1\n1,2,x\n3\n8,inf,0\n9,9,0\n")
    _, batch = make_input([tmp_path / "0.csv", tmp_path / "1.csv"], encoded=True, on_error="skip").batches()
    there = ["6", "inf", "9"] if kind else [6, 9]
    assert values(batch.table["b"]) == there
    assert values(batch.table["a"]) == ([5, 8, 9] if kind else [5, 9])
    assert [fault.line for fault in batch.faults] == ([3, 4, 5] if kind else [3, 4, 5, 6])
    assert "infinity in column 'a'" in str(batch.faults[0])
    assert len(batch) == len(batch.labels) == len(there)


def test_a_malformed_row_stops(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.csv, line 3, column 1: infinity in column 'a'"):
        batches(tmp_path / "a.csv", "a,b,y\n1,2,0\n-inf,1,1\n")


FRAME = pd.DataFrame(
    {
        "n": [1.5, None, -2.0],
        "whole": pd.array([1, None, 3], "Int64"),
        "flag": [True, False, True],
        "city": ["Rome", None, "Bern"],
        "grade": pd.Categorical(["low", "high", "low"]),
        "when": pd.to_datetime(["2024-01-01 12:00", None, "2024-02-01 00:00"]),
        "day": [dt.date(2024, 1, 2), None, dt.date(1970, 1, 1)],
        "y": [0, 1, 0],
    }
)


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_columns_of_parquet_and_arrow(tmp_path: Path, ending: str) -> None:
    path, table = tmp_path / f"a.{ending}", pa.Table.from_pandas(FRAME)
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "feather":
        feather.write_feather(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    batch = one(path)
    t = batch.table
    assert values(t["n"]) == [1.5, None, -2]
    assert values(t["whole"]) == [1, None, 3]
    assert values(t["flag"]) == ["True", "False", "True"]
    assert values(t["city"]) == ["Rome", None, "Bern"]
    assert values(t["grade"]) == ["low", "high", "low"]
    assert t["grade"].declared
    assert isinstance(t["when"], Times)
    assert values(t["when"]) == [1704110400, None, 1706745600]
    assert values(t["day"]) == [1704153600, None, 0]
    assert (batch.unit, batch.missing, batch.labels.tolist()) == ("row", 5, [0, 1, 0])
    whole = one(path, categorical=["whole"]).table["whole"]
    assert (whole.codes.tolist(), list(whole.names), whole.declared) == ([0, -1, 1], ["1", "3"], True)


def test_texts_of_parquet_are_read_as_dictionaries_where_these_are_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    few = [None if k == 0 else f"{k:x}"[::-1] for k in random.integers(0, 40, 5000)]
    own = [f"row {k}" for k in random.permutation(5000)]
    table = pa.table({"few": few, "own": own, "y": ["yes", "no"] * 2500})
    pq.write_table(table.append_column("declared", pa.array(few).dictionary_encode()), tmp_path / "a.parquet")
    monkeypatch.setattr(arrow_files, "MOST_CODED_BYTES", 20_000)
    monkeypatch.setattr(arrow_files, "ROWS", 700)
    monkeypatch.setattr(arrow_files, "HASHED_ROWS", 625)  # as 5,000 rows are cut evenly

    def read(coded: list[str]) -> list[RawBatch]:
        made = make_input(tmp_path / "a.parquet", encoded=True, label="y", threads=0)
        blocks = list(made.blocks(made.sources[0], hashed=not coded))
        assert {name for block in blocks for name in block.coded} == set(coded)
        assert all(isinstance(block.records.column(name), pa.DictionaryArray) for block in blocks for name in coded)
        parser = made._parser(made.sources[0])
        return [parser(block, "a.parquet") for block in blocks]

    for plain, coded in zip(read([]), read(["few"]), strict=True):
        assert plain.table["declared"].declared
        assert not coded.table["few"].declared
        for name, column in plain.table.items():
            other = coded.table[name]
            assert list(other.names) == list(column.names)
            assert np.array_equal(other.codes, column.codes)
            assert (other.hashes is None) == (column.hashes is None)
        assert np.array_equal(plain.labels, coded.labels)


def coded_columns(path: Path) -> set[str]:
    made = make_input(path, encoded=True, label="y", threads=0)
    return {name for block in made.blocks(made.sources[0], hashed=False) for name in block.coded}


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_of_parquet_that_arrow_makes_no_dictionary_of(tmp_path: Path, encoding: str) -> None:
    table = pa.table({"s": ["a", "b", None, "a"], "t": ["c", "c", "d", "c"], "y": [0, 1, 0, 1]})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=["t"], column_encoding={"s": encoding})
    assert coded_columns(tmp_path / "a.parquet") == {"t"}
    assert values(one(tmp_path / "a.parquet", label="y").table["s"]) == ["a", "b", None, "a"]


def test_small_row_groups_of_parquet_are_not_cut_into_as_many_blocks(tmp_path: Path) -> None:
    table = pa.table({"s": ["a", "b"] * 500, "y": [0, 1] * 500})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=300)
    assert not coded_columns(tmp_path / "a.parquet")
    assert len(one(tmp_path / "a.parquet", label="y")) == 1000


def test_a_field_of_a_struct_may_have_the_path_of_a_column_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"a.b": ["x", "y"], "a": [{"b": "p"}, {"b": "q"}], "s": ["u", "v"], "y": [0, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    made = make_input(tmp_path / "a.parquet", encoded=True, label="y", drop=["a"], threads=0)
    assert {name for block in made.blocks(made.sources[0], hashed=False) for name in block.coded} == {"s"}
    assert values(next(made.batches()).table["a.b"]) == ["x", "y"]  # type: ignore[attr-defined]


def test_a_text_that_a_dictionary_holds_twice_is_one(tmp_path: Path) -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([3, 1, None, 0, 3]), pa.array(["a", "b", "c", "b"]))
    column = of_arrow(twice, declared=False)
    assert values(column) == ["b", "b", None, "a", "b"]
    assert list(column.names) == ["b", "a"]


@pytest.mark.parametrize("coded", [False, True])
def test_texts_of_arrow_are_those_of_its_rows(coded: bool) -> None:
    """Slices, nulls among the rows and in a dictionary, empty texts, and texts in any alphabet."""
    random = np.random.default_rng(0)
    words = ["", "é", "日本", "b", None, "b" * 40, "é"]
    rows = [words[k] for k in random.integers(0, len(words), 300)]
    array = pa.array(rows)
    if coded:
        codes = pa.array([None if k == 3 else int(k) for k in random.integers(0, len(words), 300)])
        array = pa.DictionaryArray.from_arrays(codes, pa.array(["sliced off", *words]).slice(1))
    for start, stop in ((0, 300), (17, 203), (299, 300), (40, 40)):
        some = array.slice(start, stop - start)
        column = of_arrow(some, declared=False)
        assert values(column) == some.to_pylist()
        assert list(column.names) == list(dict.fromkeys(text for text in some.to_pylist() if text is not None))
    assert values(of_arrow(pa.array([None, None], pa.string()))) == [None, None]
    with pytest.raises(UnicodeDecodeError):
        of_arrow(pa.array([b"\xff"]).view(pa.string()))


def test_row_groups_that_were_read_do_not_stay_in_memory(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=400_000)
    pq.write_table(pa.table({"x": x, "y": [0, 1] * 200_000}), tmp_path / "a.parquet", row_group_size=10_000)
    made, before = make_input(tmp_path / "a.parquet", encoded=True, label="y", threads=0), pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in made.blocks(made.sources[0], hashed=False))
    assert 0 < most < x.nbytes / 2


def test_columns_of_parquet_that_cannot_be_encoded(tmp_path: Path) -> None:
    pq.write_table(pa.table({"l": [[1], [2]], "y": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a.parquet: column 'l' cannot be read: it is of type list.*--drop 'l'"):
        batches(tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.0, np.inf], "y": [0, 1]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b.parquet, row 2: infinity in column 'x'"):
        batches(tmp_path / "b.parquet")


def test_csv_and_parquet_are_the_same_table(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    n = 120_000
    frame = pd.DataFrame(
        {
            "x": random.normal(size=n).round(5),
            "city": random.choice(["Rome", "Bern", "Oslo", None], n),
            "name": [f"name {k}" for k in random.integers(0, 30_000, n)],
            "y": random.integers(0, 2, n),
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    text, records = (batches(tmp_path / f"a.{ending}") for ending in ("csv", "parquet"))
    assert len(text) > 1
    for name in ("x", "city", "name"):
        of_text = [value for batch in text for value in values(batch.table[name])]
        assert of_text == [value for batch in records for value in values(batch.table[name])]


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    columns = Columns("encoded", table=(("a", "number"), ("b", "text")), label="y")
    (tmp_path / "a.csv").write_text("a,y\n1,0\n")
    with pytest.raises(InputError, match="there is no column 'b'; the header names a, y"):
        list(make_input(tmp_path / "a.csv", columns=columns).batches())


def test_columns_as_json_and_back() -> None:
    columns = Columns("encoded", table=(("a", "number"), ("b", "text"), ("c", "category")), label="y")
    assert Columns.from_json(columns.to_json()) == columns
    for wrong in ({"kind": "table"}, {"kind": "hashed", "bits": 3}, {"bits": 3}, {"table": []}):
        with pytest.raises(ValueError, match="not sound"):
            Columns.from_json({**columns.to_json(), **wrong})


CELL = st.text(st.sampled_from(' ab"\n,\tNé?'), max_size=5)


@given(st.lists(CELL, min_size=1, max_size=40))
def test_texts_are_those_of_the_csv_module(cells: list[str]) -> None:
    quoted = "".join('"' + cell.replace('"', '""') + '",1\n' for cell in cells).encode()
    block = TableBlock(quoted, ("a", "y"), 1, Place())
    found = values(*texts_of(Cells(block, ord(","), "a.csv"), np.array([0])))
    missing = ("", "?", "na", "n/a", "nan", "null", "none")
    stripped = [cell.strip(" \t") for cell in cells]
    assert found == [None if cell.lower() in missing else cell for cell in stripped]


@given(st.lists(st.text("ab1", min_size=1, max_size=20), min_size=1, max_size=40))
def test_each_text_is_there_once_wherever_it_stands(cells: list[str]) -> None:
    block = TableBlock("".join(f"{cell},1\n" for cell in cells).encode(), ("a", "y"), 1, Place())
    (texts,) = texts_of(Cells(block, ord(","), "a.csv"), np.array([0]))
    assert values(texts) == cells
    assert list(texts.names) == list(dict.fromkeys(cells))


def test_texts_that_are_no_utf8_are_one(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", b"a,y\nx\xff,1\nx\xfe,0\nx,0\n")
    assert values(batch.table["a"]) == ["x\ufffd", "x\ufffd", "x"]


def test_quotes_that_stand_for_themselves(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", 'a,y\n"x""y",1\nx""y,0\nx"y,0\n')
    assert values(batch.table["a"]) == ['x"y', 'x""y', 'x"y']


def test_dates_come_as_moments_and_can_be_had_as_texts(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", "day,y\n2024-01-01,1\n,0\n 2024-01-02 06:00 ,1\nx,2,3\n", on_error="skip")
    days = batch.table["day"]
    assert isinstance(days, Times)
    assert values(days) == [1704067200.0, None, 1704175200.0]
    assert values(as_texts(days)) == ["2024-01-01", None, "2024-01-02 06:00"]
    assert values(as_texts(part(batch.table, 1, 3)["day"])) == [None, "2024-01-02 06:00"]
    assert isinstance(one(tmp_path / "a.csv", categorical=["day"], on_error="skip").table["day"], Texts)


@pytest.mark.parametrize("first", ["red", "2024-01-01"])
def test_dates_among_texts_are_what_the_beginning_says(tmp_path: Path, first: str) -> None:
    texts = [*[first, "blue"] * 20, *[f"2024-01-{1 + k % 9:02} 10:00" for k in range(60)], "red"]
    settings = EncodingSettings(warm_up=30)
    by_texts, by_file = StreamEncoder(settings), StreamEncoder(settings)
    (whole,) = by_texts.take(table_of([{"a": text} for text in texts]))[1:]
    rows = []
    for at, stop in ((0, 40), (40, 100), (100, 101)):
        lines = "".join(f"{text},1\n" for text in texts[at:stop])
        pieces = by_file.take(one(tmp_path / f"{at}.csv", "a,y\n" + lines).table)
        rows += [encoded.rows() for encoded, _ in pieces]
    indices = np.concatenate([each[1] for each in rows[1:]])
    assert np.array_equal(indices, whole[0].rows()[1])
    assert by_texts.encoding is not None
    assert by_file.encoding is not None
    assert by_texts.encoding.features() == by_file.encoding.features()


@pytest.mark.parametrize("infinite", ["inf", "-Infinity", "1e400"])
def test_infinity_is_a_fault_whatever_stands_beside_it(tmp_path: Path, infinite: str) -> None:
    (tmp_path / "0.csv").write_text("a,y\n1,0\n2,1\n")
    for k, other in enumerate(["3", "word", "", "-"], start=1):
        path = tmp_path / f"{k}.csv"
        path.write_text(f"a,y\n{other},0\n{infinite},1\n4,0\n")
        with pytest.raises(InputError, match=r"line 3, column 1: infinity in column 'a'"):
            list(make_input([tmp_path / "0.csv", path], encoded=True, label="y").batches())
        _, batch = make_input([tmp_path / "0.csv", path], encoded=True, label="y", on_error="skip").batches()
        assert (len(batch), len(batch.faults)) == (2, 1)
