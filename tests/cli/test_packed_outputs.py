"""Outputs whose names say that they are compressed, and names of what cannot be written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

TEXT = "a,b,fraud\n1,x,0\n2,y,1\n"


def _of_zstd(data: bytes) -> bytes:
    return bytes(zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read())


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "GZ": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": _of_zstd,
}


@pytest.fixture
def pater(
    pater: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TEXT)
    return pater


@pytest.mark.parametrize("ending", UNPACK)
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "svm", "vw"])
def test_a_conversion_is_compressed_as_its_name_says(pater: Any, format: str, ending: str) -> None:
    for name in (f"plain.{format}", f"t.{format}.{ending}"):
        assert pater("convert", "t.csv", name, "-l", "fraud")[::2] == (0, "")
    packed = Path(f"t.{format}.{ending}").read_bytes()
    assert UNPACK[ending](packed) == Path(f"plain.{format}").read_bytes()
    assert pater("convert", f"t.{format}.{ending}", "again.jsonl")[0] == 0
    assert len(list(Path().iterdir())) == 4  # nothing half-written


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_from_a_table_with_types(pater: Any, ending: str) -> None:
    assert pater("convert", "t.csv", "t.parquet")[0] == 0
    assert pater("convert", "t.parquet", f"back.csv.{ending}")[0] == 0
    assert UNPACK[ending](Path(f"back.csv.{ending}").read_bytes()) == b'"a","b","fraud"\n1,"x",0\n2,"y",1\n'


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_predictions_are_compressed_as_their_name_says(pater: Any, ending: str) -> None:
    assert pater("train", "t.csv", "-l", "fraud", "-m", "m.pater")[0] == 0
    for format in ("csv", "jsonl"):
        for name in (f"plain.{format}", f"p.{format}.{ending}"):
            assert pater("predict", "m.pater", "t.csv", "-o", name)[::2] == (0, "")
        packed = Path(f"p.{format}.{ending}").read_bytes()
        assert UNPACK[ending](packed) == Path(f"plain.{format}").read_bytes()


def test_after_an_error_the_old_file_is_there(pater: Any) -> None:
    Path("old.csv.gz").write_bytes(b"old")
    Path("bad.csv").write_text(TEXT + "1\n")
    assert pater("convert", "bad.csv", "old.csv.gz")[0] == 1
    assert Path("old.csv.gz").read_bytes() == b"old"
    assert len(list(Path().iterdir())) == 3


def test_without_the_package_for_zstd(pater: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    code, _, err = pater("convert", "t.csv", "out.csv.zst")
    assert (code, err) == (
        1,
        "pater: out.csv.zst: install the package zstandard to write it, or name a file that ends in .gz.\n",
    )
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("out.zip", "a zip archive cannot be written"),
        ("out.csv.zip", "a zip archive cannot be written"),
        ("out.xlsx", "an Excel workbook cannot be written"),
        ("out.parquet.gz", "parquet is compressed inside; name it out.parquet."),
    ],
)
def test_what_is_not_written(pater: Any, name: str, what: str) -> None:
    assert pater("train", "t.csv", "-l", "fraud", "-m", "m.pater")[0] == 0
    for verb in (["convert", "t.csv", name, "-l", "fraud"], ["predict", "m.pater", "t.csv", "-o", name]):
        code, _, err = pater(*verb)
        assert (code, what in err, Path(name).exists()) == (1, True, False)


@pytest.mark.parametrize("name", ["out.data", "out.data.gz"])
def test_a_name_that_says_no_format(pater: Any, name: str) -> None:
    code, _, err = pater("convert", "t.csv", name, "-l", "fraud")
    assert (code, "say with --output-format what to write: libsvm, vw, csv" in err) == (2, True)
    assert pater("convert", "t.csv", name, "-l", "fraud", "--output-format", "libsvm")[0] == 0


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_a_name_without_an_ending_means_libsvm(pater: Any, name: str) -> None:
    assert pater("convert", "t.csv", name, "-l", "fraud")[0] == 0
    assert pater("convert", "t.csv", "same.svm", "-l", "fraud")[0] == 0
    written = Path(name).read_bytes()
    assert (gzip.decompress(written) if name.endswith(".gz") else written) == Path("same.svm").read_bytes()
