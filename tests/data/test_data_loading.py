"""Where data is looked for, what is verified, and that all 31 sets are as documented."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pater.data import DATA_SETS, DataError, available, load
from pater.data.files import find

BOARDS = "tic-tac-toe/tic-tac-toe.data"


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("key", DATA_SETS)
def test_every_set_is_as_the_manifest_says(key: str, data_folder: Path) -> None:
    with (data_folder / "MANIFEST.tsv").open(newline="") as manifest:
        rows = {int(row["no"]): row for row in csv.DictReader(manifest, delimiter="\t")}
    row = rows[DATA_SETS[key].number]
    data = load(key, data_dir=data_folder)
    features = int(row["features"].split("-")[0])
    assert (data.key, data.name) == (key, row["name"])
    assert data.X.shape == (int(row["rows"]), features)
    assert len(data.feature_names) == len(set(data.feature_names)) == features
    assert (data.y == 1).sum() == int(row["positives"]) == DATA_SETS[key].positives
    assert (data.y == -1).sum() == int(row["negatives"]) == DATA_SETS[key].negatives
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int8
    if key.startswith("20news"):
        assert data.X.format == "csr"
        assert data.X.has_canonical_format
    else:
        assert data.X.flags.c_contiguous
        assert np.isfinite(data.X).all()


@pytest.mark.slow
def test_all_31_are_at_hand_and_load_fast(data_folder: Path) -> None:
    assert available(data_folder) == list(DATA_SETS)
    start = time.perf_counter()
    for key in DATA_SETS:
        load(key, data_dir=data_folder)
    assert time.perf_counter() - start < 15, "two seconds are usual"


def test_first_rows_are_those_of_the_files(data_folder: Path) -> None:
    def first(key: str) -> list[float]:
        values: list[float] = load(key, data_dir=data_folder).X[0].tolist()
        return values

    assert first("heart") == [70, 1, 4, 130, 322, 0, 2, 109, 0, 2.4, 2, 3, 3]
    assert first("votes") == [0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 2, 1, 1, 1, 0, 1]
    assert first("crx")[:7] == [0, 30.83, 0, 0, 0, 9, 0]
    # x,s,n,t,p,f,c,n,k,e,e,s,s,w,w,p,w,o,p,k,s,u
    mushroom = [2, 3, 0, 0, 7, 2, 0, 1, 0, 0, 3, 3, 3, 7, 7, 0, 2, 1, 5, 0, 3, 4]
    assert first("mushroom") == mushroom
    assert first("cod-rna")[:2] == [-766, 128]
    assert first("ijcnn1")[5:11] == [1, 0, 0, 0, 0, -0.731854]
    assert first("skin") == [74, 85, 123]


def test_a_folder_given_wins_over_the_environment_and_that_over_the_cache(
    tmp_path: Path, boards: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = {name: put(tmp_path / name, BOARDS, b"bad") for name in ("environment", "user-cache")}
    put(tmp_path / "given", BOARDS, boards)
    with pytest.raises(DataError, match=str(bad["user-cache"])):
        load("tic-tac-toe")
    monkeypatch.setenv("PATER_DATA", str(tmp_path / "environment"))
    with pytest.raises(DataError, match=str(bad["environment"])):
        load("tic-tac-toe")
    assert load("tic-tac-toe", data_dir=tmp_path / "given").X.shape == (958, 9)
    assert load("tic-tac-toe", data_dir=str(tmp_path / "given")).X.shape == (958, 9)


def test_a_folder_without_the_set_is_passed_over(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = find(data_folder, DATA_SETS["heart"].files[0])
    assert source is not None
    put(tmp_path / "user-cache", "heart/heart.dat", source.read_bytes())
    monkeypatch.setenv("PATER_DATA", str(tmp_path / "nothing here"))
    assert load("heart").X.shape == (270, 13)
    assert available() == ["heart", "wdbc", "tic-tac-toe"]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_compressed_files_are_read(tmp_path: Path, boards: bytes, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = put(tmp_path, BOARDS + suffix, pack(boards))
    assert load("tic-tac-toe", data_dir=tmp_path).X.shape == (958, 9)
    path.write_bytes(pack(boards)[:-20])
    with pytest.raises(DataError, match=rf"{path} cannot be decompressed.*fetch"):
        load("tic-tac-toe", data_dir=tmp_path)


def test_a_corrupted_file_is_named_with_both_checksums(tmp_path: Path, boards: bytes) -> None:
    path = put(tmp_path, BOARDS, boards.replace(b"x", b"o", 1))
    with pytest.raises(DataError) as caught:
        load("tic-tac-toe", data_dir=tmp_path)
    message = str(caught.value)
    assert str(path) in message
    assert "pater.data.fetch(['tic-tac-toe'])" in message
    assert DATA_SETS["tic-tac-toe"].files[0].sha256 in message
    assert "sha256 of the uncompressed content is " in message


@pytest.mark.slow
def test_any_changed_file_of_20_newsgroups_is_noticed(tmp_path: Path, data_folder: Path) -> None:
    entry = DATA_SETS["20news-comp"]
    for file in entry.files:
        source = find(data_folder, file)
        assert source is not None
        target = tmp_path / Path(file.name).parent / source.name
        put(tmp_path, str(target), source.read_bytes())
    assert load("20news-comp", data_dir=tmp_path).X.shape == (1937, 61188)

    vocabulary = tmp_path / "20news-vocabulary" / "vocabulary.txt"
    words = vocabulary.read_bytes()
    vocabulary.write_bytes(words.replace(b"archive", b"archivf", 1))
    with pytest.raises(DataError, match=r"vocabulary\.txt is not the file expected"):
        load("20news-comp", data_dir=tmp_path)
    vocabulary.write_bytes(words)

    counts = tmp_path / "20news-comp" / "pair.data.gz"
    counts.write_bytes(gzip.compress(gzip.decompress(counts.read_bytes())[:-2] + b"9\n"))
    with pytest.raises(DataError, match=r"pair\.data\.gz is not the file expected"):
        load("20news-comp", data_dir=tmp_path)


def test_a_missing_set_says_where_it_was_looked_for_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load("heart", data_dir=tmp_path / "nowhere")
    message = str(caught.value)
    assert str(tmp_path / "nowhere") in message
    assert str(tmp_path / "user-cache") in message
    assert "heart/heart.dat" in message
    assert "PATER_DATA" in message
    assert "fetch=True" in message


def test_arrays_are_not_in_the_printed_form() -> None:
    assert len(repr(load("tic-tac-toe"))) < 500
