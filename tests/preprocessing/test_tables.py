"""Tables of every library give the same columns."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from pater.preprocessing.columns import Numbers, Table, Texts, Times, as_texts, concatenated, part, selected
from pater.preprocessing.tables import table_of

MOMENT = dt.datetime(2024, 2, 29, 13, 30)
SECONDS = 1709213400.0
PLAIN = {
    "int": [1, 2, None],
    "float": [1.5, None, -2.0],
    "bool": [True, None, False],
    "text": ["x", None, "y"],
    "when": [MOMENT, None, MOMENT],
    "day": [MOMENT.date(), MOMENT.date(), None],
}


def said(table: Table) -> dict[str, list[Any]]:
    """Columns as lists of numbers and texts."""
    found: dict[str, list[Any]] = {}
    for name, column in table.items():
        if isinstance(column, Texts):
            assert column.codes.dtype == np.int64
            assert len(set(column.names)) == len(column.names)
            found[name] = [None if code < 0 else column.names[code] for code in column.codes]
        else:
            assert column[0].dtype == np.float64
            found[name] = [None if np.isnan(value) else value for value in column[0].tolist()]
    return found


WANTED = {
    "int": [1.0, 2.0, None],
    "float": [1.5, None, -2.0],
    "bool": ["True", None, "False"],
    "text": ["x", None, "y"],
    "when": [SECONDS, None, SECONDS],
    "day": [SECONDS - 13.5 * 3600] * 2 + [None],
}


def pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame(PLAIN)
    return frame.assign(bool=frame["bool"].astype("boolean"), day=pd.to_datetime(frame["day"]))


@pytest.mark.parametrize(
    "table",
    [
        pandas_frame(),
        pandas_frame().convert_dtypes(),
        pandas_frame().astype({"text": object, "int": "Int64"}),
        pl.DataFrame(PLAIN),
        pa.table(PLAIN),
        pa.table(PLAIN).to_batches()[0],
        pa.concat_tables([pa.table(PLAIN).slice(0, 1), pa.table(PLAIN).slice(1)]),
        pa.table({name: pa.array(values).dictionary_encode() for name, values in PLAIN.items() if name == "text"}),
    ],
    ids=["pandas", "nullable", "objects", "polars", "arrow", "record batch", "chunks", "dictionary"],
)
def test_frames(table: Any) -> None:
    got = table_of(table)
    assert said(got) == {name: WANTED[name] for name in got}
    assert {name for name, column in got.items() if isinstance(column, Times)} == {"when", "day"} & set(got)


def test_categories_are_declared() -> None:
    of_pandas = pd.DataFrame({"c": pd.Categorical(["7", None, "8"], categories=["8", "7", "6"])})
    of_polars = pl.DataFrame({"c": pl.Series(["7", None, "8"], dtype=pl.Categorical)})
    of_arrow = pa.table({"c": pa.array(["7", None, "8"]).dictionary_encode()})
    for table in (of_pandas, of_polars, of_arrow, pa.concat_tables([of_arrow, of_arrow])):
        column = table_of(table)["c"]
        assert isinstance(column, Texts)
        assert column.declared
        assert said({"c": column})["c"][:3] == ["7", None, "8"]


def test_clocks_are_read_as_they_are_written() -> None:
    aware = pd.DataFrame({"t": pd.Series([MOMENT]).dt.tz_localize("Asia/Kolkata")})
    for table in (aware, pl.DataFrame(aware), pa.Table.from_pandas(aware)):
        assert said(table_of(table)) == {"t": [SECONDS]}


def test_spans_are_numbers_and_decimals_too() -> None:
    span, price = dt.timedelta(seconds=90), decimal.Decimal("1.25")
    for table in (pd.DataFrame({"s": [span]}), pl.DataFrame({"s": [span]}), pa.table({"s": [span]})):
        assert said(table_of(table)) == {"s": [90.0]}
    assert said(table_of(pa.table({"p": [price]}))) == {"p": [1.25]}
    assert said(table_of(np.array([[span]], "m8[ms]"))) == {"x0": [90.0]}


def test_rows_of_dicts() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": None, "c": MOMENT.date()}, {"b": float("nan"), "a": True}]
    want = {"a": ["1", None, "True"], "b": ["x", None, None], "c": [None, "2024-02-29", None]}
    assert said(table_of(rows)) == want
    assert said(table_of([{"b": "y", "d": 1}], ["a", "b"])) == {"a": [None], "b": ["y"]}


def test_keys_of_rows_that_are_no_text() -> None:
    rows = [{0: 1.5, ("a", 1): "x"}, {0: None}]
    assert said(table_of(rows)) == {"0": [1.5, None], "('a', 1)": ["x", None]}
    assert said(table_of(rows, ["0", "1"])) == {"0": [1.5, None], "1": [None, None]}
    with pytest.raises(ValueError, match="two keys of the rows are both written '1'"):
        table_of([{1: "a"}, {"1": "b"}])


def test_a_key_that_is_misspelled_is_not_a_missing_value() -> None:
    with pytest.raises(ValueError, match="a key 'Country ', which is not known, but no key 'country'"):
        table_of([{"Country ": "DE", "amount": 1}], ["amount", "country"])
    known = ["country", "Country"]
    assert said(table_of([{"Country": "DE"}], known)) == {"country": [None], "Country": ["DE"]}


def test_what_pandas_calls_missing_is_missing_in_objects() -> None:
    a, b = pd.array([1, None], dtype="Int64"), pd.array(["x", None], dtype="string")
    want = {"a": [1.0, None], "b": ["x", None]}
    frame = pd.DataFrame({"a": a, "b": b})
    for table in (frame, {"a": a, "b": b}, frame.to_dict("records")):
        assert said(table_of(table)) == want
    assert said(table_of(frame.to_numpy(), ["a", "b"])) == want


def test_columns_of_pandas_that_arrow_keeps() -> None:
    moment, zone = pd.Timestamp(MOMENT), pa.timestamp("us", "Asia/Tokyo")
    day = dt.datetime(2024, 2, 29, tzinfo=dt.UTC)
    columns = {
        "d": (dt.date(2024, 2, 29), pa.date32(), day.timestamp()),
        "t": (moment, pa.timestamp("us"), SECONDS),
        "z": (moment.tz_localize("Asia/Tokyo"), zone, SECONDS),
        "s": (dt.timedelta(seconds=90), pa.duration("us"), 90.0),
        "n": (3, pa.int64(), 3.0),
        "b": (True, pa.bool_(), "True"),
        "c": ("x", pa.string(), "x"),
        "o": (dt.time(3, 4), pa.time64("us"), "03:04:00"),
    }
    frame = pd.DataFrame(
        {name: pd.Series([value, None]).astype(pd.ArrowDtype(kind)) for name, (value, kind, _) in columns.items()}
    )
    assert said(table_of(frame)) == {name: [want, None] for name, (_, _, want) in columns.items()}


def test_a_lazy_frame_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"\.collect\(\)"):
        table_of(pl.DataFrame({"a": [1]}).lazy())


def test_matrices_and_mappings() -> None:
    assert said(table_of(np.eye(2, dtype=np.float32))) == {"x0": [1.0, 0.0], "x1": [0.0, 1.0]}
    assert said(table_of(np.eye(2, dtype=bool), ["a", "b"])) == {"a": ["True", "False"], "b": ["False", "True"]}
    assert said(table_of([[True, 1.5], [False, 2]])) == {"x0": ["True", "False"], "x1": [1.5, 2.0]}
    assert said(table_of([[1, "u"], [2, "v"]])) == {"x0": [1.0, 2.0], "x1": ["u", "v"]}
    assert said(table_of({"a": [1, None], "b": np.array(["u", "v"])})) == {"a": [1.0, None], "b": ["u", "v"]}
    assert said(table_of({"a": np.array(["2024-02-29T13:30"], "M8[m]")})) == {"a": [SECONDS]}
    assert said(table_of(np.array([["a", None]], object))) == {"x0": ["a"], "x1": [None]}


def test_objects_that_are_written_alike_are_one_text() -> None:
    got = table_of(pd.DataFrame({"c": pd.Series([1, "1", "b", None], dtype=object)}))
    assert said(got) == {"c": ["1", "1", "b", None]}


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (pl.DataFrame({"a": [[1]]}), "column 'a'.*List"),
        (pa.table({"a": [[1]]}), "column 'a'.*list"),
        (pa.table({"a": [b"x"]}), "column 'a'.*binary"),
        (pd.DataFrame({"a": [[1], [2]]}), "column 'a'"),
        (pd.DataFrame({"a": [1j]}), "column 'a'.*complex"),
        ([{"a": [1]}], "column 'a'.*row 0"),
        (sp.eye_array(3), "[Ss]parse"),
        ({"a": np.zeros((2, 2))}, "one dimension"),
        (np.zeros(3), "rows and columns"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns"),
        ({"a": [1], "b": [1, 2]}, "'b' has 2 rows"),
        ({"a": 1.5, "b": "x"}, "column 'a' is one value, 1.5. Give rows as a list of dicts"),
        ({"b": "x"}, "column 'b' is one value, 'x'. Give rows as a list of dicts"),
    ],
)
def test_what_cannot_be_read_is_named(table: Any, what: str) -> None:
    with pytest.raises((TypeError, ValueError), match=what):
        table_of(table)


def test_parts_and_joins() -> None:
    table = table_of(pandas_frame())
    joined = concatenated([part(table, 0, 1), part(table, 1, 3)])
    assert said(joined) == said(table) == said(concatenated([table]))
    assert said(selected(table, np.array([True, False, True]))) == {k: [v[0], v[2]] for k, v in WANTED.items()}
    mixed = concatenated([{"a": Numbers(np.array([1.0, np.nan]))}, {"a": Texts(np.array([1, -1]), ["u", "v"])}])
    assert said(mixed) == {"a": ["1", None, "v", None]}
    assert mixed["a"].names == ["1", "v"]  # type: ignore[union-attr]


def test_any_column_as_texts() -> None:
    numbers = Numbers(np.array([2.0, np.nan, 0.1, 1e20, -3.0, np.inf, 2.0]))
    assert said({"a": as_texts(numbers)})["a"] == ["2", None, "0.1", "1e+20", "-3", "inf", "2"]
    times = Times(np.array([SECONDS, np.nan, SECONDS + 0.25]))
    assert said({"a": as_texts(times)})["a"] == ["2024-02-29T13:30:00", None, "2024-02-29T13:30:00"]


@pytest.mark.parametrize("others", [[], ["x"], [None]])
def test_truth_values_beside_numbers_are_the_same_in_any_order(others: list[Any]) -> None:
    values = [1, True, 0, False, 1.0, *others] * 4
    for order in (values, values[::-1], values[1:] + values[:1]):
        frame = table_of(pd.DataFrame({"c": pd.Series(order, dtype=object)}))["c"]
        objects = table_of({"c": order})["c"]
        assert isinstance(frame, Texts)
        assert isinstance(objects, Texts)
        assert (frame.names, frame.codes.tolist()) == (objects.names, objects.codes.tolist())
        assert set(frame.names) == {"1", "True", "0", "False", "1.0", *(["x"] if "x" in others else [])}
