"""Truth values, and texts that stand for nothing, are the same to every reader of tables."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pater.formats.raw import RawBatch
from pater.formats.reading import make_input
from pater.preprocessing import TableEncoder
from pater.preprocessing.categories import MISSING, categories
from pater.preprocessing.columns import Numbers, Table, Texts
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.tables import table_of
from pater.preprocessing.values import moments_in

FLAGS: list[bool | None] = [True, False, None, True, False, True] * 8
WORDS = sorted({"".join(case) for word in MISSING for case in itertools.product(*((c, c.upper()) for c in word))})


def of_csv(path: Path, texts: list[str]) -> Table:
    path.write_text("c,y\n" + "".join(f"{text},0\n" for text in texts))
    (batch,) = make_input(path, encoded=True, label="y").batches()
    assert isinstance(batch, RawBatch)
    return batch.table


def encoded(table: Table) -> tuple[list[str], list[Any]]:
    encoding = Encoding.begun(table, EncodingSettings())
    return [feature.name for feature in encoding.features()], [part.tolist() for part in encoding.encode(table).rows()]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"c": FLAGS}),
        pd.DataFrame({"c": pd.Series(FLAGS, dtype="boolean")}),
        pl.DataFrame({"c": FLAGS}),
        pa.table({"c": FLAGS}),
        pa.table({"c": [None if flag is None else str(flag).upper() for flag in FLAGS]}),
        [{"c": flag} for flag in FLAGS],
        {"c": FLAGS},
        [[flag] for flag in FLAGS],
    ],
    ids=["objects", "pandas", "polars", "arrow", "texts of arrow", "dicts", "lists", "rows"],
)
def test_truth_values_are_categories_wherever_they_come_from(table: Any, tmp_path: Path) -> None:
    texts = ["" if flag is None else str(flag).lower() for flag in FLAGS]
    names, rows = encoded(of_csv(tmp_path / "a.csv", texts))
    assert names == ["c=True", "c=False", "c: missing"]
    found = {"c": next(iter(table_of(table).values()))}
    assert encoded(found) == (names, rows)


def test_a_column_of_numbers_reads_truth_values_as_numbers() -> None:
    numbers = {"c": Numbers(np.array([np.nan if flag is None else float(flag) for flag in FLAGS]))}
    encoding = Encoding.begun(numbers, EncodingSettings())
    want = [part.tolist() for part in encoding.encode(numbers).rows()]
    for table in (pl.DataFrame({"c": FLAGS}), [{"c": None if flag is None else str(flag).lower()} for flag in FLAGS]):
        assert [part.tolist() for part in encoding.encode(table_of(table)).rows()] == want


@pytest.mark.parametrize("beside", [[], ["x"], ["7"]], ids=["alone", "beside a word", "beside a number"])
def test_what_csv_takes_for_nothing_is_no_category(beside: list[str], tmp_path: Path) -> None:
    texts = [*WORDS, " NA", "null ", "\tNaN\t", *beside]
    csv = of_csv(tmp_path / "a.csv", texts)
    assert len(categories(csv["c"]).names) == len(beside)
    for table in (pa.table({"c": texts}), pl.DataFrame({"c": texts}), [{"c": text} for text in texts]):
        found = categories(table_of(table)["c"])
        assert list(found.names) == beside
        assert (found.codes >= 0).tolist() == [False] * (len(texts) - len(beside)) + [True] * len(beside)


def test_words_that_are_nearly_nothing_are_categories(tmp_path: Path) -> None:
    texts = ["nana", "nul", "nones", "n/", "na/", "-", ".", "nil", "+na", "-n/a", "untrue", "falsey", "NAN0"]
    csv = categories(of_csv(tmp_path / "a.csv", texts)["c"])
    assert list(csv.names) == texts
    for table in (pa.table({"c": texts}), pl.DataFrame({"c": texts}), [{"c": text} for text in texts]):
        found = categories(table_of(table)["c"])
        assert [found.names[code] for code in found.codes] == texts


def test_an_encoder_that_knows_such_names_keeps_them() -> None:
    """As in older files."""
    texts = Texts(np.arange(60) % 3, ["NA", "true", "fr"])
    told, arrays = to_state(Encoding.begun({"c": texts._replace(names=["xx", "yy", "fr"])}, EncodingSettings()))
    told["columns"][0]["names"] = ["NA", "true", "fr"]
    encoding = from_state(told, arrays)
    indices = encoding.encode({"c": texts}).rows("none")[1]
    assert indices.tolist() == [0, 1, 2] * 20
    assert encoding.encode({"c": Texts(np.array([0, 1]), ["na", "fr"])}).rows("none")[1].tolist() == [2]


@pytest.mark.parametrize("n_rows", [50, 2000])
def test_a_table_of_nothing_but_ids_is_an_error(n_rows: int) -> None:
    table = pd.DataFrame({"id": [f"a{k}" for k in range(n_rows)], "mail": [f"{k}@x" for k in range(n_rows)]})
    with pytest.raises(
        ValueError, match="no column can be learned from: each of 'id', 'mail' is different in nearly every"
    ):
        TableEncoder().fit(table)
    with pytest.raises(ValueError, match="no column can be learned from: 'id' is different in nearly every row"):
        TableEncoder().fit(table[["id"]])
    table.loc[::7, "id"] = None
    assert TableEncoder().fit(table).get_feature_names_out().tolist() == ["id: missing"]


def test_a_date_before_the_year_1_is_none_beside_any_other() -> None:
    for texts in (["0000-01-01"], ["0000-01-01", "2024-01-01"], ["0000-01-01", "x"]):
        assert np.isnan(moments_in(texts)[0])
    assert moments_in(["0001-01-01"]) == moments_in(["0001-01-01", "x"])[0]
