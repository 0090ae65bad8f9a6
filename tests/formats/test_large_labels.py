"""Labels beyond 2^53, which floats round: no two of them become one class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater import stream
from pater.formats.errors import InputError

LARGEST = 2**53
OPTIONS: dict[str, Any] = {"algo": "pater-i", "encoding": "plain"}


def write(path: Path, labels: list[str]) -> Path:
    form = {".csv": "{},{}", ".svm": "{1} 1:{0}", ".vw": "{1} | a:{0}"}[path.suffix]
    rows = [form.format(k, label) for k, label in enumerate(labels)]
    path.write_text("\n".join([*(["a,y"] if path.suffix == ".csv" else []), *rows]) + "\n")
    return path


@pytest.mark.parametrize("suffix", [".svm", ".vw"])
@pytest.mark.parametrize(
    "label", ["9007199254740993", "-9007199254740993", "9007199254740992.5", "9.007199254740993e15"]
)
def test_a_label_that_would_be_rounded_is_an_error(tmp_path: Path, suffix: str, label: str) -> None:
    path = write(tmp_path / f"rows{suffix}", ["1", "2", label])
    with pytest.raises(InputError, match="line 3, column 1: the label is not a whole number of at most 2"):
        stream.train(path, **OPTIONS)


@pytest.mark.parametrize("suffix", [".csv", ".svm", ".vw"])
@pytest.mark.parametrize(
    "label", ["9007199254740992", "+9007199254740992.000", "9.007199254740992e+15", "0900719925474099.2e1"]
)
def test_the_largest_label_is_read_in_any_form(tmp_path: Path, suffix: str, label: str) -> None:
    path = write(tmp_path / f"rows{suffix}", ["1", label] * 5)
    assert stream.train(path, **OPTIONS).classes.tolist() == [1, LARGEST]


def test_such_labels_are_text_where_a_table_begins_with_them(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", [str(LARGEST), str(LARGEST + 1)] * 5)
    assert stream.train(path, **OPTIONS).classes.tolist() == [str(LARGEST), str(LARGEST + 1)]


def test_later_in_a_table_of_numbers_they_are_an_error(tmp_path: Path) -> None:
    first, then = write(tmp_path / "a.csv", ["1", "2"]), write(tmp_path / "b.csv", ["1", str(LARGEST + 1)])
    with pytest.raises(
        InputError, match=r"b.csv, line 3, column 3: '9007199254740993' is not a whole number of at most"
    ):
        stream.train([first, then], **OPTIONS)


def test_in_parquet_they_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": [1, LARGEST, LARGEST + 1]}), path)
    with pytest.raises(InputError, match="row 3: the label is not a whole number of at most 2"):
        stream.train(path, **OPTIONS)
