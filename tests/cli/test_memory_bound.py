"""The peak memory of a run with 2^18 features does not depend on the length of the input, and stays below 400 MB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PATER = [sys.executable, "-m", "pater"]
LIMIT = 400e6

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4,000 rows of 50 among 2^18 features, in two to three blocks, that touch every page of a model."""
    random = np.random.default_rng(0)
    columns = np.sort(random.integers(0, 5242, (4000, 50)) + 5242 * np.arange(50), axis=1).tolist()
    values = random.integers(1, 10_000, (4000, 50)).tolist()
    path = tmp_path_factory.mktemp("memory") / "rows.svm"
    with path.open("w") as file:
        for k, (js, xs) in enumerate(zip(columns, values, strict=True)):
            row = " ".join(f"{j}:0.{x:04d}" for j, x in zip(js, xs, strict=True))
            file.write(f"{1 if k % 8 == 0 else -1} {row}\n")
    return path


# A small process in between: a process's largest size includes that of the process it was forked from.
MEASURED = """
import resource, subprocess, sys

subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak(*arguments: object) -> float:
    """The largest resident size of a command, in bytes."""
    command = [sys.executable, "-c", MEASURED, *PATER, *map(str, arguments)]
    size = int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)
    return size * (1 if sys.platform == "darwin" else 1024)


def test_auto(rows: Path, tmp_path: Path) -> None:
    model, longer = tmp_path / "m", tmp_path / "longer.svm"
    longer.write_bytes(rows.read_bytes() * 10)
    train = ["train", "-q", "-m", model]
    peak(*train, rows)  # compiles
    short = peak(*train, rows)
    assert short < LIMIT
    assert peak(*train, longer) < min(LIMIT, 1.05 * short)
    assert peak(*train, "--checkpoint-every", 1000, longer) < min(LIMIT, 1.05 * short)
    assert peak(*train, "--initial-model", model, rows) < min(LIMIT, 1.05 * short)
    assert peak("predict", model, rows) < min(LIMIT, 1.05 * short)


def test_merge(rows: Path, tmp_path: Path) -> None:
    """Eight files take as much as two."""
    model, both = tmp_path / "m", tmp_path / "both"
    peak("train", "-q", "-m", model, rows)
    peak("merge", model, model, "-m", both)  # compiles
    two = peak("merge", model, model, "-m", both)
    assert peak("merge", *[model] * 8, "-m", both) < two + 0.5 * model.stat().st_size
