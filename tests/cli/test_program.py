"""The program among others: streams that are closed, full or broken, signals, and names that a terminal would obey."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from pater.cli import terminal
from pater.cli.terminal import printable
from pater.compiler import decorators, telling
from pater.stream import train

PATER = [sys.executable, "-m", "pater"]
COMMAND = shlex.join(PATER)

pytestmark = [
    pytest.mark.first_quick,  # each case starts the program again
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and at devices of Linux"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text("1 1:1\n-1 2:1\n1 1:2 3:1\n-1 3:-1\n")
    train("rows.svm", algo="pater-i", model=Path("m"))
    return tmp_path


def shell(script: str) -> tuple[int, str, str]:
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


WRITES = ["inspect m", "evaluate rows.svm -m m", "predict m rows.svm"]
SILENT = ["train rows.svm -a pater-i -q -m out", "convert rows.svm out", "predict m rows.svm -o out"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [*WRITES, "inspect m --json", "--help", "data list", "train rows.svm -a pater-i --log-json -m out"]
)
def test_a_standard_output_that_takes_nothing(place: Path, command: str) -> None:
    for where, why in ((">&-", "closed"), (">/dev/full", "No space left on device"), ("| true", "gone away")):
        code, out, err = shell(f"set -o pipefail; (sleep 0.2; exec {COMMAND} {command}) {where}")
        assert (code, out) == (1, "")
        assert err.startswith("pater: standard output")
        assert why in err or (where == ">&-" and "Bad file descriptor" in err)
        assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", SILENT)
def test_who_writes_nothing_needs_no_standard_output(place: Path, command: str) -> None:
    for closed in (">&-", ">/dev/full", ">&- 2>&-", "<&- >&- 2>&-"):
        assert shell(f"{COMMAND} {command} {closed}") == (0, "", "")
        assert Path("out").stat().st_size
        Path("out").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("command", [*WRITES, "train rows.svm -a pater-i -m out"])
def test_an_error_stream_that_takes_nothing(place: Path, command: str) -> None:
    code, expected, _ = shell(f"{COMMAND} {command}")
    assert code == 0
    for where in ("2>&-", "2>/dev/full", "2> >(true)"):
        assert shell(f"{COMMAND} {command} {where}") == (0, expected, "")
    assert Path("out").exists() == command.startswith("train")


@pytest.mark.slow
def test_both_closed(place: Path) -> None:
    assert shell(f"{COMMAND} inspect m >&- 2>&-") == (1, "", "")
    assert shell(f"{COMMAND} inspect none 2>&-") == (1, "", "")
    assert shell(f"{COMMAND} inspect --none 2>&-") == (2, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train - -m out", "predict m -", "evaluate - -m m", "convert - out.vw"])
def test_standard_input_closed(place: Path, command: str) -> None:
    assert shell(f"{COMMAND} {command} <&-") == (1, "", "pater: standard input is closed.\n")
    assert shell(f"{COMMAND} {command} <&- 2>&-") == (1, "", "")


@pytest.mark.slow
def test_an_encoding_that_lacks_letters(place: Path) -> None:
    Path("t.csv").write_text("label,größe\nä,1\nb,2\n", encoding="utf-8")
    assert shell(f"{COMMAND} train t.csv -a pater-i -q -m t") == (0, "", "")
    for verb in ("inspect t", "inspect t --json", "evaluate t.csv -m t"):
        code, out, err = shell(f"PYTHONIOENCODING=ascii {COMMAND} {verb}")
        assert (code, err) == (0, "")
        assert out.isascii()
    assert shell(f"PYTHONIOENCODING=ascii {COMMAND} train --help")[0] == 0


# Signals


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A command that has set up its signal handlers; before that, signals go to the interpreter."""
    process = subprocess.Popen(
        [*PATER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    status = Path(f"/proc/{process.pid}/status")
    while not _caught(status) >> (signal.SIGTERM - 1) & 1:
        assert process.poll() is None
        time.sleep(0.0005)
    return process


def _caught(status: Path) -> int:
    return next(int(line.split()[1], 16) for line in status.read_text().splitlines() if line.startswith("SigCgt"))


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train - -a pater-i -q -m out", "predict m - -o out", "evaluate - -m m"])
def test_ctrl_c_at_any_moment(place: Path, command: str) -> None:
    moments = random.Random(command)
    for _ in range(8):
        process = started(*command.split())
        time.sleep(moments.choice([moments.uniform(0, 0.2), moments.uniform(0, 1.5)]))
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
        assert (code, out) == (130, "")
        assert err in ("pater: interrupted\n", "pater: interrupted; nothing was saved.\n")
    assert {path.name for path in place.iterdir()} == {"rows.svm", "m"}


@pytest.mark.parametrize(("number", "word"), [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")])
def test_a_request_to_end_is_followed_in_order(place: Path, number: int, word: str) -> None:
    for delay in (0, 0.1, 2.5):
        process = started("predict", "m", "-", "-o", "out")
        time.sleep(delay)
        process.send_signal(number)
        assert ended(process) == (128 + number, "", f"pater: {word}\n")
    assert {path.name for path in place.iterdir()} == {"rows.svm", "m"}


@pytest.mark.slow
def test_ctrl_c_again_and_again_is_one_line(place: Path) -> None:
    for delay in (0, 0.3, 1.5):
        process = started("train", "-", "-a", "pater-i", "-m", "out")
        time.sleep(delay)
        for _ in range(20):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            time.sleep(0.001)
        code, _, err = ended(process)
        assert code == 130
        assert err.startswith("pater: interrupted")
        assert err.count("\n") == 1


@pytest.mark.slow
def test_what_the_parent_ignores_stays_ignored(place: Path) -> None:
    process = started("inspect", "m", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 0


# What cannot be printed

EVIL = "a\x1b[31mb\x9bc\u202ed\x07[red]e\x7f"
TAMED = r"a\x1b[31mb\x9bc\u202ed\x07[red]e\x7f"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (EVIL, TAMED),
        ("größe 数 😀 \\x1b", "größe 数 😀 \\x1b"),
        ("a\r\n\tb\u2028", r"a\r\n\tb\u2028"),
        ("\udcff\ud800", r"\xff\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected
    assert printable(expected) == expected


@pytest.fixture
def evil(place: Path) -> Path:
    """A table whose name, columns and labels contain terminal control characters."""
    path = Path(f"{EVIL}.csv")
    path.write_text(f"label,{EVIL},x\n" + f"{EVIL},9,1\nb,-9,1\n" * 2, encoding="utf-8")
    train(path, algo="pater-i", model=Path(f"{EVIL}.m"))
    return path


def on_terminal(*arguments: str, program: list[str] = PATER, **options: Any) -> tuple[int, str]:
    """Everything that a command shows on a terminal to which both of its streams go."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*program, *arguments], stdout=theirs, stderr=theirs, **options) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # as a terminal ends
            while part := os.read(ours, 1 << 16):
                shown += part
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inspect", f"{EVIL}.m"], 0),
        (["evaluate", f"{EVIL}.csv", "-m", f"{EVIL}.m"], 0),
        (["predict", f"{EVIL}.m", f"{EVIL}.csv"], 0),
        (["predict", f"{EVIL}.m", f"{EVIL}.csv", "--output-format", "jsonl"], 0),
        (["convert", f"{EVIL}.csv", "out.svm"], 0),
        (["merge", f"{EVIL}.m", f"{EVIL}.m", "-m", f"{EVIL}.out"], 0),
        (["train", f"{EVIL}.csv", "--label", f"{EVIL}?", "-q", "-m", "out"], 1),
        (["inspect", f"{EVIL}"], 1),
        (["inspect", f"--{EVIL}"], 2),
        ([EVIL], 2),
    ],
)
def test_names_and_labels_on_a_terminal(evil: Path, arguments: list[str], code: int) -> None:
    done, shown = on_terminal(*arguments)
    assert done == code, shown
    assert (r"\u001b[31m" if "jsonl" in arguments else TAMED) in shown
    for line in shown.split("\n"):
        assert line.isprintable(), line


@pytest.mark.slow
def test_data_is_written_as_it_is(evil: Path) -> None:
    done = subprocess.run([*PATER, "predict", f"{EVIL}.m", f"{EVIL}.csv"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert EVIL in done.stdout
    done = subprocess.run([*PATER, "inspect", f"{EVIL}.m"], capture_output=True, text=True, timeout=120)
    assert EVIL not in done.stdout
    assert TAMED in done.stdout


def test_a_bar_is_not_written_by_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with terminal.progress("downloading") as bar:
        bar.step(EVIL, 1, 2)
        (task,) = bar._bars.tasks
        assert task.fields["label"] == TAMED
        label = bar._bars.columns[-1].render(task)
        assert label.plain == TAMED  # text in brackets is text, not a colour


def test_warnings_are_lines(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "showwarning", terminal.say_warning)
    warnings.showwarning(UserWarning(f"something about {EVIL}"), UserWarning, "file.py", 1)
    assert capfd.readouterr().err == f"pater: warning: something about {TAMED}\n"


# Compiling


SAID = "pater: compiling, once, up to half a minute; kept for next time\n"
TWO_FORMS = """
import numpy as np
from pater.kernels.doors import form
for kind in ("u4", "i4"):
    form(np.array([0, 1], kind), np.array([0], kind), np.uint32(0))
"""


@pytest.mark.slow
def test_that_it_compiles_is_said_once_and_on_a_terminal_only(place: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(place / "cache")}
    code, shown = on_terminal("convert", "rows.svm", "out.vw", env=environment)
    assert (code, shown) == (0, SAID)
    code, shown = on_terminal("convert", "rows.svm", "out.vw", env=environment)
    assert (code, shown) == (0, "")
    for path in (place / "cache").rglob("*.nbi"):
        path.unlink()
    done = subprocess.run([*PATER, "convert", "rows.svm", "out.vw"], env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


def test_python_says_so_too(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", TWO_FORMS]
    done = subprocess.run(program, env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert on_terminal(program=program, env=environment) == (0, "")
    for path in tmp_path.rglob("*.nbi"):
        path.unlink()
    assert on_terminal(program=program, env=environment) == (0, SAID)


def test_every_kernel_that_is_compiled_is_told_kept_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_folder(function: Any) -> None:
        raise RuntimeError("nothing can be kept")

    def one_more(x: int) -> int:
        return x + 1

    told: list[None] = []
    monkeypatch.setattr(decorators, "CodeCache", no_folder)
    monkeypatch.setattr(telling, "on_compiling", lambda: told.append(None))
    one_more.__module__ = "pater.made_up"
    kernel = decorators.exact_kernel(one_more)
    assert (kernel(1), len(told)) == (2, 1)
    assert (kernel(2), len(told)) == (3, 1)
    assert (kernel(1.5), len(told)) == (2.5, 2)
