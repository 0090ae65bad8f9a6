"""Folders that cannot be written and disks that are full, on the real system: a clear line, nothing lost."""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pater.stream import load, train

PATER = [sys.executable, "-m", "pater"]
COMMAND = shlex.join(PATER)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks with ever higher features: every checkpoint is larger than the one before it."""
    generator = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    with path.open("w") as file:
        for k in range(24_000):
            columns = np.sort(generator.choice(np.arange(1, 10 + k // 2), 9, replace=False)).tolist()
            values = generator.standard_normal(9).tolist()
            label = 1 if values[0] > 0.5 else -1
            file.write(f"{label} {' '.join(f'{j}:{x!r}' for j, x in zip(columns, values, strict=True))}\n")
    return path


@pytest.fixture(scope="module")
def whole(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "m"
    train(rows, algo="pater-i", model=path)
    return path.read_bytes()


def with_own_disk(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount, where the system lets anyone do so."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*command, "mount -t tmpfs none /mnt"], capture_output=True).returncode
    ):
        pytest.skip("needs a system that lets users mount in a namespace of their own")
    return subprocess.run([*command, f"set -e\n{script}"], capture_output=True, text=True, timeout=120)


def assert_goes_on(checkpoint: Path, rows: Path, whole: bytes, folder: Path, *, piped: bool = False) -> None:
    """The checkpoint is sound, and leads to the model of an uninterrupted run."""
    assert 0 < load(checkpoint).rows < 24_000
    model = folder / "resumed"
    shutil.copy(checkpoint, f"{model}.checkpoint")
    command = [*PATER, "train", "-" if piped else str(rows), "-a", "pater-i", "-q", "--resume", "-m", str(model)]
    with rows.open() as file:
        subprocess.run(command, stdin=file, check=True, timeout=120)
    if not piped:
        assert model.read_bytes() == whole
        return
    (folder / "whole").write_bytes(whole)  # everything is the same except the name of the source
    a, b = (load(path).state().weights()[0] for path in (model, folder / "whole"))
    assert a.tobytes() == b.tobytes()


@pytest.mark.slow
def test_a_full_disk(rows: Path, whole: bytes, tmp_path: Path) -> None:
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    script = f"""
        mount -t tmpfs -o size=500k none {disk}
        {COMMAND} train {rows} -a pater-i -q --checkpoint-every 1 -m {disk}/m && exit 9
        cp {disk}/* {kept}
    """
    done = with_own_disk(script)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"pater: {disk}/m.checkpoint: cannot be written: No space left on device.\n"
    assert [path.name for path in kept.iterdir()] == ["m.checkpoint"]
    assert_goes_on(kept / "m.checkpoint", rows, whole, tmp_path)


@pytest.mark.slow
def test_a_disk_that_turns_read_only(rows: Path, whole: bytes, tmp_path: Path) -> None:
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    script = f"""
        mount -t tmpfs none {disk}
        {{
            head -c 4300000 {rows}
            while [ ! -e {disk}/m.checkpoint ]; do sleep 0.02; done
            while ! mount -o remount,ro {disk} 2> {kept}/remount; do sleep 0.02; done
            tail -c +4300001 {rows}
        }} | {COMMAND} train - -a pater-i -q --checkpoint-every 1 -m {disk}/m && exit 9
        cp {disk}/* {kept}
    """
    done = with_own_disk(script)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"pater: {disk}/m.checkpoint: cannot be written: Read-only file system.\n"
    assert_goes_on(kept / "m.checkpoint", rows, whole, tmp_path, piped=True)


@pytest.mark.slow
def test_a_read_only_folder_is_seen_before_anything_is_learned(rows: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
        mount -t tmpfs none {disk}
        echo old > {disk}/m
        mount -o remount,ro {disk}
        {COMMAND} train {rows} --log-json --resume -m {disk}/m && exit 9
        cat {disk}/m
    """
    done = with_own_disk(script)
    assert (done.returncode, done.stdout) == (0, "old\n")
    assert done.stderr == f"pater: {disk}/m: cannot be written: Read-only file system.\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to the superuser")
def test_a_folder_without_permission(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o555)
    done = subprocess.run(
        [*PATER, "train", str(rows), "-m", str(tmp_path / "disk" / "m")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith("m: cannot be written: Permission denied.\n")


@pytest.mark.slow
def test_a_file_that_may_not_grow(rows: Path, whole: bytes, tmp_path: Path) -> None:
    command = [*PATER, "train", str(rows), "-a", "pater-i", "-q", "--checkpoint-every", "1", "-m", str(tmp_path / "m")]

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, 250_000))

    done = subprocess.run(command, preexec_fn=small_files_only, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"pater: {tmp_path / 'm'}.checkpoint: cannot be written: File too large.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["m.checkpoint"]
    assert_goes_on(tmp_path / "m.checkpoint", rows, whole, tmp_path)


@pytest.mark.first_quick
@pytest.mark.parametrize(
    ("place", "what"),
    [("file/m", "Not a directory"), ("none/m", "No such file or directory"), ("folder", "is a directory")],
)
def test_places_where_no_file_can_be(rows: Path, tmp_path: Path, place: str, what: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "folder").mkdir()
    done = subprocess.run(
        [*PATER, "train", str(rows), "-q", "-m", str(tmp_path / place)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert what in done.stderr
