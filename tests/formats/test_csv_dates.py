"""CSV dates, read by compiled code, against Python's own reading of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pater.formats.csv_dates import moments
from pater.preprocessing.values import moment_in, moments_in


def read(texts):
    """The seconds, or None if the column does not hold dates."""
    data = np.frombuffer("".join(f"{text}," for text in texts).encode() + b"\n", np.uint8)
    lengths = np.array([len(text.encode()) + 1 for text in texts])
    ends = np.cumsum(lengths) - 1
    seconds, are_times = np.empty((1, len(texts))), np.empty(1, np.bool_)
    moments(data, (ends - lengths + 1)[:, None], ends[:, None], np.array([0]), seconds, are_times)
    return seconds[0] if are_times[0] else None


@given(
    st.datetimes(),
    st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"]),
    st.sampled_from(["", "Z"]),
)
def test_dates_are_what_python_says(moment, form, zone):
    text = f"{moment.year:04}" + moment.strftime(form.removeprefix("%Y")) + (zone if ":" in form else "")
    (seconds,) = read([text])
    assert seconds == moments_in([text])[0]
    assert seconds == pytest.approx(moment_in(text), abs=1e-4)


@given(st.text("0123456789-: TZ.+", max_size=28))
def test_what_is_read_is_what_python_reads(text):
    seconds = read([text])
    if seconds is not None:
        assert seconds[0] == moments_in([text.strip()])[0]


@pytest.mark.parametrize(
    "text", ["2024-01-01Z", "2024-01-01T10:00:00.", "2024-01-01T10:00Z", "2024-01-01T10:00:00.5", "2024/02/29 10:00Z"]
)
def test_a_date_is_read_the_same_whatever_stands_beside_it(text):
    others = [text], [text, "2024-01-01T10:00:00+01:00"], [text, "2024-01-01"]
    np.testing.assert_array_equal([moments_in(texts)[0] for texts in others], [moment_in(text)] * 3)
    seconds = read([text])
    assert seconds is None or seconds[0] == moment_in(text)


OTHERS = """2023-02-29,2024-13-01,2024-00-10,0000-01-01,2024-01-01T24:00,2024-01-01T10,2024-01-01x10:00,red
2024-01-01T10:60,2024-01-01T10:00:60,2024-01-01T10:00:00+01:00,2024-01-01T10:00:00.1234567"""


@pytest.mark.parametrize("text", OTHERS.replace("\n", ",").split(","))
def test_what_is_no_such_date_is_left_to_others(text):
    assert read(["2024-01-01", text]) is None


def test_missing_dates():
    seconds = read(["", "1970-01-02", "NA"])
    assert np.isnan(seconds[[0, 2]]).all()
    assert seconds[1] == 86400.0
    assert read(["", ""]) is None


def test_the_year_may_be_parted_by_slashes():
    assert read(["2024/02/29", "2024/02/29 10:00:00"]).tolist() == read(["2024-02-29", "2024-02-29 10:00:00"]).tolist()
    assert moments_in(["2024/02/29T10:00:00.5+01:00"]) == moments_in(["2024-02-29T10:00:00.5+01:00"])
    for text in ("2024/02-29", "2024-02/29", "2024/02/30", "2024/2/29", "2024/02/291", "29/02/2024"):
        assert read(["2024-01-01", text]) is None
        assert np.isnan(moment_in(text))
