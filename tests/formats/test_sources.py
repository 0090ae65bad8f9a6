"""Files, globs, standard input, compression; and reading ahead changes nothing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard

from pater.formats.background import ahead, in_order
from pater.formats.blocks import BLOCK_BYTES, blocks
from pater.formats.sources import sources
from pater.stream import InputError, read

COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda text: zstandard.ZstdCompressor().compress(text),
}


def everything(paths: object, **settings: object) -> tuple[np.ndarray, np.ndarray]:
    batches = list(read(paths, **settings))  # type: ignore[arg-type]
    return np.concatenate([b.labels for b in batches]), np.concatenate([b.rows[2] for b in batches])


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files(tmp_path: Path, ending: str, libsvm_text: Callable[..., bytes]) -> None:
    text = libsvm_text(500)
    (tmp_path / "plain.svm").write_bytes(text)
    (tmp_path / f"rows.svm.{ending}").write_bytes(COMPRESS[ending](text))
    for a, b in zip(everything(tmp_path / "plain.svm"), everything(tmp_path / f"rows.svm.{ending}"), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_compressed_files(tmp_path: Path, ending: str, libsvm_text: Callable[..., bytes]) -> None:
    content = COMPRESS[ending](libsvm_text(500))
    path = tmp_path / f"rows.svm.{ending}"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"rows\.svm"):
        list(read(path))


def test_globs_are_sorted_and_files_follow_each_other(tmp_path: Path) -> None:
    for k in (2, 0, 1):
        (tmp_path / f"part-{k}.svm").write_text(f"{k} 1:1")
    labels, _ = everything(str(tmp_path / "part-*.svm"))
    assert labels.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="no file has a name like this"):
        read(str(tmp_path / "none-*.svm"))
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "none.svm")
    with pytest.raises(InputError, match="folder"):
        read(tmp_path)


def test_formats_by_ending(tmp_path: Path) -> None:
    names = {"a.svm": "libsvm", "a.vw.gz": "vw", "a.CSV": "csv", "a.tsv.zst": "tsv", "a.pq": "parquet", "a": "libsvm"}
    for name, format in names.items():
        (tmp_path / name).touch()
        assert sources([tmp_path / name])[0].format == format
        assert sources([tmp_path / name], "tsv")[0].format == "tsv"
    assert sources(["-"])[0].format == "libsvm"


class Dribble(io.RawIOBase):
    """A pipe that delivers arbitrary amounts."""

    def __init__(self, text: bytes) -> None:
        self.text, self.random = io.BytesIO(text), np.random.default_rng(0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        part = self.text.read(min(len(buffer), int(self.random.integers(1, 100_000))))
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.slow
def test_a_pipe_is_cut_as_a_file_is(libsvm_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_file = [(block.first_line, block.end) for block in blocks(sources([libsvm_file])[0], hashed=True)]
    assert len(of_file) > 3
    pipe = io.TextIOWrapper(io.BufferedReader(Dribble(libsvm_file.read_bytes())))
    monkeypatch.setattr("sys.stdin", pipe)
    assert [(block.first_line, block.end) for block in blocks(sources(["-"])[0], hashed=True)] == of_file


def test_lines_longer_than_a_block(tmp_path: Path) -> None:
    long = b"1 " + b" ".join(b"%d:1" % j for j in range(1, 400_000))
    assert len(long) > BLOCK_BYTES
    (tmp_path / "a.svm").write_bytes(b"-1 1:1\n" + long + b"\n-1 2:1\n")
    labels, data = everything(tmp_path / "a.svm")
    assert labels.tolist() == [-1, 1, -1]
    assert data.size == 400_001


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n" + b"1" * (1 << 26))
    with pytest.raises(InputError, match=r"line 2: longer than"):
        list(read(tmp_path / "a.svm"))


def test_what_may_be_wrong_with_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pater.formats.blocks.LONGEST_LINE", 1 << 20)
    (tmp_path / "a.csv").write_bytes(b'a,b,y\n1,"x,0\n' + b"2,y,1\n" * (1 << 20))
    with pytest.raises(
        InputError, match=r"a.csv, line 2: a quote is opened here and not closed within 1 MiB; close it"
    ):
        list(read(tmp_path / "a.csv"))
    (tmp_path / "a.svm").write_bytes(b"1 1:1\r" * (1 << 20))
    with pytest.raises(InputError, match=r"line 1: longer than 1 MiB, as its lines end with a carriage return"):
        list(read(tmp_path / "a.svm"))


@pytest.mark.parametrize("name", ["a.csv.zip", "a.xlsx"])
def test_an_archive_is_recognised_before_a_model_is_asked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(InputError, match="is an Excel workbook or a zip archive"):
        sources([tmp_path / name])
    assert sources([tmp_path / name], "csv")[0].format == "csv"  # found when it is opened


def test_the_number_of_threads_changes_nothing(libsvm_file: Path) -> None:
    one, many = everything(libsvm_file, threads=1), everything(libsvm_file, threads=4)
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_bytes(b"")
    assert list(read(tmp_path / "a.svm")) == []


def test_reading_ahead_is_bounded_and_in_order() -> None:
    taken: list[int] = []

    def items() -> object:
        for k in range(50):
            taken.append(k)
            yield k

    read_ahead = ahead(items(), depth=3)  # type: ignore[arg-type]
    assert next(read_ahead) == 0
    time.sleep(0.2)
    assert len(taken) <= 5
    assert list(read_ahead) == list(range(1, 50))

    def slow(k: int) -> int:
        time.sleep(0.002 * (k % 3))
        return k * k

    assert list(in_order(slow, range(50), threads=4, depth=6)) == [k * k for k in range(50)]


def test_errors_come_through_at_their_place_and_threads_end() -> None:
    def items() -> object:
        yield 1
        raise InputError("here")

    before = threading.active_count()
    read_ahead = ahead(items(), depth=3)  # type: ignore[arg-type]
    assert next(read_ahead) == 1
    with pytest.raises(InputError, match="here"):
        next(read_ahead)
    abandoned = ahead(iter(range(10**9)), depth=2)
    next(abandoned)
    abandoned.close()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("junk", [b"junk", b"j", b"B", b"junk" * 5000, b"1 1:1\n"])
def test_what_follows_a_compressed_stream_is_no_part_to_pass_over(tmp_path: Path, ending: str, junk: bytes) -> None:
    path = tmp_path / f"rows.svm.{ending}"
    path.write_bytes(COMPRESS[ending](b"1 1:1\n-1 1:2\n") + junk)
    with pytest.raises(InputError, match=r"rows\.svm\.\w+: the compressed data is damaged|Zstd|zstd"):
        list(read(path))


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_streams_one_after_the_other(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.svm.{ending}"
    parts = [COMPRESS[ending](text) for text in (b"1 1:1\n-1 1", b"", b":2\n", b"1 1:3\n" * 100_000)]
    path.write_bytes(b"".join(parts) + (b"\0" * 8 if ending in ("gz", "xz") else b""))
    labels, values = everything(path)
    assert labels.size == 100_002
    assert values[:3].tolist() == [1, 2, 3]


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_compressed_file_cut_off_anywhere(tmp_path: Path, ending: str) -> None:
    text = b"".join(b"%d %d:1\n" % (k % 2, k) for k in range(1, 30))
    content = COMPRESS[ending](text)
    path = tmp_path / f"rows.svm.{ending}"
    for size in range(6, len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=r"rows\.svm"):
            list(read(path))


class Drip(Dribble):
    """A pipe that delivers byte by byte."""

    def readinto(self, buffer: bytearray) -> int:
        part = self.text.read(1)
        buffer[: len(part)] = part
        return len(part)


def test_compression_is_seen_however_a_pipe_delivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Drip(gzip.compress(b"1 1:1\n-1 1:2\n")))))
    labels, _ = everything("-")
    assert labels.tolist() == [1, -1]
