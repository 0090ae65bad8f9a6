"""`pater train` and the other verbs as a user meets them."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import pty
import random
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater.cli.progressive import sentence
from pater.formats.errors import Skipped
from pater.formats.reading import make_input
from pater.stream import load, train
from pater.stream.conversion import convert
from pater.stream.evaluation import judge
from pater.stream.prediction import predict_to

PATER = [sys.executable, "-m", "pater"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes of libsvm text, in several blocks."""
    generator = np.random.default_rng(0)
    columns = np.cumsum(generator.integers(1, 30, (20_000, 14)), axis=1)
    values = generator.standard_normal(columns.shape).round(6)
    labels = np.where(values[:, 0] + values[:, 1] > 1.5, 1, -1)
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    with path.open("w") as file:
        for label, js, xs in zip(labels.tolist(), columns.tolist(), values.tolist(), strict=True):
            file.write(f"{label} {' '.join(f'{j}:{x!r}' for j, x in zip(js, xs, strict=True))}\n")
    return path


def test_plain_lines_when_piped(pater: Any, rows: Path, tmp_path: Path) -> None:
    code, out, err = pater("train", rows, "--algo", "pater-i", "-m", tmp_path / "m")
    assert (code, out) == (0, "")
    assert "\x1b" not in err
    lines = err.splitlines()
    assert lines[0].startswith("1,024 rows, ")
    assert lines[-1].startswith("20,000 rows, ")
    assert "FPR" in lines[-1]


def test_quiet(pater: Any, rows: Path, tmp_path: Path) -> None:
    assert pater("train", rows, "-a", "pa", "-q", "-m", tmp_path / "m") == (0, "", "")


def test_json_lines_at_powers_of_two(pater: Any, rows: Path, tmp_path: Path) -> None:
    code, out, err = pater("train", rows, "-a", "pater-ii", "--log-json", "-m", tmp_path / "m")
    told = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [line["rows"] for line in told] == [*(2**k for k in range(15)), 20_000]
    assert [line["final"] for line in told] == [False] * 15 + [True]
    assert 0.5 < told[-1]["balanced_accuracy"] <= 1
    whole = train(rows, algo="pater-ii")
    assert told[-1]["accuracy"] == pytest.approx(whole.scores()["accuracy"], abs=1e-6)


