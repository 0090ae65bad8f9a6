"""Numbers with separators: how a column writes them, and how one written differently is read."""

from __future__ import annotations

import numpy as np
import pytest

from pater.preprocessing.columns import Numbers, Texts, Times
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.unread_cells import unread_in
from pater.preprocessing.values import number_for_sure

AMOUNTS = [*(f"{k}.25" for k in range(1, 98)), "1,234.50", "12,345.00", "1,000,000.00"]


def texts(names: list[str]) -> Texts:
    return Texts(np.arange(len(names)), names)


def begun(names: list[str]) -> Encoding:
    return Encoding.begun({"x": texts(names)}, EncodingSettings())


@pytest.mark.parametrize("whole", [False, True])
def test_a_few_separators_decide_the_style(whole: bool) -> None:
    names = [name.partition(".")[0] for name in AMOUNTS] if whole else AMOUNTS
    (column,) = begun(names).numbers
    assert column.style == "grouped"
    values = column.values(texts(names))
    assert values is not None
    assert values[-3:].tolist() == [1234.0 if whole else 1234.5, 12345.0, 1e6]


def test_plain_numbers_win_where_others_read_as_many() -> None:
    assert begun(["1.234", "2.345", "3", "4"] * 5).numbers[0].style == "plain"
    assert begun(["0,532", "1,234", "0,125", "3,000"] * 5).numbers[0].style == "comma"


@pytest.mark.parametrize(
    ("text", "plain", "grouped", "comma"),
    [
        ("1,234.50", 1234.5, 1234.5, 1234.5),
        ("-1.234,50", -1234.5, -1234.5, -1234.5),
        ("1,234,567", 1234567, 1234567, 1234567),
        ("1.234.567", 1234567, 1234567, 1234567),
        ("1,234", np.nan, 1234, 1.234),
        ("1.234", 1.234, 1.234, 1234),
        ("12.5", 12.5, 12.5, 12.5),
        ("12,5", np.nan, np.nan, 12.5),
        ("1e3", 1000, 1000, 1000),
        ("0,532", np.nan, np.nan, 0.532),
        ("1,2,3", np.nan, np.nan, np.nan),
        ("12.31.2024", np.nan, np.nan, np.nan),
        ("many, or few.", np.nan, np.nan, np.nan),
    ],
)
def test_what_can_only_be_one_number_is_read_in_any_column(
    text: str, plain: float, grouped: float, comma: float
) -> None:
    found = [number_for_sure(text, style) for style in ("plain", "grouped", "comma")]
    np.testing.assert_equal(found, [plain, grouped, comma])


def test_what_cannot_be_read_is_counted() -> None:
    encoding = begun([str(k) for k in range(100)])
    found = encoding.encode({"x": texts(["1", "NA", "-", "12,5", "true", "12,5x", "1,234.50"])})
    assert found.unread["x"] == ("number", 5, 2, 3, "12,5")
    assert found.unread["x"] + found.unread["x"] == ("number", 10, 4, 6, "12,5")
    assert encoding.encode({"x": Numbers(np.array([1.0, np.nan]))}).unread == {}
    assert encoding.encode({"x": Times(np.array([0.0, np.nan]))}).unread["x"] == (
        "number",
        1,
        1,
        1,
        "1970-01-01T00:00:00",
    )


def test_numbers_that_are_no_dates_are_counted() -> None:
    seconds = np.array([1.7e9, np.nan, 1.7e12])
    assert unread_in("date", Numbers(seconds), np.array([1.7e9, np.nan, np.nan])) == ("date", 2, 1, 1, "1700000000000")
    assert unread_in("date", Times(seconds), seconds) is None
