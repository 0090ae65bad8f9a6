"""Headers in unexpected places: repeated among the rows, and below a line for a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pater.formats.csv_blocks import table_blocks
from pater.formats.errors import InputError
from pater.formats.reading import make_input, read
from pater.formats.sources import sources

ROWS = "".join(f"{k}.5,{'xy'[k % 2]},{k % 2}\n" for k in range(5))
TABLE = f"amount,c,y\n{ROWS}"


@pytest.mark.parametrize(
    "again",
    [
        "amount,c,y\n",
        "amount,c,y\r\n",
        '"amount","c","y"\n',
        "amount, c ,y\n",
        "\ufeffamount,c,y\n",
        '\ufeff"amount","c","y"\n',
    ],
)
@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_a_header_among_the_rows_is_no_data(tmp_path: Path, again: str, encoded: bool, labelled: bool) -> None:
    path = tmp_path / "joined.csv"
    path.write_text(TABLE + again + ROWS)
    columns = make_input(path, encoded=encoded, on_error="skip").describe()
    assert columns.numeric_labels
    assert dict(columns.table)["amount"] == "number"  # despite the header among the rows
    with pytest.raises(InputError, match=r"joined.csv, line 7: this is the header once more.*a.csv b.csv"):
        list(make_input(path, columns=columns, labelled=labelled).batches())
    batches = list(make_input(path, columns=columns, labelled=labelled, on_error="skip").batches())
    assert [fault.line for batch in batches for fault in batch.faults] == [7]
    labels = np.concatenate([batch.labels for batch in batches if batch.labels is not None])
    assert labels.tolist() == [0, 1, 0, 1, 0] * 2
    assert np.concatenate([batch.lines for batch in batches]).tolist() == [*range(2, 7), *range(8, 13)]


@pytest.mark.parametrize("row", ["amount,c,1", "amountc,c,y", "amount,d,y", "y,c,amount"])
def test_what_is_not_the_header_is_data(tmp_path: Path, row: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"amount,c,y\n1,x,y\n{row}\n")
    assert [len(batch) for batch in read(path, categorical=["amount"])] == [2]


def test_names_that_are_numbers_may_be_data(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("0,1,2\n0,1,2\n3,1,2\n")
    assert [len(batch) for batch in read(path, label="2")] == [2]


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "\ufeffsep=;", "SEP=;", "sep=;\r"])
def test_a_line_for_a_spreadsheet_tells_the_delimiter(tmp_path: Path, first: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\na;c,d;y\n1,5;x;1\n2;y\n", newline="")
    for wished in (None, ";"):
        (block,) = table_blocks(sources([path])[0], wished, hashed=False)
        assert (block.header, block.delimiter, block.first_line) == (("a", "c,d", "y"), ";", 3)
        assert block.text.startswith(b"1,5;x;1")
    with pytest.raises(InputError, match="line 4, column 4: too few fields"):
        list(read(path))
    path.write_text("sep=|\na|b\n1|2\n")
    assert next(table_blocks(sources([path])[0], None, hashed=False)).header == ("a", "b")
    path.write_text("sep=;\n")
    with pytest.raises(InputError, match="line 2: expected a header"):
        list(read(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            b"a,y,,\n1,0,,\n",
            r"line 1: 2 columns have no name, those after 'y'; give .* by cut -d ',' -f 1-2 IN > OUT\.$",
        ),
        (b"a\ty\t\t\n1\t0\t\t\n", r"those after 'y'; give .* by cut -f 1-2 IN > OUT\.$"),
        (b"a,,y,\n1,2,0,\n", r"line 1: 2 columns have no name; give each a name\.$"),
        (b"a,y\r1,0\r2,1\r", r"line 1: the header cannot be read, as its lines end with a carriage return .* by tr"),
        (b'{"a":1,"y":0}\n', r"line 1: this looks like JSON lines; say --format jsonl, or name the file .jsonl\.$"),
        (b'{"a":1}\n', r"line 1: this looks like JSON lines"),
    ],
)
def test_what_to_do_about_a_header(tmp_path: Path, text: bytes, told: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=told):
        list(read(path, label="y"))


def test_one_column_may_have_no_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y,\n1,0,\n2,1,\n")
    assert [len(batch) for batch in read(path)] == [2]
