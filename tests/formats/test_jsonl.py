"""JSON lines as an input: both shapes, faults in a line, and the same model as from CSV and Parquet."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pater import stream
from pater.formats import json_text
from pater.formats.columns import INDICES, NUMBER, TEXT, Columns
from pater.formats.reading import make_input
from pater.stream import InputError
from pater.stream.conversion import convert as convert_rows
from pater.stream.learner import load

ROWS = [{"x": 1.5, "c": "a", "label": 1}, {"x": None, "c": "b", "label": 0}, {"x": 2, "c": None, "label": 1}]


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def apart(rows: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    return [
        {"features": {name: value for name, value in row.items() if name != "label"}, "label": row["label"], **more}
        for row in rows
    ]


def read(path: Path, text: str | bytes, **settings: Any) -> Any:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    source = make_input(path, **{"encoded": True, **settings})
    (batch,) = source.batches()
    return batch, source.describe()


def test_both_shapes(tmp_path: Path) -> None:
    flat, columns = read(tmp_path / "a.jsonl", lines(ROWS))
    assert columns == Columns("encoded", 0, (("x", NUMBER), ("c", TEXT)), "label")
    by_itself, columns = read(tmp_path / "b.ndjson", "\ufeff" + lines(apart(ROWS, weight=2, id="t")))
    assert columns == Columns("encoded", 0, (("x", TEXT), ("c", TEXT)), "label")
    for batch in (flat, by_itself):
        assert batch.labels.tolist() == [1, 0, 1]
        assert batch.missing == 2
        np.testing.assert_array_equal(batch.table["x"].values, [1.5, np.nan, 2])
    assert (by_itself.weights.tolist(), by_itself.tags) == ([2, 2, 2], ["t", "t", "t"])
    pairs, columns = read(tmp_path / "c.jsonl", lines([{"features": [[3, 1.5]], "label": "a"}]), encoded=None)
    assert (columns, pairs.labels.tolist()) == (Columns(INDICES, numeric_labels=False), ["a"])


def test_plain_columns_with_a_weight(tmp_path: Path) -> None:
    rows = [{"x": 1, "y": True, "w": 2, "k": 0}, {"x": 2.5, "y": False, "w": 1, "k": 1}]
    batch, columns = read(tmp_path / "a.jsonl", lines(rows), encoded=False, label="k", weight="w")
    assert columns.table == (("x", NUMBER), ("y", NUMBER))
    assert (batch.X.tolist(), batch.weights.tolist()) == ([[1, 1], [2.5, 0]], [2, 1])
    batch, _ = read(tmp_path / "a.jsonl", lines(rows), encoded=False, label="k", drop=["w"], bits=4)
    assert batch.X.shape == (2, 16)


def test_lines_that_are_wrong_are_told_with_their_number(tmp_path: Path) -> None:
    wrong = [
        b"{bad", b"[1]", b"3", b'{"x": NaN, "c": "a", "label": 1}', b'{"x": 1e999, "c": "a", "label": 1}',
        b'{"x": {}, "c": "a", "label": 1}', b'{"x": 1, "c": "a"}', b'{"x": 1, "c": "a", "label": "no"}',
        b'{"x": 1, "c": "\xff", "label": 1}', b'{"x": 1, "c": "\\ud800", "label": 1}', b'{"x": 1, "z": 2, "label": 1}',
        b'{"features": {"x": 1}, "label": 1, "wieght": 2}', b"[" * 5000,
    ]  # fmt: skip
    text = b'{"x": 1, "c": "a", "label": 1}\n\n' + b"\n".join(wrong) + b"\n  \n" + b'{"x": 1, "label": 0}'
    # The names in the first block are columns, so the line with one too many comes after it.
    first = b'{"x": 1, "c": "a", "label": 1}\n' * (1 + (1 << 20) // 31)
    path = tmp_path / "a.jsonl"
    path.write_bytes(first + text)
    faults, rows = [], 0
    for batch in make_input(path, encoded=True, on_error="skip").batches():
        faults += batch.faults
        rows += len(batch)
    start = first.count(b"\n") + 2
    assert [fault.line for fault in faults] == [start + 1 + k for k in range(len(wrong))]
    assert rows == start + 1 - 1
    with pytest.raises(InputError, match=rf"a.jsonl, line {start + 1}, column 2: this is not JSON"):
        list(make_input(path, encoded=True).batches())
    with pytest.raises(InputError, match="is empty"):
        read(tmp_path / "empty.jsonl", b"")
    with pytest.raises(InputError, match="there is no object in the first lines"):
        read(tmp_path / "none.jsonl", b"\n[]\n")


def test_compressed_and_from_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (batch,) = make_input(
        _written(tmp_path / "a.jsonl.gz", gzip.compress(lines(ROWS).encode())), encoded=True
    ).batches()
    assert len(batch) == 3
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(apart(ROWS)).encode())))
    source = make_input("-", format="jsonl", encoded=True)
    assert source.describe().table == (("x", TEXT), ("c", TEXT))
    assert sum(map(len, source.batches())) == 3


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 1500
    found = pd.DataFrame(
        {
            "amount": rng.normal(size=n).round(6),
            "count": rng.integers(0, 50, n).astype(float),
            "country": rng.choice(["DE", "FR", "Île"], n),
            "when": pd.date_range("2024-01-01", periods=n, freq="19min").strftime("%Y-%m-%dT%H:%M:%S"),
            "note": rng.choice(["paid late again", "a new customer", "all good"], n) + rng.choice([" x", " y z"], n),
            "id": [f"id{k}" for k in range(n)],
        }
    )
    found["label"] = (found.amount + (found.country == "DE") + rng.normal(size=n) > 1).astype(int)
    found.loc[rng.random(n) < 0.1, "amount"] = np.nan
    found.loc[rng.random(n) < 0.1, "country"] = None
    return found


PLAIN = {"encoding": "plain", "drop": ["when", "note", "id"]}


@pytest.mark.first_quick
@pytest.mark.parametrize(
    "settings", [{}, PLAIN, {**PLAIN, "bits": 10}, {"scale": True, "drop": ["when", "note", "id", "country"]}]
)
def test_a_table_gives_the_same_model_in_any_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, settings: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("data")
    rows = [{k: None if v != v else v for k, v in row.items()} for row in frame.to_dict("records")]
    write = {
        "csv": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path, index=False),
        "jsonl": lambda: path.write_text(lines(rows)),
    }
    found = []
    for format, make in write.items():
        make()
        stream.train(path, model="m.pater", algo="wpater", format=format, **settings)
        found.append(Path("m.pater").read_bytes())
    assert found[0] == found[1] == found[2]
    if not settings:
        path.write_text(lines(apart(rows)))
        stream.train(path, model="m.pater", algo="wpater", format="jsonl")
        by_itself, of_csv = load("m.pater"), stream.load("m.pater")
        assert by_itself.scores() == of_csv.scores()


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path, frame: pd.DataFrame) -> None:
    rows = [{k: None if v != v else v for k, v in row.items()} for row in frame.to_dict("records")]
    path = tmp_path / "rows.jsonl"
    path.write_text(lines(apart(rows)) * 5)
    stream.train(path, model=tmp_path / "whole.pater", algo="wpater")

    class Stop(Exception):  # noqa: N818
        pass

    def stop(run: Any) -> None:
        if run.learner.rows > 3000:
            raise Stop

    with pytest.raises(Stop):
        stream.train(path, model=tmp_path / "cut.pater", algo="wpater", checkpoint_every=1000, show=stop)
    stream.train(path, model=tmp_path / "cut.pater", algo="wpater", resume=True)
    assert (tmp_path / "cut.pater").read_bytes() == (tmp_path / "whole.pater").read_bytes()


def test_a_model_reads_what_else_is_there_as_csv_is_read(tmp_path: Path, frame: pd.DataFrame) -> None:
    frame[["amount", "country", "label"]].to_csv(tmp_path / "a.csv", index=False)
    stream.train(tmp_path / "a.csv", model=tmp_path / "m.pater", algo="wpater")
    columns = load(tmp_path / "m.pater").columns
    more = [{"amount": 1.5, "country": "DE", "other": [1]}, {"country": None, "label": 1}]
    _written(tmp_path / "more.jsonl", lines(more).encode())
    (batch,) = make_input(tmp_path / "more.jsonl", columns=columns, labelled=False).batches()
    assert (len(batch), batch.labels) == (2, None)
    _written(tmp_path / "none.jsonl", b'{"a": 1}\n')
    with pytest.raises(InputError, match="none of the columns that the model learned from"):
        list(make_input(tmp_path / "none.jsonl", columns=columns, labelled=False).batches())
    with pytest.raises(InputError, match="there is no column 'label'"):
        list(make_input(tmp_path / "none.jsonl", columns=columns).batches())


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8")),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)),
    max_leaves=8,
)
ODD = [
    b"-0", b"-0.0", b"1e400", b"-1e400", b"18446744073709551615", b"18446744073709551616", b"-9223372036854775809",
    b"1" * 400, b"1" * 5000, b'"\\ud800"', b'"\\ud83d\\ude00"', b"NaN", b"Infinity", b"-Infinity", b"01", b"1.", b".5",
    b'{"a":1,"b":2,"a":3}', b'\xef\xbb\xbf{"a":1}', b'"\xff"', b'"\x01"', b"[" * 5000, b"{}", b"[]", b"", b" ", b"nul",
    b"tru", b'{"a"}', b'{"a":1,}', b"[1,]", b"1 2", b"'a'", b"1e-400", b"1E5", b"1e5", b'"\xed\xa0\x80"',
]  # fmt: skip


def _either(text: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found = []
    for library in (json_text._orjson, None):
        with monkeypatch.context() as patched:
            patched.setattr(json_text, "_orjson", library)
            try:
                value = json_text.parsed(text)
                found.append((repr(value), json_text.parsed(json_text.written_json(value)) == value))
            except ValueError:
                found.append("no JSON")
    return found


@pytest.mark.parametrize("text", ODD)
def test_without_orjson_texts_mean_the_same(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = _either(text, monkeypatch)
    assert one == other


@given(JSON, st.booleans())
def test_without_orjson_any_json_means_the_same(value: Any, escaped: bool) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        one, other = _either(json.dumps(value, ensure_ascii=escaped).encode(), monkeypatch)
    assert one == other


@given(st.lists(st.one_of(st.binary(max_size=30), JSON.map(lambda value: json.dumps(value).encode())), max_size=6))
def test_no_bytes_crash_the_reader(found: list[bytes]) -> None:
    from pater.formats.blocks import START, Block
    from pater.formats.jsonl import JsonLinesParser

    text = b'{"x": 1, "label": 0}\n' + b"\n".join(found) + b"\n"
    for columns in (Columns("encoded", 0, (("x", TEXT),), "label"), Columns("table", 0, (("x", NUMBER),), "label")):
        batch = JsonLinesParser(columns)(Block(text, 1, START), "fuzz")
        assert len(batch) >= 1
        assert all(fault.line > 1 for fault in batch.faults)


def test_converted_there_and_back(tmp_path: Path, frame: pd.DataFrame) -> None:
    some = frame.head(50)
    some.to_csv(tmp_path / "a.csv", index=False)

    def convert(source: str, output: str) -> Path:
        convert_rows(make_input(tmp_path / source), tmp_path / output, output.rpartition(".")[2])
        return tmp_path / output

    convert("a.csv", "a.jsonl")
    again = pd.read_csv(convert("a.jsonl", "b.csv"))
    pd.testing.assert_frame_equal(again, pd.read_csv(tmp_path / "a.csv"), check_dtype=False)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    _written(tmp_path / "c.jsonl", lines(apart(rows)).encode())
    found = pd.read_parquet(convert("c.jsonl", "c.parquet"))
    assert found["label"].tolist() == some["label"].tolist()
    _written(tmp_path / "mixed.jsonl", b'{"a":1,"b":"x"}\n{"a":2.5,"b":3,"c":true}\n{"a":null,"b":true}\n')
    assert convert("mixed.jsonl", "mixed.csv").read_text() == '"a","b","c"\n1,"x",\n2.5,"3",true\n,"True",\n'
    text = "1 1:0.5 3:2\n0 2:1\n"
    _written(tmp_path / "r.libsvm", text.encode())
    convert("r.libsvm", "r.jsonl")
    assert convert("r.jsonl", "again.libsvm").read_text() == text
    _written(tmp_path / "d.jsonl", b'{"a":[1]}\n')
    with pytest.raises(InputError, match="holds a list"):
        convert("d.jsonl", "d.csv")
