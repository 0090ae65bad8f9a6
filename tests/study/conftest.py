"""A clean environment, the data folder if there is one, and handmade rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pater.study.unit import COLUMNS

_FOLDER_BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[3] / "shared" / "data"
_DATA_FOLDER = Path(os.environ.get("PATER_DATA") or _FOLDER_BESIDE_THE_REPOSITORY)

Rows = Callable[..., pd.DataFrame]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the 31 data sets; tests that need it are skipped without it."""
    if not (_DATA_FOLDER / "MANIFEST.tsv").is_file():
        pytest.skip("needs the data sets: set PATER_DATA to a folder with them and MANIFEST.tsv")
    return _DATA_FOLDER


@pytest.fixture(autouse=True)
def nothing_at_hand(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data folder, and an empty cache."""
    cache = tmp_path_factory.getbasetemp() / "user-cache"
    monkeypatch.delenv("PATER_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: cache)


def _rows(*lines: tuple[Any, ...], **others: Any) -> pd.DataFrame:
    """Rows from (data set, algorithm, α⁻, α⁺, accuracies of the folds 0, 1, 2, ...)."""
    table = []
    for data_set, algorithm, alpha_neg, alpha_pos, *accuracies in lines:
        for place, accuracy in enumerate(accuracies):
            row = dict.fromkeys(COLUMNS["rows"], 0.0)
            row |= {"data_set": data_set, "algorithm": algorithm, "alpha_neg": alpha_neg, "alpha_pos": alpha_pos}
            row |= {"run": place // 2, "fold": place % 2, "accuracy": accuracy, "train_seconds": 0.001}
            table.append(row | others)
    return pd.DataFrame(table, columns=COLUMNS["rows"])


@pytest.fixture(scope="session")
def make_rows() -> Rows:
    return _rows
