"""Where files are written: through links, never over inputs or special files, and by one process at a time."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pater.files import writing as places
from pater.files.in_bytes import to_bytes
from pater.files.writing import alone, check, remove_left_overs, replacing, writing


def write(path: Path, text: bytes = b"new", inputs: Any = ()) -> None:
    with replacing(path, inputs) as file:
        file.write(text)


def test_a_new_file_and_an_old_one(tmp_path: Path) -> None:
    for text in (b"one", b"two"):
        write(tmp_path / "a", text)
        assert (tmp_path / "a").read_bytes() == text
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_only_what_lasts_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    assert to_bytes(write) == b"new"
    assert synced == []
    write(tmp_path / "a")
    assert len(synced) == 2  # the file, and the folder for its name


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "a", b"old")

    def writes_and_fails() -> None:
        with replacing(tmp_path / "a") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    def refuse(path: Path) -> None:
        assert path.read_bytes() == b"new"
        raise ValueError("no")

    with pytest.raises(KeyboardInterrupt):
        writes_and_fails()
    with pytest.raises(ValueError, match="no"), replacing(tmp_path / "a", check=refuse) as file:
        file.write(b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("links", [1, 2])
def test_links_are_written_through(tmp_path: Path, there: bool, links: int) -> None:
    target = tmp_path / "elsewhere" / "a"
    target.parent.mkdir()
    if there:
        target.write_bytes(b"old")
    (tmp_path / "0").symlink_to(Path("elsewhere", "a"))
    if links == 2:
        (tmp_path / "1").symlink_to("0")
    check(tmp_path / str(links - 1))
    write(tmp_path / str(links - 1))
    assert (tmp_path / "0").is_symlink()
    assert (tmp_path / str(links - 1)).is_symlink()
    assert target.read_bytes() == b"new"
    assert [path.name for path in target.parent.iterdir()] == ["a"]


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a")


@contextlib.contextmanager
def special(kind: str, path: Path) -> Iterator[None]:
    """Something other than a plain file."""
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only the superuser makes devices")
    else:
        with socket.socket(socket.AF_UNIX) as there, contextlib.chdir(path.parent):
            there.bind(path.name)
            yield
        return
    yield


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "socket"])
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, kind: str, linked: bool) -> None:
    with special(kind, tmp_path / "a"):
        (tmp_path / "link").symlink_to("a")
        before = os.lstat(tmp_path / "a")
        for call in (check, write):
            with pytest.raises(OSError, match="irectory" if kind == "folder" else "not a plain file"):
                call(tmp_path / ("link" if linked else "a"))
        assert os.path.samestat(before, os.lstat(tmp_path / "a"))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "link"]


@pytest.mark.parametrize("other", ["itself", "link", "hard link", "the link's target"])
def test_what_is_read_is_not_written_over(tmp_path: Path, other: str) -> None:
    (tmp_path / "a").write_bytes(b"rows")
    output = tmp_path / "a"
    names = [tmp_path / "none", tmp_path / "a"]
    if other == "link":
        output = tmp_path / "b"
        output.symlink_to("a")
    elif other == "hard link":
        output = tmp_path / "b"
        output.hardlink_to(tmp_path / "a")
    elif other == "the link's target":
        names = [tmp_path / "b"]
        names[0].symlink_to("a")
    for call in (check, lambda path, inputs: write(path, inputs=inputs)):
        with pytest.raises(OSError, match="is also read, as"):
            call(output, names)
    assert (tmp_path / "a").read_bytes() == b"rows"


def test_what_is_read_from_standard_input_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"rows")
    code = f"from pater.files.writing import check; check({str(tmp_path / 'a')!r}, ['-'])"
    with (tmp_path / "a").open() as file:
        done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True)
    assert "it is also read, as standard input" in done.stderr


def test_text_goes_into_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with writing(tmp_path / "link") as file:
        file.write(b"text")
    reader.join(10)
    assert found == [b"text"]
    assert stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)


TO_STANDARD_OUTPUT = """
import sys
from pater.files.writing import writing
with writing(sys.argv[1]) as file:
    file.write(b"text")
"""


@pytest.mark.parametrize("to", ["pipe", "file"])
def test_text_goes_to_standard_output_by_its_name(tmp_path: Path, to: str) -> None:
    """If standard output is appended to a file, that file is not replaced.

    The name is a link like /dev/stdout, which a failure of this test could otherwise replace for everybody.
    """
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    command = [sys.executable, "-c", TO_STANDARD_OUTPUT, str(tmp_path / "stdout")]
    if to == "pipe":
        assert subprocess.run(command, capture_output=True, check=True).stdout == b"text"
        return
    (tmp_path / "a").write_bytes(b"before, ")
    with (tmp_path / "a").open("ab") as file:
        subprocess.run(command, stdout=file, check=True)
    assert (tmp_path / "a").read_bytes() == b"before, text"


def test_devices_take_no_text(tmp_path: Path) -> None:
    with special("device", tmp_path / "a"), pytest.raises(OSError, match="not a plain file"), writing(tmp_path / "a"):
        pass
    assert stat.S_ISCHR(os.lstat(tmp_path / "a").st_mode)


def test_only_what_the_dead_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "a.123.part").touch()
    (tmp_path / "a.77-0123abcd.part").touch()
    (tmp_path / "a.b.123.part").touch()
    with replacing(tmp_path / "a") as file:
        remove_left_overs(tmp_path / "a")
        check(tmp_path / "a")
        file.write(b"new")
        assert len(list(tmp_path.glob("a.*.part"))) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.b.123.part"]


def test_text_that_was_cut_off_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "a.123.part").touch()
    with writing(tmp_path / "a") as file:
        file.write(b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


HOLD = """
import sys, time
from pater.files.writing import alone
with alone(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_at_a_time(tmp_path: Path) -> None:
    """Also through a link; and a lock whose holder was killed does not count."""
    (tmp_path / "link").symlink_to("a")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "a")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for name in ("a", "link"):
            with (
                pytest.raises(OSError, match=r"another run is at work on it and holds a\.lock"),
                alone(tmp_path / name),
            ):
                pass
        with alone(tmp_path / "b"):
            pass
        holder.kill()
    assert (tmp_path / "a.lock").exists()
    with alone(tmp_path / "a"), pytest.raises(OSError, match="another run"), alone(tmp_path / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_a_file_of_the_name_of_the_lock_stays(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_bytes(b"something else")
    with alone(tmp_path / "a"):
        pass
    assert (tmp_path / "a.lock").read_bytes() == b"something else"


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EBADF, None])
def test_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None) -> None:
    def none(*_: Any) -> None:
        raise OSError(code, "no locks")

    if code is None:
        monkeypatch.setattr(places, "fcntl", None)
    else:
        monkeypatch.setattr(places.fcntl, "flock", none)
    (tmp_path / "a.123.part").touch()
    check(tmp_path / "a")
    with alone(tmp_path / "a"), alone(tmp_path / "a"):
        write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a.123.part").exists() == (code is not None)  # nobody can tell whether its writer is alive


def test_a_pipe_in_the_place_of_the_lock_is_no_lock(tmp_path: Path) -> None:
    """Opening it would block forever."""
    os.mkfifo(tmp_path / "m.lock")
    with pytest.raises(OSError, match="not a plain file, so it cannot be a lock"), alone(tmp_path / "m"):
        pass
