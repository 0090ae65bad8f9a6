"""An output called - is standard output, or wrong usage, but never a file; and each column has one use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pater.stream import train

ROWS = "a,c,y\n" + "".join(f"{k},{'xy'[k % 2]},{k % 2}\n" for k in range(20))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,c,y\n")
    train(tmp_path / "t.csv", model=tmp_path / "m", algo="pa")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["train", "t.csv", "-m", "-"],
        ["merge", "m", "m", "-m", "-"],
        ["train", "t.csv", "-m", "n", "--window", "5", "--window-output", "-"],
        ["train", "t.csv", "-m", "n", "--window", "5", "--plot", "-"],
        ["evaluate", "t.csv", "--plot", "-"],
        ["evaluate", "t.csv", "--window", "5", "--window-output", "-"],
        ["explain", "m", "--html", "-"],
        ["predict", "m", "t.csv", "-o", "-", "--output-format", "parquet"],
        ["export", "m", "-o", "-", "--to", "onnx"],
    ],
)
def test_what_goes_to_a_file_only(pater: Any, here: Path, command: list[str]) -> None:
    before = sorted(here.iterdir())
    code, out, err = pater(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "to a file" in err
    assert sorted(here.iterdir()) == before


def test_text_goes_to_standard_output(pater: Any, here: Path) -> None:
    before = sorted(here.iterdir())
    for command in (["predict", "m", "t.csv", "--margins"], ["export", "m", "--to", "json"]):
        code, out, _ = pater(*command, "-o", "-")
        assert (code, out) == (0, pater(*command)[1])
        assert out
    assert sorted(here.iterdir()) == before


def test_nothing_is_predicted_with_its_names(pater: Any, here: Path) -> None:
    for name in ("empty.csv", "header.csv"):
        code, out, err = pater("predict", "m", name, "--margins")
        assert (code, out) == (0, "label,margin\n")
        assert "there are no rows to predict" in err
        assert pater("predict", "m", name, "-o", "out.parquet")[0] == 0
        assert pq.read_table("out.parquet").column_names == ["label"]


@pytest.mark.parametrize("verb", [["train", "-m", "n"], ["evaluate"]])
@pytest.mark.parametrize(
    ("options", "code", "what"),
    [
        (["-l", "y", "--drop", "y"], 2, "column 'y' cannot be both --label and --drop"),
        (["-l", "y", "--weight-column", "y"], 2, "column 'y' cannot be both --label and --weight-column"),
        (["--weight-column", "a", "--drop", "a"], 2, "column 'a' cannot be both --weight-column and --drop"),
        (["--drop", "y"], 1, "t.csv: column 'y' is the label, and cannot be left out"),
        (["--weight-column", "y"], 1, "t.csv: column 'y' is the label, and cannot be the importance"),
    ],
)
def test_a_column_is_one_thing(
    pater: Any, here: Path, verb: list[str], options: list[str], code: int, what: str
) -> None:
    found, _, err = pater(*verb, "t.csv", *options)
    assert (found, what in err) == (code, True)


def test_what_the_model_learned_from_is_named(pater: Any, here: Path) -> None:
    (here / "t.txt").write_text(ROWS)
    _, _, err = pater("predict", "m", "t.txt")
    assert "t.txt is libsvm, but the model learned from a table; if this is a table, too, say --format csv." in err


def test_a_delay_by_a_column_of_words(pater: Any, here: Path) -> None:
    code, _, err = pater("evaluate", "t.csv", "-l", "y", "--delay", "c")
    assert code == 1
    assert "column 'c' holds neither numbers nor dates" in err
