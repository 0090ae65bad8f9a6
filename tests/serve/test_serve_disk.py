"""Disks that are full, fail or are read-only: nothing is half written, and all is well again once there is room."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import WAIT

SCRIPT = """
import json, os, resource, sys, threading
from pater.serve.store.log import Log
from pater.serve.rows.kinds import JSON
from pater.serve.store.writer import StorageFull, Writer, write_now

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
        assert ready.wait(180)
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
    done = subprocess.run([sys.executable, "-c", SCRIPT + script, *words], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_that_may_not_grow(tmp_path):
    """The system refuses to write more than a number of bytes to a file."""
    said = run(
        "limit = lambda n: resource.setrlimit(resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY))\n"
        "fill(sys.argv[1], lambda: limit(1_000_000), lambda: limit(resource.RLIM_INFINITY))",
        str(tmp_path / "state"),
    )
    assert "the disk" in said


def with_own_disk(script):
    """Run a shell script that may mount, where the system lets anyone do so."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*command, "mount -t tmpfs none /mnt"], capture_output=True).returncode
    ):
        pytest.skip("needs a system that lets users mount in a namespace of their own")
    return subprocess.run([*command, f"set -e\n{script}"], capture_output=True, text=True, timeout=WAIT)


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


@pytest.mark.slow
def test_a_read_only_disk(tmp_path):
    (tmp_path / "script.py").write_text(
        SCRIPT + "from pater.serve.store.check import check\n"
        "from pater.serve.store.folder import StateError\n"
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
        "mount('rw')\n"
        "if not os.fork():\n"  # a server that is killed, which leaves a part of the log beside it
        "    log = Log.open('/mnt/state')\n"
        "    write_now(log, lambda t: t.append(JSON, b'{}\\n', 1))\n"
        "    os.kill(os.getpid(), 9)\n"
        "os.wait()\n"
        "mount('ro')\n"
        "assert Log.open_to_read('/mnt/state').position == 1\n"
    )
    done = with_own_disk(f"mount -t tmpfs -o size=4m none /mnt\n{sys.executable} {tmp_path / 'script.py'}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Read-only file system. Name a directory on a disk that can be written.") == 2


SERVICE = """
import json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from process import running

def fill():
    with open("/mnt/big", "wb") as file:
        for size in (1_000_000, 10_000, 100):
            try:
                while True: os.write(file.fileno(), bytes(size))
            except OSError: pass

def rows(k):
    return [{"features": {"a": k + j / 8, "text": "x" * 500}, "label": (k + j) % 2} for j in range(8)]

learned = 0
with running("--state", "/mnt/state", "--algo", "pater-i", "--snapshot-every", "1s") as server:
    def ask(path, body): return server.ask("POST", path, body)
    for full in range(2):
        for k in range(20):
            assert ask("/v1/learn", {"rows": rows(k)})[0] == 200
            learned += 8
        fill()
        found = [ask("/v1/learn", {"rows": rows(k)}) for k in range(400)]
        learned += 8 * sum(status == 200 for status, _ in found)
        told = {status for status, _ in found}
        assert told in ({507}, {200, 507}), told
        assert "the disk is full" in found[-1][1]["error"], found[-1]
        assert ask("/v1/predict", {"rows": [{"features": {"a": 1}}]})[0] == 200
        status, said = ask("/v1/predict", {"rows": [{"id": "x" * 200, "features": {"text": "x" * 5000}}]})
        assert (status, said["predictions"][0]["remembered"]) == (200, False)
        status, model = server.ask("GET", "/v1/model")
        assert status == 200, model
        if full:
            break
        os.unlink("/mnt/big")
    assert server.end() == 0, server.errors
    assert "Traceback" not in "".join(server.errors), server.errors
os.unlink("/mnt/big")
with running("--state", "/mnt/state") as server:
    assert server.ask("GET", "/v1/model")[1] == model
    status, answer = server.ask("POST", "/v1/learn", {"rows": rows(0)})
    assert (status, answer["position"]) == (200, learned + 8), (answer, learned)
print("learned", learned)
"""


@pytest.mark.slow
def test_a_service_on_a_full_disk_predicts_and_learns_again_when_there_is_room(tmp_path):
    (tmp_path / "script.py").write_text(SERVICE)
    here = Path(__file__).parent
    command = f"{sys.executable} {tmp_path / 'script.py'} {here}"
    done = with_own_disk(f"mount -t tmpfs -o size=8m none /mnt\n{command}")
    assert done.returncode == 0, done.stderr
    assert "learned" in done.stdout
