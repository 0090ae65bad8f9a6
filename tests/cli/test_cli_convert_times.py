"""`pater convert`: dates, times and durations are the same categories and numbers in every format."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater.preprocessing.columns import Numbers, Texts, Times
from pater.preprocessing.tables import of_arrow
from pater.preprocessing.values import moments_in


@pytest.fixture
def pater(
    pater: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    return pater


COLUMNS = {
    "hour": pa.array([dt.time(8), None, dt.time(10)]),
    "second": pa.array([1, None, 3], pa.time32("s")),
    "instant": pa.array([dt.time(8, 0, 0, 5), None, dt.time(8, 0, 0, 500_000)]),
    "fine": pa.array([5_000, None, 36_000_000_000_000], pa.time64("ns")),
    "wait": pa.array([dt.timedelta(seconds=553), None, dt.timedelta(microseconds=-5)]),
    "days": pa.array([86_400, None, 0], pa.duration("s")),
    "day": pa.array([dt.date(2024, 1, 1), None, dt.date(1969, 1, 1)]),
    "moment": pa.array([0, None, 1_500_000], pa.timestamp("us")),
    "milli": pa.array([0, None, 1_500], pa.timestamp("ms")),
    "nano": pa.array([0, None, 1_500], pa.timestamp("ns", "UTC")),
    "zoned": pa.array([0, None, 1_500], pa.timestamp("ms", "Europe/Berlin")),
}


def as_read(column: Any) -> list[Any]:
    """What a column of Parquet means, row by row."""
    found = of_arrow(column)
    if isinstance(found, Texts):
        return [*(found.names[code] if code >= 0 else "" for code in found.codes)]
    assert isinstance(found, (Numbers, Times))
    return found[0].tolist()


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_times_are_written_as_they_are_read(pater: Any, ending: str) -> None:
    pq.write_table(pa.table(COLUMNS), "t.parquet")
    assert pater("convert", "t.parquet", f"t.{ending}")[0] == 0
    assert pater("convert", f"t.{ending}", "back.parquet", "--categorical", "moment")[0] == 0
    back = pq.read_table("back.parquet")
    for name, column in COLUMNS.items():
        wanted, got = as_read(column), as_read(back[name])
        if isinstance(of_arrow(column), Times) and isinstance(got[0], str):
            got = moments_in(got).tolist()
        assert np.array_equal(wanted, got) or np.array_equal(wanted, got, equal_nan=True), name


def test_the_lines_of_times(pater: Any) -> None:
    pq.write_table(pa.table(COLUMNS), "t.parquet")
    line = pater("convert", "t.parquet", "-", "--output-format", "jsonl")[1].splitlines()[2]
    assert line.replace("e-06", "e-6") == (  # as another writer of JSON has it
        '{"hour":"10:00:00","second":"00:00:03","instant":"08:00:00.500000","fine":"10:00:00","wait":-5e-6,"days":0.0,'
        '"day":"1969-01-01","moment":"1970-01-01T00:00:01.500000","milli":"1970-01-01T00:00:01.500000",'
        '"nano":"1970-01-01T00:00:00.000001500+00:00","zoned":"1970-01-01T01:00:01.500000+01:00"}'
    )


def test_times_as_categories(pater: Any) -> None:
    pq.write_table(pa.table({"t": [dt.time(8)], "wait": [dt.timedelta(minutes=1)]}), "t.parquet")
    words = ("--categorical", "t", "--categorical", "wait")
    for format, wanted in (("csv", '"t","wait"\n"08:00:00","60"\n'), ("jsonl", '{"t":"08:00:00","wait":"60"}\n')):
        assert pater("convert", "t.parquet", "-", "--output-format", format, *words)[1] == wanted


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("column", "what"),
    [
        (
            pa.array([2**31 - 1], pa.date32()),
            "column 'odd' holds a date that no calendar has. Leave it out with",
        ),
        (pa.array([2**60], pa.timestamp("ms")), "column 'odd' holds a time that no calendar has. Leave it out with"),
        (pa.array([2**62], pa.duration("s")), "column 'odd' holds a duration of over 290,000 years. Leave it out with"),
        (pa.array([0], pa.timestamp("s", "No/Where")), "No/Where not found in timezone database. Leave it out with"),
        (pa.array([[2**31 - 1]], pa.list_(pa.date32())), "with --drop"),
        (pa.array([[b"x"]]), "with --drop"),
    ],
)
def test_times_that_cannot_be_written(pater: Any, column: Any, what: str, ending: str) -> None:
    pq.write_table(pa.table({"odd": column, "y": [1]}), "t.parquet")
    code, _, err = pater("convert", "t.parquet", f"out.{ending}")
    assert (code, what in err, "Traceback" in err) == (1, True, False)
    assert not Path(f"out.{ending}").exists()


def test_years_of_five_digits(pater: Any) -> None:
    pq.write_table(pa.table({"t": pa.array([2**38], pa.timestamp("s"))}), "t.parquet")
    assert pater("convert", "t.parquet", "-", "--output-format", "jsonl")[1] == '{"t":"10680-07-14T06:09:04"}\n'
