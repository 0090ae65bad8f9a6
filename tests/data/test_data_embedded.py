"""The two data sets that need no file equal those in the files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from pater.data import DATA_SETS, available, load


def test_they_are_there_with_nothing_at_hand() -> None:
    assert available() == ["wdbc", "tic-tac-toe"]
    for key in available():
        data, entry = load(key), DATA_SETS[key]
        assert data.X.shape == (entry.rows, entry.published.features)
        assert data.X.flags.c_contiguous
        assert data.X.dtype == np.float64
        assert data.y.dtype == np.int8
        assert set(data.y.tolist()) == {-1, 1}
        assert (data.y == 1).sum() == entry.positives


def test_tic_tac_toe_by_the_rules_is_the_uci_file_byte_for_byte(boards: bytes) -> None:
    [file] = DATA_SETS["tic-tac-toe"].files
    assert hashlib.sha256(boards).hexdigest() == file.sha256


def test_no_two_boards_are_equal() -> None:
    X = load("tic-tac-toe").X
    assert len(np.unique(X, axis=0)) == len(X) == 958


def test_they_equal_the_files(data_folder: Path) -> None:
    for key in ("wdbc", "tic-tac-toe"):
        embedded, from_file = load(key), load(key, data_dir=data_folder)
        assert np.array_equal(embedded.X, from_file.X)
        assert np.array_equal(embedded.y, from_file.y)
        assert embedded.feature_names == from_file.feature_names
        assert embedded.description == from_file.description
