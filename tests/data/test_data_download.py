"""Downloading from a local server, with everything that can go wrong."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pater.data import DATA_SETS, DataError, available, fetch, load
from pater.data.entry import Entry, Published, SourceFile
from pater.data.files import read
from pater.data.table import Table

if TYPE_CHECKING:
    from conftest import Server

BOARDS_PATH = "/ml/machine-learning-databases/tic-tac-toe/tic-tac-toe.data"


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def tiny_entry(*addresses: str, content: bytes = b"1,1\n0,2\n") -> Entry:
    return Entry(
        number=1,
        key="tiny",
        name="Tiny",
        files=(SourceFile("tiny/tiny.data", hashlib.sha256(content).hexdigest(), addresses),),
        format=Table(("class", "a"), label="class", positive="1", negative="0"),
        published=Published(2, 1, 1.0),
        positives=1,
        negatives=1,
        why="Small.",
    )


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Entry], None]:
    """Make an entry the only one in the registry."""

    def replace(entry: Entry) -> None:
        monkeypatch.setattr("pater.data.registry.DATA_SETS", {entry.key: entry})

    return replace


def test_a_file_arrives_and_loads(server: Server, cache: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards)
    assert fetch("tic-tac-toe", cache_dir=cache, base_url=server.url) == cache
    assert files_below(cache) == ["tic-tac-toe/tic-tac-toe.data"]
    assert (cache / "tic-tac-toe" / "tic-tac-toe.data").read_bytes() == boards
    assert load("tic-tac-toe", data_dir=cache).X.shape == (958, 9)


def test_a_good_file_is_not_downloaded_again(server: Server, cache: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards)
    for _ in range(2):
        fetch(["tic-tac-toe"], cache_dir=cache, base_url=server.url)
    assert server.requests == [BOARDS_PATH]


def test_a_damaged_file_is_replaced(server: Server, cache: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards)
    damaged = cache / "tic-tac-toe" / "tic-tac-toe.data"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(boards[:100])
    fetch("tic-tac-toe", cache_dir=cache, base_url=server.url)
    assert damaged.read_bytes() == boards


def test_load_fetches_into_the_user_cache_only_when_asked(
    server: Server, tmp_path: Path, register: Callable[[Entry], None]
) -> None:
    server.serve("/tiny.data", b"1,1\n0,2\n")
    register(tiny_entry(f"{server.url}/tiny.data"))
    with pytest.raises(DataError, match="not at hand"):
        load("tiny")
    assert server.requests == []
    assert load("tiny", fetch=True).X.tolist() == [[1], [2]]
    assert load("tiny").y.tolist() == [1, -1]
    assert files_below(tmp_path / "user-cache") == ["tiny/tiny.data"]


@pytest.mark.parametrize(("suffix", "pack"), [(".bz2", bz2.compress), (".gz", gzip.compress)])
def test_a_compressed_source_is_unpacked_before_it_is_verified(
    server: Server,
    cache: Path,
    register: Callable[[Entry], None],
    suffix: str,
    pack: Callable[[bytes], bytes],
) -> None:
    address = f"/tiny.data{suffix}"
    register(tiny_entry(server.url + address))
    server.serve(address, pack(b"1,1\n0,2\n")[:-9])
    with pytest.raises(DataError, match=f"tiny.*{address} cannot be decompressed"):
        fetch("tiny", cache_dir=cache)
    assert files_below(cache) == []
    server.serve(address, pack(b"1,1\n0,2\n"))
    fetch("tiny", cache_dir=cache)
    assert (cache / "tiny" / "tiny.data").read_bytes() == b"1,1\n0,2\n"


def test_the_next_address_is_asked_when_one_fails(
    server: Server, cache: Path, register: Callable[[Entry], None]
) -> None:
    server.serve("/wrong", b"something else")
    server.serve("/right", b"1,1\n0,2\n")
    register(tiny_entry(*(server.url + path for path in ("/none", "/wrong", "/right"))))
    fetch("tiny", cache_dir=cache)
    assert server.requests == ["/none", "/wrong", "/right"]
    assert files_below(cache) == ["tiny/tiny.data"]


def refuse(cache: Path, base_url: str, complaint: str, timeout: float = 5) -> None:
    """Fetch; expect an error that names file, address and remedy, and an empty cache."""
    with pytest.raises(DataError, match=complaint) as caught:
        fetch("tic-tac-toe", cache_dir=cache, base_url=base_url, timeout=timeout)
    message = str(caught.value)
    assert "tic-tac-toe/tic-tac-toe.data" in message
    assert base_url + BOARDS_PATH in message
    assert "PATER_DATA" in message
    assert files_below(cache) == []


def test_an_address_that_is_gone(server: Server, cache: Path) -> None:
    refuse(cache, server.url, "404")


def test_a_file_with_another_checksum(server: Server, cache: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards + b"\n")
    refuse(cache, server.url, DATA_SETS["tic-tac-toe"].files[0].sha256)


def test_a_cut_connection(server: Server, cache: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards[:5000], claimed_length=len(boards))
    refuse(cache, server.url, "did not deliver")


def test_nobody_listening(cache: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refuse(cache, f"http://127.0.0.1:{unused.getsockname()[1]}", "refused")


def test_a_server_that_hangs(server: Server, cache: Path) -> None:
    done = threading.Event()
    server.hang(BOARDS_PATH, until=done)
    start = time.perf_counter()
    refuse(cache, server.url, "timed out", timeout=0.3)
    assert time.perf_counter() - start < 5
    done.set()


def test_an_address_that_is_none(cache: Path) -> None:
    refuse(cache, "htp://nowhere", "did not deliver")


def test_a_full_disk(server: Server, cache: Path, boards: bytes) -> None:
    resource = pytest.importorskip("resource")
    server.serve(BOARDS_PATH, boards)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(DataError, match=r"tic-tac-toe\.data could not be written"):
            fetch("tic-tac-toe", cache_dir=cache, base_url=server.url)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files_below(cache) == []


def test_a_folder_that_cannot_be_made(server: Server, tmp_path: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="could not be written"):
        fetch("tic-tac-toe", cache_dir=tmp_path / "file", base_url=server.url)


def test_an_interrupted_download_leaves_nothing(server: Server, cache: Path, boards: bytes) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    server.serve(BOARDS_PATH, boards)
    with pytest.raises(KeyboardInterrupt):
        fetch("tic-tac-toe", cache_dir=cache, base_url=server.url, on_progress=interrupt)
    assert files_below(cache) == []


def test_a_failure_keeps_what_was_there_before(server: Server, cache: Path, boards: bytes) -> None:
    server.serve(BOARDS_PATH, boards)
    with pytest.raises(DataError, match="heart"):
        fetch(["tic-tac-toe", "heart"], cache_dir=cache, base_url=server.url)
    assert files_below(cache) == ["tic-tac-toe/tic-tac-toe.data"]


def test_an_unknown_key_is_refused_before_anything_is_asked_for(server: Server, cache: Path) -> None:
    with pytest.raises(DataError, match="heart"):
        fetch(["tic-tac-toe", "hart"], cache_dir=cache, base_url=server.url)
    assert server.requests == []


def test_progress_is_reported_up_to_the_whole(server: Server, cache: Path, boards: bytes) -> None:
    reports: list[tuple[str, int, int]] = []
    server.serve(BOARDS_PATH, boards)
    fetch(
        "tic-tac-toe",
        cache_dir=cache,
        base_url=server.url,
        on_progress=lambda *report: reports.append(report),
    )
    assert reports[-1] == ("tic-tac-toe/tic-tac-toe.data", len(boards), len(boards))
    done = [count for _, count, _ in reports]
    assert done == sorted(done)


def test_without_pooch_only_fetching_fails(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r'pip install "pater\[study\]"'):
        fetch("heart", cache_dir=cache)
    assert load("tic-tac-toe").X.shape == (958, 9)
    assert "wdbc" in available()


def test_two_files_are_put_in_place_only_when_both_are_good(server: Server, cache: Path, data_folder: Path) -> None:
    train, test = read(data_folder, DATA_SETS["spectf"])
    spectf = "/ml/machine-learning-databases/spect/"
    server.serve(f"{spectf}SPECTF.train", train.content)
    with pytest.raises(DataError, match=r"spectf/SPECTF\.test could not be downloaded"):
        fetch("spectf", cache_dir=cache, base_url=server.url)
    assert files_below(cache) == []
    server.serve(f"{spectf}SPECTF.test", test.content)
    fetch("spectf", cache_dir=cache, base_url=server.url)
    assert load("spectf", data_dir=cache).X.shape == (267, 44)
