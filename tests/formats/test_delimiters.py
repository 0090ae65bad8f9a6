"""Delimiters of a table, and files that are not what their name says."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pater.formats.delimiters import checked, recognised
from pater.formats.errors import Hint
from pater.formats.reading import make_input
from pater.formats.schema import INDEX
from pater.stream import InputError, read


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b,y\n1,2,0\n", ","),
        ("a;b;y\n1;2;0\n", ";"),
        ("a\tb\ty\n1\t2\t0\n", "\t"),
        ("a;b;y\n1,5;2,5;0\n", ";"),  # decimal commas
        ("amount, EUR;age;y\n1,5;2;0\n7;2;0\n", ";"),
        ("a,b;c,y\n1,2;3,0\n", ","),  # both fit: the comma
        ('"a;b",y\n"1;2",0\n', ","),
        ('"a,b";y\n"1,2";0\n"3\n4";1\n', ";"),
        ("a;b;y\n1;2\n1;2;0\n", ";"),  # a malformed row does not hide it
        ("a,b,y\n1,2\n", ","),
        ("\ufeffa;b\n1;2\n", ";"),
        ("a;b", ";"),
        ("a\n1\n", ","),
        ("", ","),
        ('a;"b', ";"),
        ("a|b\n1|2\n", ","),
    ],
)
def test_recognised_by_the_first_lines(text: str, delimiter: str) -> None:
    assert recognised(text.encode()) == delimiter


def test_only_the_first_lines_are_looked_at() -> None:
    rows = "".join(f"{k};{k}\n" for k in range(20_000))
    assert recognised(f"a;b\n{rows}1,2,3\n".encode()) == ";"
    assert recognised(b"a;b\n" + b"1" * 100_000 + b";2\n") == ";"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_table_reads_the_same_with_any_delimiter(tmp_path: Path, delimiter: str) -> None:
    text = "a,city,y\n1.5,Rome,1\n,Bern,0\n3,Rome,1\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text.replace(",", delimiter))
    (one,) = read(tmp_path / "a.csv")
    (other,) = read(tmp_path / "b.csv", delimiter="|" if delimiter == "|" else None)
    assert abs(one.X - other.X).max() == 0
    assert one.labels.tolist() == other.labels.tolist()


def test_files_of_different_delimiters_are_one_stream(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,1\n")
    (tmp_path / "b.csv").write_text("a;b;y\n3;4;0\n")
    X = np.vstack([batch.X for batch in read([tmp_path / "a.csv", tmp_path / "b.csv"])])
    assert X.tolist() == [[1, 2], [3, 4]]


def test_standard_input_is_recognised_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a;b;y\n1;2;1\n")))
    (batch,) = read("-", format="csv")
    assert batch.X.tolist() == [[1, 2]]


@pytest.mark.parametrize("name", [";", "|", "tab", "TAB", "\\t", "semicolon", "comma", " "])
def test_names_of_delimiters(name: str) -> None:
    assert len(checked(name) or "") == 1


@pytest.mark.parametrize("name", ["", "ab", "a", "7", '"', "\n", "\r", "-", ".", "é", "\0"])
def test_what_is_no_delimiter(name: str) -> None:
    with pytest.raises(InputError, match="delimiter must be one ASCII character"):
        checked(name)


def test_a_delimiter_is_for_text(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n")
    with pytest.raises(InputError, match="a delimiter is for csv and tsv"):
        make_input(tmp_path / "a.svm", delimiter=";")


def test_decimal_commas_between_semicolons(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b;c;y\n1,5;2;x,1;1\n-2,25;3.5;y;0\n+,5e1;;z;1\n")
    columns = make_input(tmp_path / "a.csv").describe()
    assert columns.table == (("a", "number"), ("b", "number"), ("c", "category"))
    (batch,) = read(tmp_path / "a.csv", drop=["c"])
    assert batch.X.tolist() == [[1.5, 2], [-2.25, 3.5], [5.0, 0]]
    assert make_input(tmp_path / "a.csv", decimal=".").describe().table[0] == ("a", "category")


def test_decimal_commas_elsewhere_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\ty\n1,5\t2\t1\n-2,25\t3\t0\n")
    with pytest.warns(Hint, match=r"column 'a' holds numbers with a decimal comma, such as 1,5, .* say --decimal ,"):
        list(read(tmp_path / "a.tsv"))
    (batch,) = read(tmp_path / "a.tsv", decimal=",")
    assert batch.X.tolist() == [[1.5, 2], [-2.25, 3]]
    (tmp_path / "quoted.csv").write_text('a,y\n"1,5",1\n2,0\n')
    (batch,) = read(tmp_path / "quoted.csv", decimal="comma")
    assert batch.X.tolist() == [[1.5], [2]]
    (tmp_path / "b.csv").write_text("a;b;y\n1,5;2;1\nx;3;0\n")
    list(read(tmp_path / "b.csv"))  # text, and no hint
    with pytest.raises(InputError, match=r"decimal must be '\.' or ',', got ';'"):
        read(tmp_path / "b.csv", decimal=";")
    (tmp_path / "a.svm").write_text("1 1:1\n")
    with pytest.raises(InputError, match="a decimal comma or point is for csv and tsv"):
        read(tmp_path / "a.svm", decimal=",")


def test_points_between_thousands_are_for_an_encoder(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;y\n1.234,50;1\n2,5;0\n")
    with pytest.warns(Hint, match=r"column 'a' holds numbers with marks in them, such as 1\.234,50.* an encoded table"):
        list(read(path))
    (batch,) = make_input(path, encoded=True).batches()
    assert list(batch.table["a"].names) == ["1.234,50", "2,5"]  # for the encoder to read


def test_thousands_that_come_late_are_numbers_still(tmp_path: Path) -> None:
    """The first block of a column holds 999,5; a later one 1.234,5 and 2,5."""
    path = tmp_path / "a.csv"
    path.write_text("a;y\n" + "999,5;1\n" * 200_000 + "1.234,5;0\n2,5;0\n")
    *_, last = make_input(path, encoded=True).batches()
    assert {"1234.5", "2.5"} <= set(last.table["a"].names)


FRAME = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}, index=[7, 9])


def other_kinds(folder: Path) -> dict[str, bytes]:
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("sheet.xml", "<a/>")
    FRAME.to_parquet(folder / "p")
    FRAME.reset_index().to_feather(folder / "f")
    return {
        "a Parquet file": (folder / "p").read_bytes(),
        "an Arrow file": (folder / "f").read_bytes(),
        "an Excel workbook or a zip archive": book.getvalue(),
        "text in UTF-16": FRAME.to_csv().encode("utf-16"),
    }


def test_files_that_are_not_what_their_name_says(tmp_path: Path) -> None:
    for kind, content in other_kinds(tmp_path).items():
        for name in ("a.csv", "a.svm", "a.vw"):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(InputError, match=rf"{name} is {kind}, but is read as (csv|libsvm|vw): "):
                list(read(tmp_path / name))


def test_the_index_of_a_data_frame_is_left_out(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv")
    with pytest.warns(
        Hint, match="first column has no name; it seems to be the index of a data frame, and is left out"
    ):
        (batch,) = read(tmp_path / "a.csv")
    assert batch.X.tolist() == [[1], [2]]
    pd.read_csv(tmp_path / "a.csv").to_csv(tmp_path / "b.csv", index=False)
    with pytest.warns(Hint, match="column 'Unnamed: 0' is the index of a data frame"):
        (batch,) = read(tmp_path / "b.csv")
    assert batch.X.tolist() == [[1], [2]]
    FRAME.to_parquet(tmp_path / "c.parquet")
    with pytest.warns(Hint, match=INDEX):
        (batch,) = read(tmp_path / "c.parquet")
    assert batch.X.tolist() == [[1], [2]]


def test_an_index_that_the_caller_names_is_a_column(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv")
    (batch,) = read(tmp_path / "a.csv", drop=[""])
    assert batch.X.tolist() == [[1], [2]]
    (batch,) = read(tmp_path / "a.csv", weight="")
    assert batch.weights.tolist() == [7, 9]
    (batch,) = read(tmp_path / "a.csv", categorical=[""], bits=4)
    assert batch.X.nnz > 2
    (tmp_path / "b.csv").write_text("a,,y\n1,2,1\n")  # not the first
    (batch,) = read(tmp_path / "b.csv")
    assert batch.X.tolist() == [[1, 2]]
