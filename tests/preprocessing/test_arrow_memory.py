"""Arrow arrays are read from memory with the same result as from Arrow itself."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater.preprocessing.arrow_memory import floats_of, moments_of, whole_numbers_of

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
MOMENTS = [
    pa.date32(),
    pa.date64(),
    *(kind(unit) for kind in (pa.timestamp, pa.duration) for unit in ["s", "ms", "us", "ns"]),
]


def parts(array: Any) -> list[Any]:
    """The array, and parts that begin at various places in a byte of bits."""
    return [array, array.slice(0, 0), *(array.slice(k, 21) for k in (0, 1, 7, 8, 9, 30)), array.drop_null()]


def of_kind(kind: Any, generator: np.random.Generator) -> Any:
    numbers = generator.integers(0, 120, 60)
    return pa.array([None if k % 5 == 3 else int(value) for k, value in enumerate(numbers)], pa.int64()).cast(kind)


@pytest.mark.parametrize("kind", [*WHOLE, pa.float32(), pa.float64(), pa.bool_(), pa.decimal128(22, 2)], ids=str)
def test_numbers(kind: Any) -> None:
    for array in parts(of_kind(kind, np.random.default_rng(0))):
        theirs = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(floats_of(array, pa), theirs)
        if kind in WHOLE:
            theirs = array.cast(pa.int64()).fill_null(-1).to_numpy()
            np.testing.assert_array_equal(whole_numbers_of(array, -1), theirs)


@pytest.mark.parametrize("value", [2**63 + 3, 2**64 - 1, 2**53 + 1])
def test_numbers_too_long_for_a_float_are_rounded_alike(value: int) -> None:
    array = pa.array([value, None], pa.uint64())
    theirs = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(floats_of(array, pa), theirs)


@pytest.mark.parametrize("kind", MOMENTS, ids=str)
def test_moments(kind: Any) -> None:
    numbers = np.random.default_rng(1).integers(-30_000, 30_000, 60)
    if kind == pa.date32():
        numbers = numbers.astype(np.int32)
    elif kind == pa.date64():
        numbers = numbers * 86_400_000
    array = pa.array(numbers).view(kind)
    array = array.take(pa.array([None if k % 7 == 2 else k for k in range(60)]))
    for each in parts(array):
        theirs = np.asarray(each).astype("m8[us]" if pa.types.is_duration(kind) else "M8[us]")
        np.testing.assert_array_equal(moments_of(each, pa), theirs)


def test_nothing_at_all() -> None:
    for array in (pa.nulls(9, pa.float64()), pa.nulls(9, pa.bool_()), pa.array([], pa.int32())):
        np.testing.assert_array_equal(floats_of(array, pa), np.full(len(array), np.nan))


@pytest.mark.slow
def test_a_table_is_learned_from_without_pandas(tmp_path: Path) -> None:
    """If installed, it would be imported before the first row."""
    generator = np.random.default_rng(2)
    table = {
        "n": pa.array(generator.normal(size=300), mask=generator.random(300) < 0.1),
        "when": pa.array([date(2026, 1, 1 + k % 28) for k in range(300)]),
        "text": generator.choice(["a", "b", None], 300),
        "y": generator.integers(0, 2, 300),
    }
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    code = (
        "import sys; from pater.cli.app import run; run(sys.argv[1:]); "
        "sys.exit(sorted({'pandas'} & set(sys.modules)) or 0)"
    )
    train = ["train", "rows.parquet", "--label", "y", "-q", "-m", "rows.pater"]
    subprocess.run([sys.executable, "-c", code, *train], cwd=tmp_path, check=True, timeout=120)
