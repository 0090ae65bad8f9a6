"""Where the verbs write: to plain files through links, text also to pipes, never to their inputs."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pater.stream import load, train

PATER = [sys.executable, "-m", "pater"]
ROWS = "1 1:1\n-1 1:-1 2:1\n1 1:0.5\n-1 2:2\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows in a file, a link and a hard link to it, and two models."""
    (tmp_path / "x.svm").write_text(ROWS)
    (tmp_path / "link").symlink_to("x.svm")
    (tmp_path / "hard").hardlink_to(tmp_path / "x.svm")
    (tmp_path / "y.svm").write_text(ROWS)
    (tmp_path / "x.svm.checkpoint").write_text("")
    for name in ("m", "n"):
        train(tmp_path / "y.svm", model=tmp_path / name, algo="pa")
    monkeypatch.chdir(tmp_path)
    return tmp_path


OVER_INPUTS = {
    "train": ("train", "x.svm", "-m", "x.svm"),
    "train by a link": ("train", "x.svm", "-m", "link"),
    "train by a hard link": ("train", "hard", "-m", "x.svm"),
    "train from a link": ("train", "link", "-m", "x.svm"),
    "train from one of several": ("train", "y.svm", "x.svm", "-m", "x.svm"),
    "train from a glob": ("train", "?.svm", "-m", "x.svm"),
    "checkpoint": ("train", "x.svm", "x.svm.checkpoint", "-m", "x.svm", "--checkpoint-every", "1"),
    "predict": ("predict", "m", "x.svm", "-o", "x.svm"),
    "predict over the model": ("predict", "m", "x.svm", "-o", "m"),
    "convert": ("convert", "x.svm", "x.svm", "--output-format", "vw"),
    "convert by a link": ("convert", "x.svm", "link", "--output-format", "vw"),
    "evaluate": ("evaluate", "x.svm", "-m", "m", "--plot", "x.svm"),
    "evaluate over the model": ("evaluate", "x.svm", "-m", "m", "--plot", "m"),
}


@pytest.mark.parametrize("name", OVER_INPUTS)
def test_no_verb_writes_over_what_it_reads(pater: Any, here: Path, name: str) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    code, _, err = pater(*OVER_INPUTS[name])
    assert code == 1
    assert "cannot be written: it is also read, as" in err
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before
    assert (here / "link").is_symlink()


def test_a_model_may_take_the_place_of_the_one_it_goes_on_from(pater: Any, here: Path) -> None:
    assert pater("train", "x.svm", "-i", "m", "-m", "m", "-q")[0] == 0
    assert load(here / "m").rows == 8
    assert pater("merge", "m", "n", "-m", "m")[0] == 0
    assert load(here / "m").rows == 12


TO = {
    "train": ("train", "x.svm", "-q", "-m", "OUT"),
    "merge": ("merge", "m", "n", "-m", "OUT"),
    "predict": ("predict", "m", "x.svm", "-o", "OUT"),
    "predict to Parquet": ("predict", "m", "x.svm", "--output-format", "parquet", "-o", "OUT"),
    "convert": ("convert", "x.svm", "OUT", "--output-format", "vw"),
    "convert to a table": ("convert", "x.svm", "OUT", "--output-format", "csv"),
    "convert to Parquet": ("convert", "x.svm", "OUT", "--output-format", "parquet"),
    "evaluate": ("evaluate", "x.svm", "-m", "m", "--plot", "OUT"),
}


def _to(name: str, output: str) -> list[str]:
    return [output if word == "OUT" else word for word in TO[name]]


@pytest.mark.parametrize("name", TO)
def test_links_are_written_through(pater: Any, here: Path, name: str) -> None:
    (here / "elsewhere").mkdir()
    (here / "out.png").symlink_to("elsewhere/out.png")
    for _ in range(2):  # a dangling link, then one to a file
        assert pater(*_to(name, "out.png"))[0] == 0
        assert (here / "out.png").is_symlink()
        assert (here / "elsewhere" / "out.png").stat().st_size > 0
        assert [path.name for path in (here / "elsewhere").iterdir()] == ["out.png"]


