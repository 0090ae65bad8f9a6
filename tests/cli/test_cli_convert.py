"""`pater convert`: options for columns, what a format can hold, and where data comes from and goes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TABLE = "zip,id,amount,y\n01234,12345678901234567890,1,1\n00501,7,2.50,0\n"


@pytest.fixture
def pater(
    pater: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run a verb in a folder of its own, with something on standard input: its exit code and its output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, given: bytes = b"") -> tuple[int, str, str]:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            return pater(*arguments)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path / "t.csv"


def test_fields_stay_as_they_are_written(pater: Any, table: Path) -> None:
    text = TABLE + '"a ""b"",c",NA, 1e3 ,"x\ny"\n'
    table.write_text(text)
    assert pater("convert", "t.csv", "same.csv")[0] == 0
    assert Path("same.csv").read_text() == text
    assert pater("convert", "t.csv", "-", "--output-format", "tsv")[1] == text.replace(",", "\t").replace(
        '"\tc"', '",c"'
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_what_is_dropped_is_not_there(pater: Any, table: Path, ending: str) -> None:
    for source in ("t.csv", "t.parquet", "t.jsonl"):
        assert pater("convert", "t.csv", source)[0] == 0 if source != "t.csv" else True
        assert pater("convert", source, f"out.{ending}", "--label", "y", "--drop", "amount")[0] == 0
        assert b"amount" not in Path(f"out.{ending}").read_bytes()
        assert b"zip" in Path(f"out.{ending}").read_bytes()


@pytest.mark.parametrize("source", ["t.csv", "t.parquet", "t.jsonl"])
@pytest.mark.parametrize("option", ["--label", "--drop", "--categorical", "--weight-column"])
def test_a_name_that_no_column_has(pater: Any, table: Path, source: str, option: str) -> None:
    assert source == "t.csv" or pater("convert", "t.csv", source)[0] == 0
    code, _, err = pater("convert", source, "out.csv", option, "amuont")
    assert code == 1
    assert err.startswith(f"pater: {source}: there is no column 'amuont'; did you mean 'amount'?")
    assert not Path("out.csv").exists()


def test_what_no_number_holds_stays_text(pater: Any, table: Path) -> None:
    assert pater("convert", "t.csv", "t.parquet")[0] == 0
    assert pq.read_table("t.parquet").to_pydict() == {
        "zip": ["01234", "00501"],
        "id": ["12345678901234567890", "7"],
        "amount": [1.0, 2.5],
        "y": [1, 0],
    }
    assert pater("convert", "t.parquet", "u.parquet", "--categorical", "amount", "--categorical", "y")[0] == 0
    again = pq.read_table("u.parquet").to_pydict()
    assert (again["amount"], again["y"]) == (["1", "2.5"], ["1", "0"])
    out = pater("convert", "t.csv", "-", "--output-format", "jsonl", "--categorical", "amount")[1]
    assert out.splitlines()[1] == '{"zip":"00501","id":"7","amount":"2.50","y":0}'


def test_what_a_column_holds_is_known_when_all_of_it_was_read(pater: Any, tmp_path: Path) -> None:
    """Beyond the first block of 1 MiB."""
    head = "n,whole,word,when,on,wide,nothing\n" + "1,2,3,2024-01-01,true,9007199254740993,\n" * 40_000
    (tmp_path / "t.csv").write_text(head + "1.5, +4 ,x,2024-01-02 10:00,FALSE,1,NA\n")
    assert pater("convert", "t.csv", "t.parquet")[0] == 0
    kinds = {column.name: column.type for column in pq.read_schema("t.parquet")}
    moment = kinds.pop("when")
    assert pa.types.is_timestamp(moment)
    assert kinds == {
        "n": pa.float64(),
        "whole": pa.int64(),
        "word": pa.string(),
        "on": pa.bool_(),
        "wide": pa.int64(),
        "nothing": pa.float64(),
    }
    last = pq.read_table("t.parquet").to_pylist()[-1]
    assert (last["n"], last["whole"], last["word"], last["on"], last["nothing"]) == (1.5, 4, "x", False, None)
    (tmp_path / "u.csv").write_text("a\n9007199254740993\n0.5\n")  # a float has fewer digits
    assert pater("convert", "u.csv", "-", "--output-format", "jsonl")[1] == '{"a":"9007199254740993"}\n{"a":"0.5"}\n'


def test_long_numbers_of_json_keep_their_digits(pater: Any, tmp_path: Path) -> None:
    lines = '{"a":12345678901234567890,"b":9007199254740993,"c":9007199254740993}\n{"a":5,"b":1,"c":0.5}\n'
    (tmp_path / "t.jsonl").write_text(lines)
    assert pater("convert", "t.jsonl", "-", "--output-format", "csv")[1] == (
        '"a","b","c"\n"12345678901234567890",9007199254740993,"9007199254740993"\n"5",1,"0.5"\n'
    )


def test_a_decimal_comma_becomes_a_point(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a;b;y\n1,5;x,y;0\n2;"z";1\n')
    assert pater("convert", "t.csv", "-", "--output-format", "csv")[1] == 'a,b,y\n1.5,"x,y",0\n2,"z",1\n'
    lines = pater("convert", "t.csv", "-", "--output-format", "jsonl")[1]
    assert lines == '{"a":1.5,"b":"x,y","y":0}\n{"a":2.0,"b":"z","y":1}\n'
    assert '"1,5"' in pater("convert", "t.csv", "-", "--output-format", "csv", "--decimal", ".")[1]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_malformed_rows_between_tables(pater: Any, tmp_path: Path, ending: str) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n1,2,3\nx,\xff\n3,4\n")
    code, _, err = pater("convert", "t.csv", f"out.{ending}")
    assert (code, err.startswith("pater: t.csv, line 3, column 5: too many fields")) == (1, True)
    assert not Path(f"out.{ending}").exists()
    code, _, err = pater("convert", "t.csv", f"out.{ending}", "--on-error", "skip")
    assert code == 0
    assert "2 malformed lines were skipped" in err
    assert "t.csv, line 4, column 3: it is not UTF-8" in err
    assert pater("convert", f"out.{ending}", "-", "--output-format", "csv")[1].replace('"', "") == "a,b\n1,2\n3,4\n"
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"a"\n{"a": 2}\n')
    code, _, err = pater("convert", "t.jsonl", f"out.{ending}")
    assert (code, err.startswith("pater: t.jsonl, line 2, ")) == (1, True)
    code, _, err = pater("convert", "t.jsonl", f"out.{ending}", "--on-error", "skip")
    assert (code, "1 malformed line was skipped" in err) == (0, True)


def test_json_has_no_infinity(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\n-inf,1\n")
    assert pater("convert", "t.csv", "t.parquet")[0] == 0
    for source, where in (("t.csv", "line 3"), ("t.parquet", "row 2")):
        code, _, err = pater("convert", source, "out.jsonl")
        assert code == 1
        assert err.startswith(f"pater: {source}, {where}: JSON has no infinity")
        code, out, err = pater("convert", source, "-", "--output-format", "jsonl", "--on-error", "skip")
        assert (code, out) == (0, '{"a":1.0,"y":0}\n')
        assert "1 malformed line was skipped" in err


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_tables_from_wherever_train_reads_them(pater: Any, table: Path, pack: Callable[[bytes], bytes]) -> None:
    assert pater("convert", "t.csv", "wanted.parquet")[0] == 0
    packed = pack(TABLE.encode())
    Path("packed.csv").write_bytes(packed)
    assert pater("convert", "packed.csv", "a.parquet")[0] == 0
    assert pater("convert", "-", "b.parquet", "-f", "csv", given=packed)[0] == 0
    for name in ("a.parquet", "b.parquet"):
        assert pq.read_table(name).equals(pq.read_table("wanted.parquet"))


def test_what_is_read_twice_may_come_by_a_pipe(pater: Any) -> None:
    rows = b"1 1:0.5 3:2\n-1 2:1\n"
    assert pater("convert", "-", "-", "--output-format", "csv", given=rows)[1] == (
        '"label","0","1","2","3"\n1,0,0.5,0,2\n-1,0,0,1,0\n'
    )
    out = pater("convert", "-", "-", "-f", "jsonl", "--output-format", "csv", given=b'{"a": 1, "y": "b"}\n')[1]
    assert out == '"a","y"\n1,"b"\n'
    code, _, err = pater("convert", "-", "-", "-f", "csv", "--output-format", "csv", given=b"a,b\n1\n")
    assert code == 1
    assert err.startswith("pater: standard input, line 2, ")
    assert "standard input is empty" in pater("convert", "-", "t.csv", "-f", "csv")[2]


def test_several_files_are_one_table(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a2.csv").write_text("b;a\n2,5;x\n")
    assert pater("convert", "a?.csv", "-", "--output-format", "jsonl")[1] == '{"a":"1","b":2.0}\n{"a":"x","b":2.5}\n'
    (tmp_path / "a2.csv").write_text("b,a,c\n2,3,4\n")
    code, _, err = pater("convert", "a?.csv", "out.csv")
    assert (code, "a2.csv: column 'c' is not in a1.csv; leave it out with --drop 'c'" in err) == (1, True)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "jsonl"])
def test_indices_come_back_as_they_were(pater: Any, tmp_path: Path, ending: str) -> None:
    text = "1 1:0.5 3:2\n-1 2:1\n1 3:0.1\n"
    (tmp_path / "a.svm").write_text(text)
    assert pater("convert", "a.svm", f"b.{ending}")[0] == 0
    assert pater("convert", f"b.{ending}", "c.svm")[0] == 0
    assert Path("c.svm").read_text() == text
    (tmp_path / "t.csv").write_text("7,y,2\n1,0,0.5\n")
    assert pater("convert", "t.csv", "-", "--output-format", "libsvm")[1] == "0 2:0.5 7:1\n"
    (tmp_path / "t.csv").write_text("7,y,b\n1,0,0.5\n")
    assert pater("convert", "t.csv", "-", "--output-format", "libsvm")[1] == "0 1:1 2:0.5\n"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_importance_and_tags_have_columns(pater: Any, tmp_path: Path, ending: str) -> None:
    (tmp_path / "a.vw").write_text("1 2.5 'one | 1:1 2:2\n-1 | 3:1\n")
    code, _, err = pater("convert", "a.vw", f"b.{ending}", "-b", "4")
    assert code == 0
    assert "the importance of a row is in column 'weight': read it with --weight-column weight." in err
    assert "tags are in column 'tag', which is not a feature: leave it out with --drop tag." in err
    back = ("convert", f"b.{ending}", "-", "--output-format", "vw", "--weight-column", "weight", "--drop", "tag")
    first, second = pater(*back)[1].splitlines()
    assert first.startswith("1 2.5 | ")
    assert second.startswith("-1 | ")
    assert "libsvm cannot store importance weights" in pater("convert", "a.vw", "c.svm")[2]
    (tmp_path / "a.vw").write_text("1 'one | 1:1\n-1 | 3:1\n")
    code, _, err = pater("convert", "a.vw", "c.svm")
    assert (code, "libsvm has no place for tags; 1 are left out" in err) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["t.csv", "-"], "say with --output-format what goes to standard output"),
        (["t.csv", "-", "--output-format", "parquet"], "parquet goes to a file, not to standard output"),
        (["t.csv", "out.parquet", "--bits", "4"], "from csv to parquet, columns stay as they are"),
        (["t.csv", "out.csv", "--drop", "y", "-l", "y"], "column 'y' cannot be both --label and --drop"),
        (["t.csv", "out.csv", "--weight-column", "y", "-l", "y"], "cannot be both --label and --weight-column"),
    ],
)
def test_wrong_usage(pater: Any, table: Path, arguments: list[str], what: str) -> None:
    code, _, err = pater("convert", *arguments)
    assert (code, what in err) == (2, True)
    assert [path.name for path in Path().iterdir()] == ["t.csv"]