def test_the_command_is_the_library(pater: Any, rows: Path, tmp_path: Path) -> None:
    pater("train", rows, "--scale", "--class-weight", "1:3", "--log-json", "-m", tmp_path / "a")
    train(rows, scale=True, class_weight={1: 3.0}, model=tmp_path / "b")
    a, b = load(tmp_path / "a"), load(tmp_path / "b")
    assert a.state().weights()[0].tobytes() == b.state().weights()[0].tobytes()


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (["train", "none.svm", "-m", "m"], 1, "none.svm: No such file or directory"),
        (["train", "bad.svm", "-m", "m"], 1, "bad.svm, line 2, column 6: the value is not a number"),
        (["train", "good.svm", "-m", "no/such/folder/m"], 1, "cannot be written"),
        (["train", "good.svm", "-m", "m", "--algo", "svm"], 2, "no algorithm 'svm'"),
        (["evaluate", "good.svm", "--algo", "svm"], 2, "no algorithm 'svm'"),
        (["train", "good.svm", "-m", "m", "--class-weight", "heavy"], 2, "LABEL:WEIGHT"),
        (["train", "good.svm", "-m", "m", "-C", "-1"], 2, "positive"),
        (["train", "good.svm"], 2, "--model"),
        (["train", "-", "-m", "m", "--passes", "2"], 1, "a pipe can be read only once"),
        (["train", "bad.csv", "-m", "m"], 1, "bad.csv: name the label column with --label"),
        (["train", "damaged.svm.gz", "-m", "m"], 1, "damaged.svm.gz: the compressed data is damaged or cut off"),
        (["predict", "good.svm", "good.svm"], 1, "good.svm: it is not a model file"),
        (["inspect", "none"], 1, "none: cannot be read"),
        (["evaluate", "good.svm", "--model", "good.svm"], 1, "not a model file"),
        (["merge", "good.svm", "-m", "m"], 2, "at least two"),
        (["convert", "good.svm", "out.xml", "--output-format", "xml"], 2, "--output-format must be one of"),
    ],
)
def test_errors_are_one_line(
    pater: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.svm").write_text("1 1:1\n-1 2:1\n")
    Path("bad.svm").write_text("1 1:1\n-1 2:x\n")
    Path("bad.csv").write_text("a,b\n1,2\n")
    Path("damaged.svm.gz").write_bytes(b"\x1f\x8b\x08\x00garbage")
    got, out, err = pater(*arguments)
    assert (got, out) == (code, "")
    assert what in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


WRONG = [
    *(f"--algo arow --r {value}" for value in ("-1", "0", "inf", "nan")),
    *(f"--algo {algo} -C {value}" for algo in ("pa-i", "scw-i") for value in ("-1", "inf", "nan")),
    "--algo cw --eta 2",
    "--algo arow --covariance foo",
    "--algo so-pater-i --form foo",
    "--algo alma --alpha 2",
]
IGNORED = [
    ("wpater", "--r 5"),
    ("auto", "--form step"),
    ("auto", "-C 2"),
    ("pa", "--covariance diagonal"),
    ("pa", "-C 1"),
    ("arow", "--eta 0.9"),
    ("cw", "--r 1"),
    ("arow", "--form step"),
    ("so-pater-i", "--alpha 0.5"),
]
LONG = {"-C": "--aggressiveness"}


@pytest.fixture
def few(tmp_path: Path) -> Path:
    (tmp_path / "few.svm").write_text("1 1:1\n-1 2:1\n" * 20)
    return tmp_path / "few.svm"


@pytest.mark.parametrize("options", WRONG)
@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_a_setting_of_a_wrong_value_is_wrong_usage(pater: Any, few: Path, verb: str, options: str) -> None:
    out = ["-m", few.with_name("m")] if verb == "train" else []
    code, _, err = pater(verb, few, *out, *options.split())
    option, value = options.split()[-2:]
    assert code == 2
    assert err.startswith(f"pater: {LONG.get(option, option)} must be ")
    assert err.count("\n") == 1
    assert value.lstrip("-") in err


@pytest.mark.parametrize(("algo", "options"), IGNORED)
@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_a_setting_that_the_rule_does_not_have(pater: Any, few: Path, verb: str, algo: str, options: str) -> None:
    out = ["-m", few.with_name("m")] if verb == "train" else []
    code, _, err = pater(verb, few, *out, "--algo", algo, *options.split())
    option = options.split()[0]
    assert code == 2
    assert err.startswith(f"pater: --algo {algo} has no {LONG.get(option, option)}; ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        "--algo arow",
        "--r 7",
        "-C 2",
        "--alpha 0.5",
        "--class-weight 1:2",
        "--scale",
        "--average",
        "--no-average",
        "--no-intercept",
    ],
)
def test_a_saved_model_keeps_its_settings(pater: Any, few: Path, options: str) -> None:
    m = few.with_name("m")
    assert pater("train", few, "-q", "-a", "pa", "-m", m)[0] == 0
    option = LONG.get(options.split()[0], options.split()[0])
    for command in (["train", few, "-i", m, "-m", few.with_name("n")], ["evaluate", few, "-m", m]):
        code, _, err = pater(*command, *options.split())
        named = "--initial-model" if "-i" in command else "--model"
        assert (code, err) == (
            2,
            f"pater: {option} cannot be combined with {named}: the model keeps its own settings.\n",
        )
        assert pater(*command)[0] == 0


@pytest.mark.parametrize(
    ("options", "average"),
    [
        ("", True),
        ("--average", True),
        ("--no-average", False),
        ("--forgetting 0.99", False),
        ("--forgetting 0.99 --average", True),
    ],
)
def test_an_average_predicts_where_it_is_asked_for_or_the_rule_has_one(
    pater: Any, few: Path, options: str, average: bool
) -> None:
    m = few.with_name("m")
    learner = ["--algo", "so-pater-i", "--covariance", "diagonal", *options.split()]
    assert pater("train", few, "-q", "-m", m, *learner)[0] == 0
    assert json.loads(pater("inspect", m, "--json")[1])["settings"]["average"] is average


