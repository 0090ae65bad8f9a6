"""Many bytes at a time: the same fields and numbers as byte by byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pater.compiler.decorators import entrance
from pater.formats.csv_fields import SPARE, split_plain
from pater.formats.many_bytes import how_many
from pater.formats.many_bytes import short_number as part_of_numbers

short_number = entrance(part_of_numbers)


def short(text: str) -> tuple[float, bool]:
    """The number, surrounded by bytes that are not part of it."""
    before, after = b"1.5,98765432.1234567,", b",7" + b"8" * 20
    data = before + text.encode() + after
    return short_number(np.frombuffer(data, np.uint8), len(before), len(data) - len(after))


@given(st.text("0123456789.", max_size=17) | st.text("0123456789.-+e/:;٣ ", max_size=17))
@example("1.2.3")
@example(".")
@example("5.")
@example(".5")
@example("999999999999999")
@example("0.1234567")
def test_a_short_number_is_what_python_says(text: str) -> None:
    value, known = short(text)
    if known:
        assert value == float(text)
    elif text.isascii() and text.replace(".", "", 1).isdigit() and len(text) <= 15:
        assert len(text.partition(".")[2]) > 7


@pytest.mark.parametrize("text", ["", "-1", "+1", "1e5", "nan", " 1", "1 ", "1234567890123456", "0.12345678"])
def test_other_numbers_are_left_to_others(text: str) -> None:
    assert not short(text)[1]


def test_nothing_is_read_outside_of_a_text() -> None:
    whole = np.frombuffer(b"12345,67,8.5\n98765432,1234567.25\n", np.uint8)
    for end in range(8, whole.size):
        text = whole[:end].copy()
        assert short_number(text, 0, 5) == (12345.0, True)
        for start in range(end):
            value, known = short_number(text, start, end)
            assert not known or value == float(text[start:].tobytes())
    assert not any(short_number(whole[:7].copy(), start, 7)[1] for start in range(7))


def split(data: bytes, width: int, n_rows: int) -> tuple[list[int], list[int]] | None:
    """Where the fields of this many rows start and end, or None if the text has other rows."""
    starts, ends = np.empty(n_rows * width + SPARE, np.int32), np.empty(n_rows * width, np.int32)
    if not split_plain(np.frombuffer(data, np.uint8), ord(","), width, starts, ends):
        return None
    return starts[: ends.size].tolist(), ends.tolist()


FIELDS = st.text("ab1.", max_size=3) | st.text("ab1.", max_size=200)


@given(st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(FIELDS, min_size=width, max_size=width), max_size=30)))
def test_fields_are_where_they_are_one_by_one(rows: list[list[str]]) -> None:
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    width = len(rows[0]) if rows else 2
    ends = [k for k, byte in enumerate(data) if byte in b",\n"]
    assert split(data, width, len(rows)) == ([0, *(end + 1 for end in ends)][: len(ends)], ends)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=4), min_size=1, max_size=30), st.integers(2, 4))
def test_rows_of_other_widths_are_left_to_others(rows: list[list[str]], width: int) -> None:
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    assert (split(data, width, len(rows)) is None) == any(len(row) != width for row in rows)


@given(st.text("a,\n", max_size=300))
def test_bytes_are_counted(text: str) -> None:
    assert [how_many(np.frombuffer(text.encode(), np.uint8), ord(c)) for c in ",\n;"] == [text.count(c) for c in ",\n;"]
