"""Kill `pater train` again and again, at random moments, and check that it always ends with the same model.

    python benchmarks/kills.py --kills 1000

Each run writes a checkpoint after every block and is killed (SIGKILL): one in five at a moment drawn evenly from its
whole life, the others at one drawn evenly from the time between its first write and its end, which includes the
renaming of the model. The next run resumes. Whenever a run completes, its model must have the bytes of an uninterrupted
run. The settings vary. The tests kill fifty times.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

PATER = [sys.executable, "-m", "pater"]
SETTINGS = [
    ("rows.svm", ["--algo", "pater-i"]),
    ("rows.svm", ["--algo", "auto"]),
    ("rows.svm", ["--algo", "pa-i", "--scale", "--passes", "2"]),
    ("rows.svm", ["--algo", "pater-ii", "--average", "--bits", "12"]),
    ("table.csv", ["--algo", "so-pater-i", "--covariance", "diagonal"]),  # behind an encoder
    ("table.csv", ["--interactions", "a:city"]),  # a pool with crossed columns
]
LONGEST_LIFE = 60.0  # seconds


def make(path: Path, rows: int) -> None:
    """Rows of libsvm text, about 170 bytes each."""
    random_ = np.random.default_rng(3)
    columns = np.cumsum(random_.integers(1, 30, (rows, 14)), axis=1).tolist()
    values = random_.standard_normal((rows, 14)).round(6)
    labels = np.where(values[:, 0] + values[:, 1] > 1.5, 1, -1).tolist()
    with path.open("w") as file:
        for label, js, xs in zip(labels, columns, values.tolist(), strict=True):
            file.write(f"{label} {' '.join(f'{j}:{x!r}' for j, x in zip(js, xs, strict=True))}\n")


def make_table(path: Path, rows: int) -> None:
    """A table of numbers, ever more distinct texts, and times."""
    random_ = np.random.default_rng(3)
    numbers, hours = random_.lognormal(size=(rows, 6)).round(4), random_.integers(0, 24, rows).tolist()
    texts = (random_.zipf(1.3, rows) % 1000).tolist()
    labels = (numbers[:, 0] + numbers[:, 1] > 4).astype(int).tolist()
    with path.open("w") as file:
        file.write("a,b,c,d,e,f,city,time,label\n")
        for xs, text, hour, label in zip(numbers.tolist(), texts, hours, labels, strict=True):
            file.write(f"{','.join(map(str, xs))},city {text},2024-01-02 {hour:02}:00,{label}\n")


class Runs:
    """Runs of one command with one model, and what became of them."""

    def __init__(self, folder: Path, data: Path, settings: list[str], seed: random.Random, told: Counter[str]) -> None:
        self.model, self.checkpoint = folder / "m", folder / "m.checkpoint"
        self.command = [*PATER, "train", str(data), *settings, "-q", "--checkpoint-every", "1", "--resume", "-m"]
        self.settings, self.seed, self.told = settings, seed, told
        whole = folder / "whole"
        subprocess.run([*self.command, str(whole)], check=True)  # compiles what is not yet compiled
        start = time.monotonic()
        with subprocess.Popen([*self.command, str(self.model)]) as process:
            self._until_it_writes(process)
            first = time.monotonic() - start
            while not self.model.exists():
                assert process.poll() is None
                time.sleep(0.001)
            self.life = time.monotonic() - start
            assert process.wait(LONGEST_LIFE) == 0
        self.writing = self.life - first
        self.want = whole.read_bytes()
        self._ended()

    def kill(self) -> bool:
        """Start a run and kill it; return False if its model was there before."""
        went_on, before = self.checkpoint.exists(), self._parts()
        command = [*self.command, str(self.model)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            if self.seed.random() < 0.2:
                time.sleep(self.seed.uniform(0, self.life))
            else:
                self._until_it_writes(process)
                time.sleep(self.seed.uniform(0, self.writing))
            process.kill()
            code = process.wait()
        assert code <= 0, f"{self.settings} failed"
        if self.model.exists() and not self.checkpoint.exists():
            self._ended()
            return False
        self.told["kills"] += 1
        self.told["with a checkpoint to go on from"] += went_on
        self.told["in the middle of a write"] += bool(self._parts() - before)
        return True

    def finish(self) -> None:
        """Run to the end."""
        subprocess.run([*self.command, str(self.model)], check=True)
        self._ended()
        assert not self.checkpoint.exists()
        assert not self._parts()

    def _parts(self) -> set[Path]:
        """The files being written, or left behind by a kill."""
        return set(self.model.parent.glob("*.part"))

    def _until_it_writes(self, process: subprocess.Popen[bytes]) -> None:
        before = self._written()
        while process.poll() is None and self._written() == before:
            time.sleep(0.001)

    def _written(self) -> set[tuple[str, int, int]]:
        """The checkpoint, and the files being written next to it."""
        found = set()
        for path in self.model.parent.glob("m.checkpoint*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found.add((path.name, status.st_ino, status.st_mtime_ns))
        return found

    def _ended(self) -> None:
        assert self.model.read_bytes() == self.want, f"{self.settings}: the model differs"
        self.told["runs that got to the end"] += 1
        self.model.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seed, told, start = random.Random(options.seed), Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        make(Path(name) / "rows.svm", options.rows)
        make_table(Path(name) / "table.csv", options.rows)
        for number, (data, settings) in enumerate(SETTINGS):
            folder = Path(name) / str(number)
            folder.mkdir()
            runs = Runs(folder, Path(name) / data, settings, seed, told)
            while told["kills"] < options.kills * (number + 1) // len(SETTINGS):
                if runs.kill() and told["kills"] % 100 == 0:
                    print(dict(told), flush=True)
            runs.finish()
    print(json.dumps({**told, "models that differed": 0, "seconds": round(time.monotonic() - start)}, indent=1))


if __name__ == "__main__":
    main()