@pytest.mark.parametrize("name", TO)
@pytest.mark.parametrize("kind", ["device", "folder"])
def test_what_is_no_plain_file_stays(pater: Any, here: Path, name: str, kind: str) -> None:
    if kind == "folder":
        (here / "out.png").mkdir()
    else:
        try:
            os.mknod(here / "out.png", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only the superuser makes devices")
    before = sorted(here.iterdir()), os.lstat(here / "out.png").st_mode
    code, _, err = pater(*_to(name, "out.png"))
    assert code in (1, 2)
    assert "irectory" in err if kind == "folder" else "cannot be written: it is not a plain file" in err
    assert err.count("\n") == 1
    assert (sorted(here.iterdir()), os.lstat(here / "out.png").st_mode) == before


@pytest.mark.parametrize("name", ["predict", "convert", "convert to a table"])
def test_text_goes_into_a_pipe(pater: Any, here: Path, name: str) -> None:
    assert pater(*_to(name, "plain"))[0] == 0
    os.mkfifo(here / "pipe")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((here / "pipe").read_bytes()), daemon=True)
    reader.start()
    assert pater(*_to(name, "pipe"))[0] == 0
    reader.join(30)
    assert found == [(here / "plain").read_bytes()]
    assert stat.S_ISFIFO(os.lstat(here / "pipe").st_mode)


@pytest.mark.parametrize("name", ["train", "merge", "predict to Parquet", "convert to Parquet", "evaluate"])
def test_what_is_no_text_goes_into_no_pipe(pater: Any, here: Path, name: str) -> None:
    os.mkfifo(here / "out.png")
    code, _, err = pater(*_to(name, "out.png"))
    assert code == 1
    assert err.count("\n") == 1
    assert stat.S_ISFIFO(os.lstat(here / "out.png").st_mode)


@pytest.mark.slow
def test_predictions_to_standard_output_by_name(here: Path) -> None:
    """By a link like /dev/stdout, which a failure of this test could otherwise replace for everybody."""
    (here / "stdout").symlink_to("/proc/self/fd/1")
    command = [*PATER, *_to("predict", "stdout")]
    piped = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
    assert piped.startswith(b"label\n")
    (here / "log").write_bytes(b"before\n")
    with (here / "log").open("ab") as file:
        subprocess.run(command, stdout=file, check=True, timeout=120)
    assert (here / "log").read_bytes() == b"before\n" + piped


@pytest.mark.slow
def test_what_is_read_is_not_appended_to(here: Path) -> None:
    with (here / "x.svm").open("ab") as file:
        done = subprocess.run([*PATER, "predict", "m", "x.svm"], stdout=file, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 1
    assert b"standard output: cannot be written: it is also read, as x.svm" in done.stderr
    assert (here / "x.svm").read_text() == ROWS


def test_margins_that_are_no_numbers(pater: Any, here: Path) -> None:
    learner = load(here / "m")
    assert learner.model is not None
    learner.model.state.vectors[:] = 1e200
    learner.save(here / "large")
    (here / "z.svm").write_text("1 1:1\n1 1:1e200\n1 1:2\n")
    arguments = ("predict", "large", "z.svm", "--margins", "--output-format", "jsonl")
    code, out, err = pater(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("pater: z.svm, line 2: ")
    code, out, err = pater(*arguments, "--on-error", "skip")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows[1] == {"label": None, "margin": None}
    assert len(rows) == 3
    assert "z.svm, line 2" in err
    code, _, err = pater("evaluate", "z.svm", "-m", "large")
    assert code == 1
    assert err.startswith("pater: z.svm, line 2: ")


@pytest.mark.slow
def test_a_second_run_says_so_and_stops(here: Path) -> None:
    """A lock whose holder was killed is no obstacle, and a run that resumes leaves nothing of it."""
    command = [*PATER, "train", "-", "-a", "pa", "-q", "--checkpoint-every", "1", "-m", "new"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as first:
        assert first.stdin is not None
        deadline = time.monotonic() + 60
        while not (here / "new.lock").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        for more in ([], ["--resume"]):
            done = subprocess.run(
                [*PATER, "train", "x.svm", "-a", "pa", "-m", "new", *more], capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 1
            assert done.stderr == (
                "pater: new: cannot be written: another run is at work on it and holds new.lock; wait for it to end.\n"
            )
        first.send_signal(signal.SIGKILL)
    assert (here / "new.lock").exists()
    subprocess.run([*PATER, "train", "x.svm", "-a", "pa", "-q", "-m", "new"], check=True, timeout=120)
    assert load(here / "new").rows == 4
    assert not (here / "new.lock").exists()
