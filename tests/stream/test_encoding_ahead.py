"""A table is encoded in a separate thread while the model learns: model and errors are as without the thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pater.stream import InputError, train

ROWS = 40_000  # several blocks of CSV


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers, categories with new ones all along, days, and gaps."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("ahead") / "table.csv"
    x, c = rng.normal(size=ROWS), rng.integers(0, 2 + np.arange(ROWS) // 50)
    y = (x + (c % 5 == 0) + rng.normal(size=ROWS) > 1.5).astype(int)
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, ROWS)
    cells = zip(np.where(rng.random(ROWS) < 0.02, "", x.astype(str)), c, days.astype(str), y, strict=True)
    path.write_text("x,c,day,y\n" + "".join(f"{a},code {b},{day},{label}\n" for a, b, day, label in cells))
    return path


@pytest.mark.first_quick
@pytest.mark.parametrize("algo", ["so-pater-i", "auto"])
def test_the_model_does_not_depend_on_threads(table: Path, tmp_path: Path, algo: str) -> None:
    options: dict[str, Any] = {"covariance": "diagonal"} if algo != "auto" else {}

    def saved(**more: Any) -> bytes:
        train(table, label="y", model=tmp_path / "m", algo=algo, **options, **more)
        return (tmp_path / "m").read_bytes()

    alone = saved(threads=0)
    assert saved() == alone
    assert saved(checkpoint_every=10_000) == alone


def test_what_is_wrong_with_rows_is_told_before_why_they_cannot_be_encoded(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("id,y\n" + "".join(f"a{k:05}z,{k}\n" for k in range(2000)))
    told = []
    for threads in (0, None):
        with pytest.raises(InputError) as caught:
            train(path, label="y", threads=threads)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "'y'" in told[0]


def test_rows_that_cannot_be_encoded_are_an_error_in_any_thread(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("id,y\n" + "".join(f"a{k:05}z,{k % 2}\n" for k in range(2000)))
    for threads in (0, None):
        with pytest.raises(InputError, match="different in nearly every row"):
            train(path, label="y", threads=threads)
