"""Many bytes at a time: the same fields and numbers as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pater.formats.wide import find_ends, short_number


def short(text: str) -> tuple[float, bool]:
    """The number, among bytes that are none of its own."""
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


def test_at_the_beginning_of_a_text_nothing_is_read_before_it() -> None:
    assert not short_number(np.frombuffer(b"12345,6\n", np.uint8), 0, 5)[1]


@given(st.lists(st.text("ab1.", max_size=40), min_size=1, max_size=60))
def test_ends_of_fields(fields: list[str]) -> None:
    data = "".join(f"{field}{',;'[k % 7 == 3]}" for k, field in enumerate(fields)).replace(";", "\n").encode()
    ends = np.empty(len(fields), np.int64)
    assert find_ends(np.frombuffer(data, np.uint8), ord(","), ends) == len(fields)
    assert ends.tolist() == [k for k, byte in enumerate(data) if byte in b",\n"]
