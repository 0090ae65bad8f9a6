"""`pater train --workers` and `--scheduler` on real processes: the same bytes whatever happens to them."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pater as pater_package
from pater.cli import processes
from pater.cli.cluster import Cluster, _do
from pater.cli.errors import WorkersError
from pater.cli.processes import Processes
from pater.files.container import lock_place
from pater.stream import load
from pater.stream.sharded_training import folder_of

PATER = [sys.executable, "-m", "pater"]
HERE = os.environ | {"PYTHONPATH": str(Path(pater_package.__file__).parents[1])}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes of libsvm text."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60_000, 6)).round(3)
    y = (X @ [1, 2, -1, 0, 0.5, 0] + generator.normal(size=len(X)) > 2).astype(int)
    path = tmp_path_factory.mktemp("workers") / "rows.svm"
    lines = (f"{label} " + " ".join(f"{j}:{x}" for j, x in enumerate(row, 1)) for label, row in zip(y, X, strict=True))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table in four files, as a glob."""
    folder = tmp_path_factory.mktemp("parts")
    generator = np.random.default_rng(1)
    for k in range(4):
        X = generator.normal(size=(1500, 3))
        y = X @ [1, 2, -1] + generator.normal(size=len(X)) > 1
        country = generator.choice(["fr", "de", f"only {k}"], len(X))
        table = pa.table({"label": y.astype(int), "country": country, **{f"x{j}": X[:, j] for j in range(3)}})
        pq.write_table(table, folder / f"part-{k}.parquet")
    return str(folder / "part-*.parquet")


def start(*arguments: object, by: Sequence[str] = ()) -> subprocess.Popen[str]:
    command = [*by, *PATER, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=HERE, start_new_session=True)


