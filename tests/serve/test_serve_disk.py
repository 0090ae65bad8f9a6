"""Disks that are full, fail or are read-only: nothing is half there, and all goes well again when there is room."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, resource, sys, threading
from pater.serve.log import Log
from pater.serve.records import JSON
from pater.serve.writer import StorageFull, Writer

def fill(state, until_full, make_room):
    "Append until the disk takes no more, make room, and append again; what was told."
    log = Log.open(state)
    came, ready = [], threading.Event()
    def committed(group):
        came.extend(group)
        ready.set()
    writer = Writer(log, committed)
    def append(k):
        ready.clear()
        writer.submit(k, lambda t: (t.append(JSON, b'{"k":%d,"x":"%s"}\\n' % (k, b"x" * 3000), 1).number,
                                    t.remember([(str(k), b"{}", None)])))
        assert ready.wait(30)
        return came[-1][1]
    kept = [k for k in range(50) if not isinstance(append(k), Exception)]
    assert kept == list(range(50))
    until_full()
    told = [append(k) for k in range(50, 700)]
    errors = [each for each in told if isinstance(each, Exception)]
    assert errors, "the disk was never full"
    assert {type(each) for each in errors} == {StorageFull}, errors
    kept += [k for k, each in zip(range(50, 700), told) if not isinstance(each, Exception)]
    assert writer.broken is not None
    before = log.position  # still to be read
    make_room()
    after = [append(k) for k in range(1000, 1100)]
    assert not [each for each in after if isinstance(each, Exception)], after
    assert writer.broken is None
    kept += range(1000, 1100)
    assert writer.stop(30)
    log.close()
    log = Log.open(state)
    found = [json.loads(entry.content)["k"] for entry in log.entries()]
    assert found == kept, (len(found), len(kept))
    assert log.position == len(kept) == log.count("pending") and before == len(kept) - 100
    assert [entry.number for entry in log.entries()] == list(range(1, len(kept) + 1))
    assert not log.damage()
    log.close()
    print("kept", len(kept), "errors", len(errors), errors[0].reason)
"""


def run(script, *words):
    done = subprocess.run([sys.executable, "-c", SCRIPT + script, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_that_may_not_grow(tmp_path):
    """The system refuses to write more than so many bytes into a file."""
    said = run(
        "limit = lambda n: resource.setrlimit(resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY))\n"
        "fill(sys.argv[1], lambda: limit(1_000_000), lambda: limit(resource.RLIM_INFINITY))",
        str(tmp_path / "state"),
    )
    assert "the disk" in said


def with_own_disk(script):
    """Run a script of the shell that may mount, where the system lets anyone do so."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*command, "mount -t tmpfs none /mnt"], capture_output=True).returncode
    ):
        pytest.skip("needs a system that lets users mount in a namespace of their own")
    return subprocess.run([*command, f"set -e\n{script}"], capture_output=True, text=True, timeout=120)


def test_a_full_disk(tmp_path):
    (tmp_path / "script.py").write_text(
        SCRIPT + "big = '/mnt/big'\n"
        "def full():\n"
        "    with open(big, 'wb') as file:\n"
        "        while True:\n"
        "            try: os.write(file.fileno(), bytes(100_000))\n"
        "            except OSError: break\n"
        "fill('/mnt/state', full, lambda: os.unlink(big))\n"
    )
    done = with_own_disk(f"mount -t tmpfs -o size=8m none /mnt\n{sys.executable} {tmp_path / 'script.py'}")
    assert done.returncode == 0, done.stderr
    assert "the disk is full" in done.stdout


def test_a_read_only_disk(tmp_path):
    (tmp_path / "script.py").write_text(
        SCRIPT + "from pater.serve.check import check\n"
        "from pater.serve.folder import StateError\n"
        "mount = lambda how: os.system(f'mount -o remount,{how} /mnt') == 0 or sys.exit('cannot remount')\n"
        "log = Log.open('/mnt/state')\n"
        "log.close()\n"
        "mount('ro')\n"
        "for path in ('/mnt/state', '/mnt/other/state'):\n"
        "    try: Log.open(path)\n"
        "    except StateError as error: print(error)\n"
        "    else: sys.exit('it was opened')\n"
        "assert check('/mnt/state').sound, check('/mnt/state').wrong\n"
        "Log.open_to_read('/mnt/state').close()\n"
    )
    done = with_own_disk(f"mount -t tmpfs -o size=4m none /mnt\n{sys.executable} {tmp_path / 'script.py'}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Read-only file system. Name a directory on a disk that can be written.") == 2