SHOWN = {
    "auto": {"covariance": "full", "form": "leader", "r": 30.0},
    "auto --r 5 --covariance diagonal": {"covariance": "diagonal", "form": "leader", "r": 5.0},
    "wpater": {},
    "pa": {},
    "perceptron": {},
    "pa-i -C 0.5": {"C": 0.5},
    "alma --alpha 0.5": {"alpha": 0.5},
    "arow --r 2 --covariance diagonal": {"covariance": "diagonal", "r": 2.0},
    "so-pater-ii --form step": {"covariance": "full", "form": "step", "r": 30.0},
    "cw --eta 0.8": {"covariance": "full", "eta": 0.8},
    "scw-i": {"C": 1.0, "covariance": "full", "eta": 0.9},
}


@pytest.mark.parametrize("algo", SHOWN)
def test_inspect_shows_the_settings_that_the_rule_has(pater: Any, few: Path, algo: str) -> None:
    assert pater("train", few, "-q", "-m", few.with_name("m"), "--algo", *algo.split())[0] == 0
    settings = json.loads(pater("inspect", few.with_name("m"), "--json")[1])["settings"]
    own = ("C", "covariance", "form", "r", "eta", "alpha", "approximation")
    assert {name: value for name, value in settings.items() if name in own} == SHOWN[algo]
    assert pater("evaluate", few, "--algo", *algo.split())[0] == 0


@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_too_wide_for_a_full_covariance(pater: Any, tmp_path: Path, verb: str) -> None:
    (tmp_path / "wide.svm").write_text("1 1:1\n-1 60000:1\n")
    out = ["-m", tmp_path / "m"] if verb == "train" else []
    code, _, err = pater(verb, tmp_path / "wide.svm", *out, "--algo", "arow")
    assert code == 1
    assert err.endswith("GiB; use --covariance diagonal.\n")


