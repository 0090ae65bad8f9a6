"""The compiled reader of numbers gives what `float` gives, to the last bit."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pater.formats.numbers import NO_NUMBER, NOT_FINITE, NUMBER, SLOW, number


def parsed(text: str) -> tuple[float, int, int]:
    value, end, found = number(np.frombuffer(text.encode() + b"\n", np.uint8), 0)
    return value, end, found


def bits(value: float) -> bytes:
    return struct.pack("d", value)


def check(text: str) -> None:
    value, end, found = parsed(text)
    assert found in (NUMBER, SLOW)
    assert end == len(text)
    if found == NUMBER:
        assert bits(value) == bits(float(text)), text


@settings(max_examples=1500, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_text_of_any_float(x: float) -> None:
    check(repr(x))


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 10**19 - 1), st.integers(-330, 310))
def test_any_digits_and_exponent(digits: int, exponent: int) -> None:
    check(f"{digits}e{exponent}")


@settings(max_examples=500, deadline=None)
@given(st.integers(2**53, 2**54), st.integers(-8, 12))
def test_halfway_between_two_floats(m: int, k: int) -> None:
    check(f"{2 * m + 1}e{k}")
    check(f"{m}.5")


@pytest.mark.parametrize(
    "text", ["0", "-0", "+1", "1.", ".5", "-.5e3", "1E5", "1e+05", "007", "0.1e-2", "9007199254740993"]
)
def test_forms(text: str) -> None:
    check(text)
    assert parsed(text)[2] == NUMBER


@pytest.mark.parametrize(
    "text", ["", "-", ".", "e5", "1e", "1e+", "x", "--1", "i", "in", "n", "na", "Nice", "-.inf", ".nan", "++inf"]
)
def test_no_number(text: str) -> None:
    assert parsed(text)[2] == NO_NUMBER


@pytest.mark.parametrize("text", ["inf", "-Infinity", "nan", "NaN", "+INF", "-nan"])
def test_not_finite(text: str) -> None:
    assert parsed(text)[1:] == (len(text), NOT_FINITE)


@pytest.mark.parametrize(
    ("text", "end"), [("info", 3), ("infinit", 3), ("infinite", 3), ("-nano", 4), ("infinity8", 8)]
)
def test_where_what_is_not_finite_ends(text: str, end: int) -> None:
    assert parsed(text)[1:] == (end, NOT_FINITE)


@pytest.mark.parametrize("text", ["1e400", "1e-320", "12345678901234567890", "0.1234567890123456789012"])
def test_what_is_left_to_float(text: str) -> None:
    assert parsed(text)[2] == SLOW
