"""The .Z decoder, against an encoder written from the format's description, and against gzip."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pater.data.lzw import CLEAR, MAGIC, decompress


def compress(content: bytes, widest: int = 16, clear_after: int | None = None) -> bytes:
    """Pack content; clear the table after ``clear_after`` codes."""
    packed, block_bits, width = "", 0, 9
    table = {bytes([i]): i for i in range(256)}
    entries, codes = CLEAR + 1, 0

    def emit(code: int, cleared: bool = False) -> None:
        nonlocal packed, block_bits, width
        packed = f"{code:0{width}b}" + packed
        block_bits += width
        if cleared or (entries >= 1 << width and width < widest):
            padding = -block_bits % (8 * width)
            packed, block_bits = "0" * padding + packed, 0
            width = 9 if cleared else width + 1

    text = b""
    for symbol in content:
        longer = text + bytes([symbol])
        if longer in table:
            text = longer
            continue
        emit(table[text])
        codes += 1
        if entries < 1 << widest:
            table[longer] = entries
            entries += 1
        if codes == clear_after:
            table = {bytes([i]): i for i in range(256)}
            entries = CLEAR + 1
            emit(CLEAR, cleared=True)
        text = bytes([symbol])
    if text:
        emit(table[text])
    body = int(packed or "0", 2).to_bytes(-(-len(packed) // 8), "little")
    return MAGIC + bytes([0x80 | widest]) + body


TEXTS = st.binary(max_size=2000) | st.text("ab,1\n", max_size=3000).map(str.encode)


@given(content=TEXTS, widest=st.integers(9, 16), clear_after=st.none() | st.integers(1, 400))
def test_what_was_packed_comes_back(content: bytes, widest: int, clear_after: int | None) -> None:
    assert decompress(compress(content, widest, clear_after)) == content


@pytest.mark.skipif(shutil.which("gzip") is None, reason="needs gzip, which also reads .Z")
@pytest.mark.parametrize("clear_after", [None, 300, 700])
def test_gzip_reads_the_same(clear_after: int | None) -> None:
    content = b"".join(b"%d,%d\n" % (i * i % 97, i) for i in range(3000))
    packed = compress(content, 12, clear_after)
    by_gzip = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout
    assert by_gzip == content == decompress(packed)


@pytest.mark.parametrize("data", [b"", b"\x1f\x9d", b"\x1f\x8b\x08", MAGIC + b"\x90\xff\xff\xff"])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\(\.Z\)"):
        decompress(data)