def test_what_is_skipped_is_told_even_when_quiet(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\nx 2:1\n-1 2:x\n-1 2:1\n" + "1 1:y\n" * 9)
    code, _, err = pater("train", tmp_path / "a.svm", "-q", "--on-error", "skip", "-m", tmp_path / "m")
    assert code == 0
    assert "11 malformed lines were skipped; the first of them:" in err
    assert f"{tmp_path / 'a.svm'}, line 2, column 1: the label is not a number" in err
    assert err.count("line ") == 5
    assert load(tmp_path / "m").skipped == 11


def test_predict_keeps_order_and_row_count(pater: Any, rows: Path, tmp_path: Path) -> None:
    pater("train", rows, "-q", "-a", "pater-i", "--probabilities", "-m", tmp_path / "m")
    (tmp_path / "new.svm").write_text("1 1:1\nbad line here\n-1 2:1 30:2\n# comment\n1:3\n")
    code, out, err = pater(
        "predict", tmp_path / "m", tmp_path / "new.svm", "--on-error", "skip", "--margins", "--probabilities"
    )
    header, *lines = out.splitlines()
    assert (code, header) == (0, "label,margin,probability_-1,probability_1")
    assert len(lines) == 4
    assert lines[1] == ",,,"
    assert "line 2" in err
    for name in ("p.jsonl", "p.parquet", "p.csv"):
        code, out, _ = pater("predict", tmp_path / "m", rows, "-o", tmp_path / name)
        assert (code, out) == (0, "")
    labels = (tmp_path / "p.csv").read_text().split()[1:]
    assert [json.loads(line)["label"] for line in (tmp_path / "p.jsonl").open()] == list(map(int, labels))
    assert pq.read_table(tmp_path / "p.parquet")["label"].to_pylist() == list(map(int, labels))


def test_inspect(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "age,height,y\n" + "".join(f"{k % 7},{k % 5},{int(k % 7 > 3)}\n" for k in range(200))
    )
    for encoding, names in (("plain", ("age",)), ("table", ("age: ", "age, per deviation"))):
        pater("train", tmp_path / "a.csv", "-q", "-m", tmp_path / "m", "--encoding", encoding)
        code, out, _ = pater("inspect", tmp_path / "m", "--json")
        told = json.loads(out)
        assert code == 0
        assert told["counts"]["rows"] == 200
        assert told["largest_weights"][0]["weights"][0][0].startswith(names)
    code, out, _ = pater("inspect", tmp_path / "m")
    assert "age" in out
    assert "auto" in out


def test_evaluate(pater: Any, rows: Path, tmp_path: Path) -> None:
    pater("train", rows, "-q", "-a", "pater-ii", "-m", tmp_path / "m")
    code, out, _ = pater("evaluate", rows, "--model", tmp_path / "m", "--json", "--plot", tmp_path / "curves.png")
    told = json.loads(out)
    assert code == 0
    assert sum(map(sum, told["confusion"])) == told["rows"] == 20_000
    (one,) = told["of_class"]
    assert one["ter"] == pytest.approx(one["fpr"] + one["fnr"])
    assert (tmp_path / "curves.png").stat().st_size > 1000
    from sklearn.metrics import average_precision_score, roc_auc_score

    from pater.stream import read

    learner = load(tmp_path / "m")
    batches = list(read(rows))
    margins = np.concatenate([learner.margins(batch)[:, 0] for batch in batches])
    truth = np.concatenate([batch.labels for batch in batches if batch.labels is not None])
    assert one["roc_auc"] == pytest.approx(roc_auc_score(truth, margins))
    assert one["average_precision"] == pytest.approx(average_precision_score(truth, margins))


def test_evaluate_progressively(pater: Any, rows: Path) -> None:
    code, out, _ = pater("evaluate", rows, "--algo", "pater-i", "--json")
    told = json.loads(out)
    scores = train(rows, algo="pater-i").scores()
    assert code == 0
    assert told["accuracy"] == pytest.approx(scores["accuracy"])
    assert told["of_class"][0]["ter"] == pytest.approx(scores["ter"])


def test_merge(pater: Any, rows: Path, tmp_path: Path) -> None:
    text = rows.read_bytes()
    cut = text.index(b"\n", len(text) // 2) + 1
    for name, part in (("a", text[:cut]), ("b", text[cut:])):
        (tmp_path / f"{name}.svm").write_bytes(part)
        pater("train", tmp_path / f"{name}.svm", "-q", "-a", "pater-ii", "--scale", "-m", tmp_path / name)
    code, _, err = pater("merge", tmp_path / "a", tmp_path / "b", "-m", tmp_path / "both")
    assert (code, err) == (0, f"20,000 rows in {tmp_path / 'both'}\n")
    both, whole = load(tmp_path / "both"), train(rows, algo="pater-ii", scale=True)
    assert both.scaler is not None
    assert whole.scaler is not None
    width = both.n_features
    np.testing.assert_allclose(both.scaler.mean[:width], whole.scaler.mean[:width], rtol=1e-9, atol=1e-12)
    pater("train", tmp_path / "a.svm", "-q", "-a", "pa", "-m", tmp_path / "c")
    code, _, err = pater("merge", tmp_path / "a", tmp_path / "c", "-m", tmp_path / "both")
    assert code == 1
    assert err == f"pater: {tmp_path / 'c'} has algo='pa' where {tmp_path / 'a'} has algo='pater-ii'.\n"


def test_convert(pater: Any, tmp_path: Path) -> None:
    lines = [f"{k % 2} {1 + k % 3}:{0.1 * k + 0.1!r} 9:{k}" for k in range(50)]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    for a, b in (
        ("a.svm", "b.vw"),
        ("a.svm", "c.csv"),
        ("c.csv", "d.parquet"),
        ("d.parquet", "e.arrow"),
        ("e.arrow", "f.tsv"),
    ):
        assert pater("convert", tmp_path / a, tmp_path / b)[0] == 0
    assert (tmp_path / "b.vw").read_text().splitlines()[1] == "1 | 2:0.2 9:1"
    weights = {}
    for name in ("c.csv", "d.parquet", "e.arrow", "f.tsv"):
        learner = train(tmp_path / name, algo="pater-i", label="label")
        weights[name] = learner.state().weights()[0].tobytes()
    assert len(set(weights.values())) == 1
    (tmp_path / "t.csv").write_text("a,y\n1,yes\n2,no\n")
    _, _, err = pater("convert", tmp_path / "t.csv", tmp_path / "t.svm")
    assert "yes is 0, no is 1" in err
    assert (tmp_path / "t.svm").read_text() == "0 1:1\n1 1:2\n"


@pytest.mark.slow
def test_a_pipe(rows: Path, tmp_path: Path) -> None:
    with rows.open() as file:
        subprocess.run([*PATER, "train", "-", "-q", "-m", str(tmp_path / "a")], stdin=file, check=True, timeout=120)
    subprocess.run([*PATER, "train", str(rows), "-q", "-m", str(tmp_path / "b")], check=True, timeout=120)
    a, b = load(tmp_path / "a"), load(tmp_path / "b")
    assert a.state().weights()[0].tobytes() == b.state().weights()[0].tobytes()


@pytest.mark.slow
def test_a_malformed_line_in_a_pipe_that_stays_open(rows: Path, tmp_path: Path) -> None:
    command = [*PATER, "train", "-", "-a", "pa", "-q", "-m", str(tmp_path / "m")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        with contextlib.suppress(BrokenPipeError):  # it may end before it was given all rows
            process.stdin.write(b"1 2:x\n" + rows.read_bytes())
        assert process.wait(timeout=120) == 1
        told = b"pater: standard input, line 1, column 5: the value is not a number."
        assert process.stderr.read() == told + b" --on-error skip leaves such lines out.\n"


@pytest.mark.slow
def test_a_pipe_that_does_not_wait(rows: Path, tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    command = [*PATER, "train", "-", "-a", "pa", "-q", "-m", str(tmp_path / "m")]
    with subprocess.Popen(command, stdin=ours) as process, open(theirs, "wb") as pipe:
        time.sleep(0.2)
        pipe.write(rows.read_bytes())
        pipe.close()
        assert process.wait(timeout=120) == 0
    os.close(ours)
    assert load(tmp_path / "m").rows == 20_000


@pytest.mark.slow
def test_a_full_standard_output(rows: Path, tmp_path: Path) -> None:
    """Output that the system accepts only when the program ends counts, too, if it cannot be written."""
    train(rows, algo="pa", model=tmp_path / "m")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PATER, "inspect", str(tmp_path / "m")], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("No space left on device\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_no_standard_input(tmp_path: Path) -> None:
    command = f"{shlex.join(PATER)} train - -m {tmp_path / 'm'} <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (1, "pater: standard input is closed.\n")


@pytest.mark.first_quick
@pytest.mark.parametrize("checkpoint", [False, True])
def test_an_interrupt_says_what_is_kept(rows: Path, tmp_path: Path, checkpoint: bool) -> None:
    command = [*PATER, "train", "-", "-a", "pa", "-q", "--checkpoint-every", "1", "-m", str(tmp_path / "m")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(rows.read_text() if checkpoint else "1 1:1\n")
        process.stdin.flush()
        begun = tmp_path / ("m.checkpoint" if checkpoint else "m.lock")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not begun.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        kept = "the last checkpoint is kept; --resume continues from it." if checkpoint else "nothing was saved."
        assert process.stderr.read() == f"pater: interrupted; {kept}\n"


def test_what_killed_writes_left_behind_is_cleared_away(pater: Any, rows: Path, tmp_path: Path) -> None:
    ours = [tmp_path / "m.123.part", tmp_path / "m.checkpoint.45.part"]
    others = [tmp_path / "m.new.123.part", tmp_path / "am.123.part", tmp_path / "m.part"]
    for path in (*ours, *others):
        path.touch()
    assert pater("train", rows, "-q", "-a", "pa", "--resume", "-m", tmp_path / "m")[0] == 0
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "m", *others])


TOLD = {
    "rows": 1_234_567,
    "rows_per_second": 154_321,
    "accuracy": 0.91234,
    "balanced_accuracy": 0.81234,
    "fpr": 0.1,
    "fnr": 0.2,
}


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (100, "1,234,567 rows, 154,321/s, accuracy 0.9123, balanced 0.8123, FPR 0.1000, FNR 0.2000"),
        (80, "1,234,567 rows, 154,321/s, balanced 0.8123, FPR 0.1000, FNR 0.2000"),
        (50, "1,234,567 rows, 154,321/s, balanced 0.8123"),
        (40, "1,234,567 rows, balanced 0.8123"),
        (27, "1,234,567 rows, bal. 0.812"),
        (20, "1,234,567 rows"),
        (3, "1,234,567 rows"),
    ],
)
def test_a_narrow_terminal_shows_what_it_has_room_for(width: int, text: str) -> None:
    assert sentence(TOLD, width) == text


@pytest.mark.first_quick
@pytest.mark.parametrize("columns", [30, 40, 60, 100, 200])
@pytest.mark.parametrize("piped", [False, True])
def test_the_bar_on_a_terminal(rows: Path, tmp_path: Path, columns: int, piped: bool) -> None:
    """No line is wider than the terminal, a pipe has no percentage, and at the end the bar is gone."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    many = tmp_path / "rows.svm"
    many.write_bytes(rows.read_bytes() * 4)
    command = [*PATER, "train", "-" if piped else str(many), "-a", "pater-i", "-m", str(tmp_path / "m")]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment["TERM"] = "xterm-256color"
    with many.open() as file, subprocess.Popen(command, stdin=file, stderr=slave, env=environment) as process:
        os.close(slave)
        output = b""
        with contextlib.suppress(OSError):  # as a terminal ends
            while part := os.read(master, 1 << 16):
                output += part
        assert process.wait(timeout=120) == 0
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode())
    *shown, last = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
    assert last.startswith("80,000 rows, ")
    assert shown[0].endswith("starting")
    assert max(map(len, shown)) <= columns
    if any("rows" in line for line in shown):
        assert any("%" in line for line in shown) is not piped
    assert output.rfind(b"\x1b[2K") < output.rfind(b"80,000 rows, ")


@pytest.mark.slow
def test_a_table_from_a_pipe(tmp_path: Path) -> None:
    text = "a,b,y\n" + "".join(f"{k % 7},{k % 5},{int(k % 7 > 3)}\n" for k in range(200))
    command = [*PATER, "train", "-", "--format", "csv", "-q", "-m", str(tmp_path / "m")]
    subprocess.run(command, input=text, text=True, check=True, timeout=120)
    assert load(tmp_path / "m").rows == 200


@pytest.mark.slow
def test_training_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    code = (
        "import sys\nfrom pater.cli import main\n"
        f"try: main(['train', {str(tmp_path / 'a.svm')!r}, '-q', '-m', {str(tmp_path / 'm')!r}])\n"
        "except SystemExit as leave: assert not leave.code\n"
        "assert not {'sklearn', 'matplotlib', 'pandas', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "assert not {'scipy.sparse', 'scipy.linalg'} & set(sys.modules)\n"
        "import scipy.linalg.cython_blas\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("verb", ["train", "predict", "evaluate", "inspect", "merge", "convert"])
def test_every_verb_has_an_example(pater: Any, verb: str) -> None:
    code, out, _ = pater(verb, "--help")
    assert code == 0
    assert "Example" in out
    assert f"  pater {verb} " in out


def _script() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "kills.py"
    spec = importlib.util.spec_from_file_location("kills", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kills"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_fifty_kills(rows: Path, tmp_path: Path) -> None:
    told = Counter[str]()
    (tmp_path / "runs").mkdir()
    data = tmp_path / "rows.svm"
    data.write_bytes(rows.read_bytes() * 2)
    runs = _script().Runs(tmp_path / "runs", data, ["-a", "pater-i"], random.Random(7), told)
    # How many runs get as far as a checkpoint depends on the machine's load, so continue until enough of them did.
    while told["kills"] < 50 or told["with a checkpoint to go on from"] < 10:
        assert told.total() < 500
        runs.kill()
    runs.finish()


@pytest.mark.slow
def test_kills_of_a_pool_behind_an_encoder(tmp_path: Path) -> None:
    told, script, data = Counter[str](), _script(), tmp_path / "table.csv"
    script.make_table(data, 60_000)
    (tmp_path / "runs").mkdir()
    runs = script.Runs(tmp_path / "runs", data, ["--interactions", "a:city"], random.Random(7), told)
    while told["kills"] < 10 or told["with a checkpoint to go on from"] < 3:
        assert told.total() < 100
        runs.kill()
    runs.finish()


def test_an_index_that_would_wrap_round_is_an_error(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:1 9223372040854775808:1\n")
    (tmp_path / "b.svm").write_text("1 1:1\n-1 1:1\n")
    pater("train", tmp_path / "b.svm", "-q", "-a", "pater-i", "-m", tmp_path / "m")
    for verb, *rest in (("train", "-a", "pater-i", "-m", tmp_path / "n"), ("evaluate", "-m", tmp_path / "m")):
        code, _, err = pater(verb, tmp_path / "a.svm", *rest)
        assert (code, "line 2, column 8: the feature index 9223372040854775808 is beyond the limit" in err) == (1, True)
    code, _, err = pater("predict", tmp_path / "m", tmp_path / "a.svm", "--margins")
    assert (code, "line 2, column 8: the feature index 9223372040854775808 is beyond the limit" in err) == (1, True)


def test_an_importance_that_python_refuses_is_refused(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,w,y\n1,1,0\n2,1e160,1\n")
    code, _, err = pater("train", tmp_path / "a.csv", "--weight-column", "w", "-m", tmp_path / "m")
    assert code == 1
    assert err == (
        f"pater: {tmp_path / 'a.csv'}, line 3, column 3: '1e160' is not an importance: "
        "neither 0 nor a number from 1e-20 to 1e+20. --on-error skip leaves such lines out.\n"
    )
    assert not (tmp_path / "m").exists()


def test_columns_of_text_that_begins_as_infinity_does(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("state,kind,label\n" + "normal,info,Nice\nfault,warn,bad\n" * 20)
    code, _, err = pater("train", tmp_path / "a.csv", "--on-error", "skip", "-m", tmp_path / "m")
    assert (code, "skipped" in err) == (0, False)
    assert load(tmp_path / "m").rows == 40


def test_a_name_twice_in_parquet_is_one_line(pater: Any, tmp_path: Path) -> None:
    table = pa.table([[1.0, 2.0], [3.0, 4.0], [0, 1]], names=["a", "a", "y"])
    pq.write_table(table, tmp_path / "a.parquet")
    for verb, *rest in (("train", "-m", tmp_path / "m"), ("evaluate",), ("convert", tmp_path / "a.csv")):
        code, _, err = pater(verb, tmp_path / "a.parquet", *rest)
        assert (code, err) == (1, f"pater: {tmp_path / 'a.parquet'}: it names the column 'a' twice.\n")


@pytest.mark.slow
def test_what_is_skipped_is_counted_not_kept(rows: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\n-1 2:1\n" + "1 x\n" * 300_000)
    learner = train(rows, algo="pater-i")
    settings = {"margins": False, "probabilities": False, "output_format": None, "format": None, "threads": 1}
    skipped = predict_to(learner, [str(bad)], tmp_path / "out.csv", on_error="skip", **settings)
    assert (skipped.count, len(skipped.first)) == (300_000, 5)
    skipped = Skipped()
    judge(learner, make_input(str(bad), on_error="skip").batches(), skipped)
    assert (skipped.count, len(skipped.first)) == (300_000, 5)
    _, skipped = convert(make_input(str(bad), on_error="skip"), tmp_path / "out.svm", "libsvm")
    assert (skipped.count, len(skipped.first)) == (300_000, 5)


def test_rows_that_are_too_large_are_told_by_evaluate(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n1 1:1e200\n" * 3)
    code, out, err = pater("evaluate", tmp_path / "a.svm", "-a", "pater-i", "--on-error", "skip", "--json")
    assert (code, json.loads(out)["skipped"]) == (0, 3)
    assert "line 3: its numbers are too large" in err


def test_a_hundred_classes_are_worth_one_line(pater: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("".join(f"{k % 120} {k % 7 + 1}:1\n" for k in range(360)))
    for verb, *rest in (("train", "-q", "-m", tmp_path / "m"), ("evaluate",)):
        code, _, err = pater(verb, tmp_path / "a.svm", "-a", "pater-i", "--max-classes", 120, *rest)
        assert (code, err.count("\n")) == (0, 1)
        assert err.startswith("pater: warning: there are 120 classes so far.")
