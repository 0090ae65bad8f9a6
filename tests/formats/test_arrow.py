"""Columnar files of both kinds, whole and truncated while they are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater.stream import InputError, read

ROWS = 300_000


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({"label": rng.integers(0, 2, ROWS), **{name: rng.normal(size=ROWS) for name in "abcd"}})


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_files_and_streams(kind: str, tmp_path: Path) -> None:
    path, rows = tmp_path / "a.arrow", table()
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(str(path), rows.schema) as writer:
        writer.write_table(rows, max_chunksize=50_000)
    found = np.concatenate([batch.rows[0] for batch in read(path)])
    np.testing.assert_array_equal(found[:, 0], rows["a"].to_numpy())


@pytest.mark.first_quick
@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_a_file_that_is_cut_off_while_it_is_read_is_an_error(format: str, tmp_path: Path) -> None:
    """If it were mapped into memory, the system would end the process."""
    script = f"""
import os, sys
import pyarrow as pa, pyarrow.parquet as pq
from pater.stream import InputError, read
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_arrow import table
path, rows = {str(tmp_path / f"a.{format}")!r}, table()
if {format!r} == "arrow":
    with pa.ipc.new_file(path, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=50_000)
else:
    pq.write_table(rows, path, row_group_size=50_000)
batches = iter(read(path))
n_rows = len(next(batches))
os.truncate(path, 1000)
try:
    n_rows += sum(map(len, batches))
    print("read before:", path, n_rows)
except InputError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:") or done.stdout.strip().endswith(str(ROWS))
    assert f"a.{format}" in done.stdout


def test_labels_that_are_bytes_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"label": pa.array([b"\xff", b"a"]), "x": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="'label', are bytes"):
        list(read(tmp_path / "a.parquet"))
