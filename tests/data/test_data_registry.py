"""The content of the registry, and that it is consistent."""

from __future__ import annotations

import csv
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pater.data
from pater.data import DATA_SETS, DataError, load
from pater.data.registry import entry_of
from pater.data.table import Table


def test_there_are_31_numbered_as_in_the_paper() -> None:
    assert [entry.number for entry in DATA_SETS.values()] == list(range(1, 32))
    assert all(key == entry.key for key, entry in DATA_SETS.items())


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DATA_SETS["heart"].name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        DATA_SETS["heart"] = DATA_SETS["skin"]  # type: ignore[index]


@pytest.mark.parametrize("entry", DATA_SETS.values(), ids=lambda entry: entry.key)
def test_every_file_has_a_checksum_and_a_public_source(entry: pater.data.Entry) -> None:
    for file in entry.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.addresses or entry.archive
        assert all(re.match("https?://", address) for address in file.addresses)


@pytest.mark.parametrize("entry", DATA_SETS.values(), ids=lambda entry: entry.key)
def test_published_row_agrees_with_the_coding(entry: pater.data.Entry) -> None:
    paper = entry.published
    one_more_than_the_paper = entry.key == "20news-talk"
    assert entry.rows == paper.rows + one_more_than_the_paper
    assert entry.why
    assert entry.description
    if not entry.key.startswith("20news"):
        # The paper rounds, and most of its ratios are slightly above the exact one.
        assert entry.positives / entry.negatives == pytest.approx(paper.ratio, rel=0.03, abs=0.005)
    if isinstance(entry.format, Table):
        assert len(entry.format.feature_names) == paper.features
        assert set(entry.format.codes) <= set(entry.format.feature_names)
        assert len(set(entry.format.columns)) == len(entry.format.columns)


def test_registry_agrees_with_the_manifest(data_folder: Path) -> None:
    with (data_folder / "MANIFEST.tsv").open(newline="") as manifest:
        rows = {int(row["no"]): row for row in csv.DictReader(manifest, delimiter="\t")}
    for entry in DATA_SETS.values():
        row = rows[entry.number]
        checksums = dict(pair.split("=") for pair in row["sha256_of_raw_files"].split())
        assert entry.name == row["name"]
        for file in entry.files:
            assert file.sha256 == checksums[Path(file.name).name]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("hart", "heart"),
        ("monks", "monks-1"),
        ("Statlog-heart", "heart"),
        ("20news", "20news-comp"),
        ("breast", "breast-w"),
        ("musk", "musk1"),
        ("WDBC", "wdbc"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(DataError, match=f"no data set '{wrong}'.*{meant}"):
        load(wrong)


def test_a_key_like_no_other_is_answered_with_all() -> None:
    with pytest.raises(DataError, match=r"monks-3.*skin"):
        entry_of("zzzzzz")


def test_importing_the_package_imports_no_heavy_library() -> None:
    code = "import sys, pater.data; print('sklearn' in sys.modules, 'pooch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "False"]