def wait_for(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError("it did not come to that")


def done_in(model: Path) -> int:
    return len(list(folder_of(model).glob("0*.json")))


def workers_of(pid: int) -> list[int]:
    """The processes that learn: forks of the command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):
            _, _, rest = path.read_text().rpartition(")")
            if int(rest.split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


@pytest.fixture(scope="module")
def alone(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of the model that one worker makes from these rows."""
    model = tmp_path_factory.mktemp("alone") / "one.pater"
    subprocess.run([*PATER, *map(str, command(rows, model, 1))], check=True, timeout=120, env=HERE)
    return model.read_bytes()


def command(rows: Path, model: Path, workers: int, *more: object) -> list[object]:
    return ["train", rows, "--workers", workers, "--shard-size", "100K", "--algo", "so-pater-i", "-m", model, *more]


@pytest.mark.first_quick
@pytest.mark.parametrize("workers", [2, 4])
def test_any_number_of_workers_makes_the_same_bytes(
    workers: int, rows: Path, alone: bytes, tmp_path: Path, pater: Run
) -> None:
    model = tmp_path / f"{workers}.pater"
    code, out, err = pater(*command(rows, model, workers))
    assert (code, out) == (0, "")
    assert re.fullmatch(r"60,000 rows, [0-9,]+/s, accuracy 0.*, of \d+ shards\n", err)
    assert model.read_bytes() == alone
    assert not folder_of(model).exists()


@pytest.mark.slow
def test_a_table_of_several_files(parts: str, tmp_path: Path, pater: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pater.models.shards.BEGINNING", 1000)  # of a small table
    said = []
    for workers in (1, 2):
        code, out, err = pater("train", parts, "--workers", workers, "--log-json", "-m", tmp_path / f"{workers}.pater")
        assert (code, err) == (0, "")
        said.append(json.loads(out))
    assert (said[0]["rows"], said[0]["shards"], said[0]["final"]) == (6000, 4, True)
    assert (tmp_path / "1.pater").read_bytes() == (tmp_path / "2.pater").read_bytes()
    learner = load(tmp_path / "1.pater")
    assert learner.encoder is not None
    assert {f"country=only {k}" for k in range(4)} <= set(learner.encoder.names())


@pytest.mark.slow
def test_a_killed_run_goes_on(rows: Path, alone: bytes, tmp_path: Path) -> None:
    model = tmp_path / "a.pater"
    with start(*command(rows, model, 2)) as process:
        wait_for(lambda: done_in(model) >= 2 or process.poll() is not None)
        workers = workers_of(process.pid)
        process.kill()
    assert not model.exists()
    kept = done_in(model)
    assert kept >= 2
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    with start(*command(rows, model, 1, "--resume", "--log-json")) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["rows"] == 60_000
    assert model.read_bytes() == alone
    assert not folder_of(model).exists()


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1])
def test_workers_hold_nothing_of_the_command_or_of_each_other(which: int, rows: Path, tmp_path: Path) -> None:
    """Though they are forks: a suspended one keeps neither the other alive nor the model's place locked."""
    model = tmp_path / "a.pater"
    with start(*command(rows, model, 2)) as process:
        wait_for(lambda: done_in(model) >= 1 or process.poll() is not None)
        workers = sorted(workers_of(process.pid))
        still, other = workers[which], workers[1 - which]
        os.kill(still, signal.SIGSTOP)
        process.kill()
        process.wait()
        try:
            wait_for(lambda: not Path(f"/proc/{other}").exists())
            with lock_place(model):
                assert Path(f"/proc/{still}").exists()
        finally:
            os.kill(still, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_is_replaced(rows: Path, alone: bytes, tmp_path: Path) -> None:
    model = tmp_path / "a.pater"
    with start(*command(rows, model, 2)) as process:
        wait_for(lambda: done_in(model) >= 1 or process.poll() is not None)
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert err.count("\n") == 1
    assert model.read_bytes() == alone


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(rows: Path, alone: bytes, tmp_path: Path, pater: Run) -> None:
    model = tmp_path / "a.pater"
    with start(*command(rows, model, 2)) as process:
        wait_for(lambda: done_in(model) >= 1 or process.poll() is not None)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(r"pater: interrupted; \d+ shards? (is|are) kept; --resume continues from there\.\n", err)
    code, _, _ = pater(*command(rows, model, 1, "--resume"))
    assert code == 0
    assert model.read_bytes() == alone


@pytest.mark.slow
def test_workers_ignore_what_the_command_is_told_to_ignore(rows: Path, alone: bytes, tmp_path: Path) -> None:
    model = tmp_path / "a.pater"
    with start(*command(rows, model, 2), by=["nohup"]) as process:
        wait_for(lambda: done_in(model) >= 1 or process.poll() is not None)
        workers = sorted(workers_of(process.pid))
        os.killpg(process.pid, signal.SIGHUP)
        done = done_in(model)
        wait_for(lambda: done_in(model) > done or process.poll() is not None)
        assert process.poll() is not None or sorted(workers_of(process.pid)) == workers
        process.communicate(timeout=120)
    assert process.returncode == 0
    assert model.read_bytes() == alone


@pytest.mark.slow
def test_workers_that_die_again_and_again(rows: Path, tmp_path: Path, pater: Run) -> None:
    model = tmp_path / "a.pater"
    small = ("--shard-size", "40K")  # so many shards that the run is not over before the first kill
    with start(*command(rows, model, 1, *small)) as process:
        wait_for(lambda: done_in(model) >= 1 or process.poll() is not None)
        while process.poll() is None:
            for worker in workers_of(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            time.sleep(0.002)  # a shard is learned in some hundredths of a second
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.count("\n") == 1
    assert re.search(r"kept; --resume continues from there\.\n$", err)
    code, _, _ = pater(*command(rows, model, 2, *small, "--resume"))
    assert code == 0
    assert load(model).rows == 60_000


class NoMore:
    """Processes of which only the first can be started."""

    def __init__(self) -> None:
        self.started, self.ended = 0, 0

    def get_start_method(self) -> str:
        return "spawn"

    def Pipe(self) -> Any:  # noqa: N802
        return multiprocessing.Pipe()

    def Process(self, **_: Any) -> Any:  # noqa: N802
        return self

    def start(self) -> None:
        self.started += 1
        if self.started > 1:
            raise EOFError("unexpected EOF")

    def kill(self) -> None:
        self.ended += 1

    def join(self) -> None:
        pass

    close = join


def test_a_worker_that_cannot_be_replaced_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    context = NoMore()
    monkeypatch.setattr(processes, "get_context", lambda _: context)
    with Processes(1, lambda: None) as engine:
        engine._workers.append(engine._new())
        with pytest.raises(WorkersError, match="could not be started"):
            engine._replace(engine._workers[0])
    assert context.ended == 1


@pytest.mark.slow
def test_a_bad_row_is_told_as_one_process_tells_it(rows: Path, tmp_path: Path, pater: Run) -> None:
    bad = tmp_path / "bad.svm"
    lines = rows.read_text().splitlines()
    lines[50_000] = "1 2:nonsense"
    bad.write_text("\n".join(lines) + "\n")
    _, _, told = pater("train", bad, "--algo", "pater-ii", "-q", "-m", tmp_path / "a.pater")
    code, _, again = pater(
        "train", bad, "--algo", "pater-ii", "--workers", 2, "--shard-size", "1M", "-m", tmp_path / "b"
    )
    assert code == 1
    assert again == told
    assert "bad.svm, line 50001, column 5" in told


@pytest.mark.slow
def test_nothing_is_left_of_a_scheduler_that_does_not_answer() -> None:
    """An uncollected client may be collected while the next one starts, and then neither continues."""
    pytest.importorskip("distributed")
    before = set(threading.enumerate())
    gc.disable()
    try:
        for _ in range(2):
            with (
                pytest.raises(WorkersError, match="no scheduler answers at nonsense"),
                Cluster("nonsense", int) as cluster,
            ):
                cluster.call(int)
        assert set(threading.enumerate()) == before
    finally:
        gc.enable()


def test_a_worker_of_another_version_is_told() -> None:
    refused = _do("0.0", sum, [1])
    told = f"a worker has pater {pater_package.__version__}, but here it is 0.0; install the same everywhere."
    assert refused.why == told
    assert _do(pater_package.__version__, sum, [1]) == 1


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a cluster of two processes with another working folder."""
    from distributed import LocalCluster

    here = os.getcwd()
    os.chdir("/")
    try:
        with LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, memory_limit=0
        ) as cluster:
            yield cluster.scheduler_address
    finally:
        os.chdir(here)


@pytest.mark.slow
def test_a_cluster_of_a_scheduler(scheduler: str, rows: Path, alone: bytes, tmp_path: Path) -> None:
    arguments = ["--shard-size", "100K", "--algo", "so-pater-i", "-m", tmp_path / "a.pater"]
    one = subprocess.run(
        [*PATER, "train", "rows.svm", "--scheduler", scheduler, *map(str, arguments)],
        cwd=rows.parent, env=HERE, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert one.returncode == 0, one.stderr
    assert (tmp_path / "a.pater").read_bytes() == alone


def test_what_makes_no_sense_is_one_line(
    rows: Path, tmp_path: Path, pater: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "a.pater"
    for more, what in (
        (
            ["--workers", 2, "--passes", 2],
            "--passes cannot be combined with --workers: shards are learned in one pass.",
        ),
        (["--workers", 2, "-i", model], "--initial-model cannot be combined with --workers"),
        (["--workers", 2, "--checkpoint-every", "5s"], "--checkpoint-every cannot be combined with --workers"),
        (["--workers", 2, "--threads", 2], "--threads cannot be combined with --workers: each worker has one thread."),
        (
            ["--scheduler", "x", "--window", 9],
            "--window cannot be combined with --scheduler: windows follow one stream.",
        ),
        (["--workers", 2, "-"], "standard input can be read once"),
        (["--workers", 2, "--scheduler", "x"], "--workers and --scheduler cannot be combined"),
        (["--workers", 0], "--workers"),
        (["--shard-size", "1M"], "--shard-size needs --workers or --scheduler."),
        (["--workers", 2, "--on-error", "no"], "--on-error must be 'stop' or 'skip', got 'no'."),
        (["--workers", 2, "--shard-size", "big"], "--shard-size expects a size of at least 1K, such as 128M or 1G"),
    ):
        code, out, err = pater("train", rows, "-m", model, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert what in err
    monkeypatch.setattr("pater.cli.cluster.ANSWER", 0.5)
    code, _, err = pater("train", rows, "-m", model, "--scheduler", "tcp://127.0.0.1:1")
    assert code == 1
    assert err.startswith("pater: no scheduler answers at tcp://127.0.0.1:1: ")
    assert err.endswith("Nothing was saved.\n")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_script_without_a_guard_can_call_it(rows: Path, alone: bytes, tmp_path: Path) -> None:
    arguments = [str(argument) for argument in command(rows, tmp_path / "a.pater", 2)]
    (tmp_path / "script.py").write_text(f"from pater.cli import main\n\nmain({arguments!r})\n")
    subprocess.run([sys.executable, tmp_path / "script.py"], env=HERE, check=True, timeout=120)
    assert (tmp_path / "a.pater").read_bytes() == alone


def test_without_dask_there_is_one_line(rows: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['dask'] = None; from pater.cli import main; "
        f"main(['train', {str(rows)!r}, '--scheduler', 'tcp://a:1', '-m', {str(tmp_path / 'a.pater')!r}])"
    )
    command = [sys.executable, "-c", code]
    one = subprocess.run(command, env=HERE, capture_output=True, text=True, timeout=60, check=False)
    assert one.returncode == 1
    assert one.stderr == 'pater: a cluster needs Dask: pip install "pater[dask]".\n'


@pytest.mark.slow
def test_dask_is_imported_only_if_asked_for(rows: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pater.cli.app import run; run(sys.argv[1:]); "
        "print(sorted(set(sys.modules) & {'dask', 'distributed', 'numba'}))"
    )
    for arguments, imported in (
        (["train", "--help"], "[]"),
        (["train", str(rows), "-q", "--algo", "pater-ii", "-m", str(tmp_path / "a.pater")], "['numba']"),
        (["train", str(rows), "-q", "--algo", "pater-ii", "--workers", "1", "-m", str(tmp_path / "b")], "['numba']"),
    ):
        command = [sys.executable, "-c", code, *arguments]
        one = subprocess.run(command, env=HERE, capture_output=True, text=True, check=True)
        assert one.stdout.endswith(f"{imported}\n")
