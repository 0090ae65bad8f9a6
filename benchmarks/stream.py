"""End to end from a file: `pater train` against Vowpal Wabbit and against scikit-learn's loader, as ratios in one run.

    python benchmarks/stream.py --folder stream-benchmark --megabytes 500 --repeats 3

The benchmark makes its data: rows of about 50 non-zeros among 2^18 features, an eighth of them positive, as libsvm and
as VW text. Every contestant is a separate process, timed from start to end; the best of some repeats counts, after one
that warms the caches of compiled code and of the disk. Memory is the largest resident size of `pater train` on the file
and on a tenth of it, with checkpoints, continuing from a model, and of `pater predict` with what `auto` has learned.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

FEATURES, NON_ZEROS = 1 << 18, 50
CHUNK = 20_000
LOADER_MEGABYTES = 60  # scikit-learn's loader is timed on a part and scaled up


@njit(cache=True)
def _digits(out, k, number):
    start = k
    while number > 0 or k == start:
        out[k] = 48 + number % 10
        number //= 10
        k += 1
    for i in range((k - start) // 2):
        out[start + i], out[k - 1 - i] = out[k - 1 - i], out[start + i]
    return k


@njit(cache=True)
def _format(labels, columns, values, bar, out):
    """Rows as text: `+1 5:0.1234 …`, with ` |` after the label for VW."""
    k = 0
    for r in range(labels.size):
        out[k] = 43 if labels[r] > 0 else 45
        out[k + 1] = 49
        k += 2
        if bar:
            out[k], out[k + 1] = 32, 124
            k += 2
        for j in range(columns.shape[1]):
            out[k] = 32
            k = _digits(out, k + 1, columns[r, j])
            out[k], out[k + 1], out[k + 2] = 58, 48, 46
            k += 3
            for power in (1000, 100, 10, 1):
                out[k] = 48 + values[r, j] // power % 10
                k += 1
        out[k] = 10
        k += 1
    return k


def make(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """The data in both forms; the label depends on the features, with noise."""
    libsvm, vw = folder / f"{megabytes}.svm", folder / f"{megabytes}.vw"
    if libsvm.exists() and vw.exists():
        return libsvm, vw
    random = np.random.default_rng(7)
    weights = random.standard_normal(FEATURES)
    out = np.empty(CHUNK * NON_ZEROS * 16, np.uint8)
    with open(libsvm, "wb") as a, open(vw, "wb") as b:
        while a.tell() < megabytes * 1_000_000:
            gaps = random.integers(1, 2 * (FEATURES // NON_ZEROS) - 60, (CHUNK, NON_ZEROS))
            columns = np.minimum(np.cumsum(gaps, axis=1), FEATURES - NON_ZEROS + np.arange(NON_ZEROS))
            values = random.integers(1, 10_000, columns.shape)
            score = (weights[columns] * values).sum(axis=1) + random.standard_normal(CHUNK) * 10_000
            labels = np.where(score > np.quantile(score, 0.875), 1, -1)
            for file, bar in ((a, False), (b, True)):
                file.write(out[: _format(labels, columns, values, bar, out)].tobytes())
    return libsvm, vw


def race(commands: dict[str, list[str]], repeats: int) -> dict[str, float]:
    """Seconds of the fastest run of each, after a warm-up; in turn, so that a busy machine is busy for all."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - start)
    return {name: min(each[1:]) for name, each in times.items()}


# A small process in between: a process's largest size includes that of the process it was forked from.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(command: list[str]) -> float:
    """The largest resident size of a process, in millions of bytes."""
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], check=True, capture_output=True, text=True)
    return int(done.stdout) * 1024 / 1e6


def head(path: Path, megabytes: int) -> Path:
    part = path.with_name(f"{path.stem}-head-{megabytes}{path.suffix}")
    if not part.exists():
        text = path.open("rb").read(megabytes * 1_000_000)
        part.write_bytes(text[: text.rfind(b"\n") + 1])
    return part


LOADER = """
import sys, time
from sklearn.datasets import load_svmlight_file
from pater import PATERClassifier
X, y = load_svmlight_file(sys.argv[1], n_features=1 << 18)
PATERClassifier().partial_fit(X, y)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("stream-benchmark"))
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "stream.json")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    libsvm, vw = make(options.folder, options.megabytes)
    size = libsvm.stat().st_size / 1e6
    part = head(libsvm, min(LOADER_MEGABYTES, options.megabytes))
    ten = options.folder / "ten.svm"
    ten.write_text("".join(f"{1 if k % 3 == 0 else -1} 1:{k} 2:0.5\n" for k in range(10)))

    model = str(options.folder / "model.pater")
    train = [sys.executable, "-m", "pater", "train", "--quiet", "--model", model]
    vowpal = [sys.executable, "-m", "vowpalwabbit", "--loss_function", "hinge", "-b", "18", "--quiet", "-d", str(vw)]
    commands = {
        "pater-i": [*train, "--algo", "pater-i", str(libsvm)],
        "vw": vowpal,
        "auto": [*train, str(libsvm)],
        "wpater": [*train, "--algo", "wpater", str(libsvm)],
        "load_svmlight_file": [sys.executable, "-c", LOADER, str(part)],
        "ten lines": [*train, "--algo", "pater-i", str(ten)],
        "ten lines, auto": [*train, str(ten)],
    }
    seconds = race(commands, options.repeats)
    seconds["load_svmlight_file"] *= libsvm.stat().st_size / part.stat().st_size
    tenth = head(libsvm, options.megabytes // 10)
    memory = {
        f"{algo}, {name}": peak_memory([*train, "--algo", algo, str(path)])
        for algo in ("pater-i", "wpater", "auto")
        for name, path in (("a tenth", tenth), ("all", libsvm))
    }
    memory["auto, checkpoints"] = peak_memory([*train, "--checkpoint-every", "50000", str(tenth)])
    memory["auto, going on"] = peak_memory([*train, "--initial-model", model, str(tenth)])
    memory["auto, predict"] = peak_memory([sys.executable, "-m", "pater", "predict", model, str(tenth)])
    result = {
        "megabytes": size,
        "seconds": seconds,
        "ratios": {
            "vw / pater-i": seconds["vw"] / seconds["pater-i"],
            "auto / pater-i": seconds["auto"] / seconds["pater-i"],
            "wpater / pater-i": seconds["wpater"] / seconds["pater-i"],
            "load_svmlight_file / pater-i": seconds["load_svmlight_file"] / seconds["pater-i"],
        },
        "peak_megabytes": memory,
        "processors": os.cpu_count(),
    }
    print(json.dumps(result, indent=1))
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
