"""CSV and TSV: columns by name, text hashed, missing values, quotes; Parquet and Arrow give the same."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

from pater.formats.blocks import BLOCK_BYTES, Place
from pater.formats.csv_blocks import TableBlock
from pater.formats.csv_cells import Cells
from pater.formats.csv_fields import IS_INFINITE, IS_MISSING, IS_NUMBER, IS_TEXT
from pater.stream import InputError, read

TEXT = """id,age,city,ok
1,30,"Par""is, x",yes
2,,NA,no
3,41.5,Rome,yes
4,0,"two
lines",no
"""


def one(path: Path, text: str | bytes | None = None, **settings: object) -> object:
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (batch,) = read(path, **settings)  # type: ignore[arg-type]
    return batch


def test_text_is_hashed_as_column_and_value(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", TEXT, label="ok", drop=["id"], bits=10)
    names = [{"age": 30, 'city=Par"is, x': 1}, {}, {"age": 41.5, "city=Rome": 1}, {"city=two\nlines": 1}]
    assert abs(batch.X - FeatureHasher(1024).transform(names)).max() == 0
    assert batch.labels.tolist() == ["yes", "no", "yes", "no"]
    assert batch.lines.tolist() == [2, 3, 4, 5]
    assert batch.missing == 2


def test_numbers_alone_stay_dense(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.tsv", "a\tb\ty\r\n1\t2.5\t1\r\n?\t-3e2\t0\r\n 4 \t\t1")
    np.testing.assert_array_equal(batch.X, [[1, 2.5], [0, -300], [4, 0]])
    assert batch.labels.tolist() == [1, 0, 1]
    assert batch.labels.dtype == np.int64
    assert batch.missing == 2


def test_weights_and_categories(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", "n,w,y\n1,2,1\n2,0.5,0\n", weight="w", categorical=["n"], bits=8)
    assert batch.weights.tolist() == [2, 0.5]
    assert abs(batch.X - FeatureHasher(256).transform([{"n": "1"}, {"n": "2"}])).max() == 0


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("1,2", 4, "too few"),
        ("1,2,1,9", 7, "too many"),
        ("1,x,1", 3, "not a number"),
        ("1,inf,1", 3, "infinity"),
        ("1,1e999,1", 3, "infinity"),
        ("1,2,", 5, "no label"),
        ("1,2,0.5", 5, "whole number"),
        ("1,2,yes", 5, "whole number"),
        ('1,"2"x,1', 6, "after the closing quote"),
        ('"1"\r7,5', 4, "carriage return"),
        ("1\r7,5,1", 2, "carriage return"),
        ("1,2\r,1", 4, "carriage return"),
        ("1,info,1", 3, "not a number"),
        ("1,-infinity,1", 3, "infinity"),
    ],
)
def test_malformed_rows(tmp_path: Path, line: str, column: int, what: str) -> None:
    (tmp_path / "0.csv").write_text("a,b,y\n1,2,1\n")
    (tmp_path / "1.csv").write_bytes(f"a,b,y\n1,2,1\n{line}\n3,4,0\n".encode())
    _, batch = read([tmp_path / "0.csv", tmp_path / "1.csv"], on_error="skip")
    (fault,) = batch.faults
    assert (fault.line, fault.column) == (3, column)
    assert what in fault.what
    assert batch.labels is not None
    assert batch.labels.tolist() == [1, 0]
    with pytest.raises(InputError, match=r"1\.csv, line 3, column"):
        list(read([tmp_path / "0.csv", tmp_path / "1.csv"]))


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", 'a,y\n1,1\n2,0\n"3,1\n4,0\n', on_error="skip")
    assert [fault.line for fault in batch.faults] == [4]
    assert len(batch) == 2


@pytest.mark.parametrize(
    ("text", "settings", "what"),
    [
        ("a,b\n1,2\n", {}, "--label"),
        ("a,y\n1,2\n", {"label": "z"}, "no column 'z'"),
        ("a,a,y\n1,2,1\n", {}, "twice"),
        ("y\n1\n", {}, "no column to learn from"),
        ("", {}, "empty"),
        ("a,y\n1,1\n", {"drop": ["q"]}, "no column 'q'"),
    ],
)
def test_tables_that_make_no_sense(tmp_path: Path, text: str, settings: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        one(tmp_path / "a.csv", text, **settings)


def test_columns_may_stand_in_another_order_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("a,b,y\n1,2,1\n")
    (tmp_path / "1.csv").write_text("y,extra,b,a\n0,7,20,10\n")
    first, second = read([tmp_path / "0.csv", tmp_path / "1.csv"])
    np.testing.assert_array_equal(second.X, [[10, 20]])
    assert first.X.shape == (1, 2)


@pytest.mark.slow
def test_several_blocks_with_quoted_line_ends(tmp_path: Path) -> None:
    rows = [f'{k},"a ""{k}""\nb",{k % 2}' for k in range(150_000)]
    (tmp_path / "a.csv").write_text("n,t,y\n" + "\n".join(rows) + "\n")
    batches = list(read(tmp_path / "a.csv", bits=20))
    assert len(batches) > 1
    assert sum(map(len, batches)) == len(rows)
    assert np.concatenate([batch.lines for batch in batches]).tolist() == list(range(2, 2 + 2 * len(rows), 2))


def test_parquet_and_arrow_are_the_same_table(tmp_path: Path) -> None:
    table = pa.table(
        {
            "age": [30, None, 41.5, 0],
            "city": pa.array(['Par"is, x', None, "Rome", "two\nlines"]).dictionary_encode(),
            "ok": ["yes", "no", "yes", "no"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write(table)
    want = one(tmp_path / "a.csv", TEXT, label="ok", drop=["id"], bits=10)
    for name in ("a.parquet", "a.arrow"):
        batch = one(tmp_path / name, label="ok", bits=10)
        assert abs(batch.X - want.X).max() == 0
        assert batch.labels.tolist() == want.labels.tolist()
        assert batch.missing == 2


def test_columnar_faults_name_the_row(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, float("inf"), 3.0], "y": [1, 0, None]}), tmp_path / "a.parquet")
    batch = one(tmp_path / "a.parquet", on_error="skip")
    assert [str(fault).partition(", ")[2] for fault in batch.faults] == [
        "row 2: infinity in column 'a' is not a value to learn from",
        "row 3: there is no label",
    ]
    (tmp_path / "b.parquet").write_bytes(b"PAR1 this is none")
    with pytest.raises(InputError, match=r"b\.parquet"):
        one(tmp_path / "b.parquet")
    pq.write_table(pa.table({"a": [[1], [2]], "y": [1, 0]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match="neither a number nor text"):
        one(tmp_path / "c.parquet")


def test_names_of_columns_that_are_no_text(tmp_path: Path) -> None:
    table = pa.table({"height-": [1.0, 2.0], "y": [0, 1]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    damaged = (tmp_path / "a.arrow").read_bytes().replace(b"height-", b"height\xd8")
    (tmp_path / "a.arrow").write_bytes(damaged)
    with pytest.raises(InputError, match=r"a\.arrow: the name of a column is not UTF-8"):
        list(read(tmp_path / "a.arrow"))


WORDS = ["normal", "Nice", "info", "nan-foo", "infinite", "nano", "i", "n", "inf.", "-infx", "NAN0"]


def test_text_that_begins_as_infinity_does_is_text(tmp_path: Path) -> None:
    rows = "".join(f"{word},{k},{word}\n" for k, word in enumerate(WORDS))
    batch = one(tmp_path / "a.csv", f"t,x,y\n{rows}", bits=16)
    assert batch.labels.tolist() == WORDS
    want = FeatureHasher(1 << 16).transform([{f"t={word}": 1, "x": k} for k, word in enumerate(WORDS)])
    assert abs(batch.X - want).max() == 0
    assert batch.missing == 0


def test_nan_with_a_sign_is_a_missing_value(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", "a,y\n-nan,1\n+NaN,0\n2,0\n")
    np.testing.assert_array_equal(batch.X, [[0], [0], [2]])
    assert batch.missing == 2


@pytest.mark.parametrize("weight", ["1e160", "1e-30", "-1", "nan", "inf", "x", ""])
def test_an_importance_that_no_rule_takes(tmp_path: Path, weight: str) -> None:
    (tmp_path / "a.csv").write_text(f"x,w,y\n1,2,1\n2,{weight},0\n")
    with pytest.raises(
        InputError, match=r"a\.csv, line 3, column 3: .* is not an importance: neither 0 nor a number from"
    ):
        list(read(tmp_path / "a.csv", weight="w"))


def test_an_importance_in_parquet_that_no_rule_takes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 2], "w": [1.0, 1e160], "y": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet, row 2: the importance, 'w', is neither 0 nor"):
        list(read(tmp_path / "a.parquet", weight="w"))


def test_a_quote_within_a_field_is_text_wherever_a_block_ends(tmp_path: Path) -> None:
    rows = [
        f'{k} 5" pipe,"two\nlines {"z" * 2000}",{k % 2}' if k == 3 else f'{k},"a\n{"z" * 2000}",{k % 2}'
        for k in range(1500)
    ]
    (tmp_path / "a.csv").write_text("n,t,y\n" + "\n".join(rows) + "\n")
    batches = list(read(tmp_path / "a.csv"))
    assert len(batches) > 1
    assert np.concatenate([batch.lines for batch in batches]).tolist() == list(range(2, 2 + 2 * len(rows), 2))


def test_a_header_of_several_lines(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", b'\xef\xbb\xbf"first\nname",b,y\n1,2,1\n3,4,0\n')
    np.testing.assert_array_equal(batch.X, [[1, 2], [3, 4]])
    assert batch.lines.tolist() == [3, 4]
    with pytest.raises(InputError, match=r"b\.csv, line 1: the header cannot be read"):
        one(tmp_path / "b.csv", 'a,"b,y\n1,2,1\n')


@pytest.mark.slow
def test_one_long_label_does_not_widen_all_others(tmp_path: Path) -> None:
    long, rows = "x" * 1000, "1,a\n2,b\n" * 100_000
    (tmp_path / "a.csv").write_text(f"x,label\n1,{long}\n{rows}")
    tracemalloc.start()
    (batch,) = read(tmp_path / "a.csv", threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # 800 MB if each row were as wide as the longest
    assert batch.labels is not None
    assert batch.labels[0] == long
    assert batch.labels[1:5].tolist() == ["a", "b", "a", "b"]


def test_what_is_no_label(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x,y\n1,a\n2,%s\n3,b\n4,\xff\n5,\xfe\n" % (b"z" * 1001))
    (batch,) = read(tmp_path / "a.csv", on_error="skip")
    assert [(fault.line, fault.column, fault.what) for fault in batch.faults] == [
        (3, 3, "the label has more than 1,000 characters"),
        (5, 3, "the label is not UTF-8"),
        (6, 3, "the label is not UTF-8"),
    ]
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "z" * 1001]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet, row 2: the label has more than 1,000 characters"):
        one(tmp_path / "a.parquet")


def test_names_that_are_too_long_or_there_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv, line 1: the header names the column 'zz+…', whose name has 1,001"):
        one(tmp_path / "a.csv", f"{'z' * 1001},y\n1,1\n")
    table = pa.table([[1.0, 2.0], [3.0, 4.0], [0, 1]], names=["a", "a", "y"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(InputError, match=rf"{name}: it names the column 'a' twice"):
            one(tmp_path / name)


def test_a_wide_table_is_read_in_linear_time(tmp_path: Path) -> None:
    names = [f"column{k}" for k in range(100_000)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",".join([*names, "y"]), *(",".join(["1"] * len(names) + [str(k)]) for k in (0, 1))]))
    start = time.process_time()
    (batch,) = read(path)
    assert batch.X.shape == (2, len(names))
    with pytest.raises(InputError, match=r"the header names column0, .* column19 and 99,981 more") as error:
        list(read(path, label="q"))
    assert len(str(error.value)) < 1000
    assert time.process_time() - start < 20  # comparing every name with every other takes minutes


@pytest.mark.slow
def test_short_lines_below_a_wide_header_take_no_room() -> None:
    block = TableBlock(b"1\n" * (BLOCK_BYTES // 2), tuple(map(str, range(100_000))), 2, Place())
    cells = Cells(block, ord(","), "a.csv")
    assert len(cells) == 0
    assert len(cells.malformed) == BLOCK_BYTES // 2
    assert cells.starts.base.nbytes <= 8 * BLOCK_BYTES  # type: ignore[union-attr]


def test_a_dictionary_as_large_as_its_indices_can_tell(tmp_path: Path) -> None:
    words = [f"w{k}" for k in range(128)]
    codes = pa.array([*range(128), None], pa.int8())
    table = pa.table({"t": pa.DictionaryArray.from_arrays(codes, pa.array(words)), "y": [k % 2 for k in range(129)]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    batch = one(tmp_path / "a.arrow", bits=16)
    assert abs(batch.X - FeatureHasher(1 << 16).transform([*({"t": w} for w in words), {}])).max() == 0
    assert batch.missing == 1


def test_collisions_that_overflow_are_no_values(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(40)]
    numbers = ",".join(["1.7e308"] * 20 + ["-1.7e308"] * 20)
    batch = one(
        tmp_path / "a.csv", f"{','.join(names)},y\n{','.join('1' * 40)},1\n{numbers},0\n", bits=1, on_error="skip"
    )
    assert [(fault.line, "add up to infinity" in fault.what) for fault in batch.faults] == [(3, True)]
    table = pa.table({**{name: [1.0, 1.7e308 if k < 20 else -1.7e308] for k, name in enumerate(names)}, "y": [1, 0]})
    pq.write_table(table, tmp_path / "a.parquet")
    batch = one(tmp_path / "a.parquet", bits=1, on_error="skip")
    assert [(fault.line, "add up to infinity" in fault.what) for fault in batch.faults] == [(2, True)]


def test_a_doubled_quote_is_one_only_where_a_field_stands_in_quotes(tmp_path: Path) -> None:
    batch = one(tmp_path / "a.csv", 't,y\na""b,n""o\n"a""b","n""o"\n', bits=16)
    assert batch.labels.tolist() == ['n""o', 'n"o']
    assert abs(batch.X - FeatureHasher(1 << 16).transform([{'t=a""b': 1}, {'t=a"b': 1}])).max() == 0


@given(st.lists(st.lists(st.text("ab1. ", max_size=4), min_size=1, max_size=4), min_size=1, max_size=8))
def test_fields_without_quotes_are_found_as_those_with_quotes_are(rows: list[list[str]]) -> None:
    text = "".join(",".join(row) + "\n" for row in rows)
    block = TableBlock(text.encode(), ("a", "b"), 1, Place())
    cells, careful = Cells(block, ord(","), ""), Cells(block._replace(text=block.text + b'"",""\n'), ord(","), "")
    assert np.array_equal(cells.starts, careful.starts[:-1])
    assert np.array_equal(cells.ends, careful.ends[:-1])
    assert np.array_equal(cells.lines, careful.lines[:-1])
    assert cells.faults == careful.faults


def cells_of(*rows: str) -> Cells:
    return Cells(TableBlock("".join(row + "\n" for row in rows).encode(), ("a", "b"), 1, Place()), ord(";"), "")


def test_only_long_or_odd_numbers_need_more_than_the_short_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pater.formats.csv_cells.other_numbers", None)  # compiling it takes half a second
    cells = cells_of("12.5;red", ";2024-01-01 10:00", "-7;", "1;in", "null;2024/01/01", "NA;infer")
    values, kinds = cells.numbers(np.array([0]), by_column=True)
    assert np.array_equal(values[:, 0], [12.5, np.nan, -7.0, 1.0, np.nan, np.nan], equal_nan=True)
    assert kinds[:, 0].tolist() == [IS_NUMBER, IS_MISSING, IS_NUMBER, IS_NUMBER, IS_MISSING, IS_MISSING]
    with pytest.raises(TypeError):
        cells.numbers(np.array([1]))  # infer begins like infinity
    texts = cells_of("1;red", "1;2024-01-01 10:00", "1;", "1;in", "1;2024/01/01", "1;élan", "1;_1", "1;[]")
    assert texts.numbers(np.array([1]))[1][:, 0].tolist() == [IS_TEXT] * 2 + [IS_MISSING] + [IS_TEXT] * 5


FIELD = st.text("0123456789.-+eE/ ", max_size=20) | st.text(st.sampled_from("naN/ulifty?-+_ 1.e\t"), max_size=8)
ODD = ["inf", "+Infinity", "-nan", "1e400", "NA", "n/a", "NULL", "none", "None", "?", "nan", "+NaN", "N/A"]
SPACED = st.tuples(st.sampled_from(["", " ", "\t "]), FIELD | st.sampled_from(ODD), st.sampled_from(["", " ", " \t"]))
NOTHING = {"", "?", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}


@given(st.lists(SPACED.map("".join), min_size=1, max_size=30))
@example(["123e-5", "123E-05", "1234-5", "12345678.5e-7", "NA ", "null\t", "nan ", "none  ", "2024-01-01 "])
def test_a_field_is_the_number_that_python_reads_or_nothing_or_a_text(fields: list[str]) -> None:
    values, kinds = cells_of(*(f"{field};1" for field in fields)).numbers(np.array([0]), by_column=True)
    for field, value, kind in zip(fields, values[:, 0].tolist(), kinds[:, 0].tolist(), strict=True):
        there = field.strip(" \t")
        try:
            number = float("_" if "_" in there else there)
        except ValueError:
            number = np.nan
        if np.isnan(number):
            assert kind == (IS_MISSING if there.lower() in NOTHING else IS_TEXT)
            assert np.isnan(value)
        elif np.isinf(number):
            assert kind == IS_INFINITE
        else:
            assert (kind, value) == (IS_NUMBER, number)


def test_a_word_for_nothing_with_blanks_behind_it_leaves_its_column_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,y\n1.5,0\nNA ,1\n2.5,1\n")
    assert np.array_equal(one(tmp_path / "a.csv", keep_missing=True).X[:, 0], [1.5, np.nan, 2.5], equal_nan=True)
