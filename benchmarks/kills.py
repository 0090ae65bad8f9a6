"""Kill `pater train` again and again, at random moments, and see that it always ends with the same model.

    python benchmarks/kills.py --kills 1000

Each run writes a checkpoint after every block and is killed (SIGKILL) at a moment drawn evenly from its life, from
shortly before the first row to the renaming of the model; the next run goes on from what is there. Whenever one gets to
its end, its model must have the bytes of an uninterrupted run. The settings change from round to round.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PATER = [sys.executable, "-c", "from pater.cli import main; main()"]
SETTINGS = [
    ["--algo", "pater-i"],
    ["--algo", "auto"],
    ["--algo", "pa-i", "--scale", "--passes", "2"],
    ["--algo", "pater-ii", "--average", "--bits", "12"],
]


def make(path: Path, rows: int) -> None:
    random_ = np.random.default_rng(3)
    columns = np.cumsum(random_.integers(1, 30, (rows, 14)), axis=1).tolist()
    values = random_.standard_normal((rows, 14)).round(6)
    labels = np.where(values[:, 0] + values[:, 1] > 1.5, 1, -1).tolist()
    with path.open("w") as file:
        for label, js, xs in zip(labels, columns, values.tolist(), strict=True):
            file.write(f"{label} {' '.join(f'{j}:{x!r}' for j, x in zip(js, xs, strict=True))}\n")


def killed(command: list[str], after: float) -> bool:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(after)
        process.kill()
        return process.wait() != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=240_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seed = random.Random(options.seed)
    told = {
        "kills": 0,
        "with a checkpoint to go on from": 0,
        "in the middle of a write": 0,
        "runs that got to the end": 0,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model, checkpoint = folder / "rows.svm", folder / "m", folder / "m.checkpoint"
        make(data, options.rows)
        for number, settings in enumerate(SETTINGS):
            command = [*PATER, "train", str(data), *settings, "-q", "--checkpoint-every", "1", "--resume", "-m"]
            whole = str(folder / "whole")
            subprocess.run([*command, whole], check=True)  # compiles what is not compiled yet
            start = time.monotonic()
            subprocess.run([*command, whole], check=True)
            length = time.monotonic() - start
            want = Path(whole).read_bytes()
            while told["kills"] < options.kills * (number + 1) // len(SETTINGS):
                before = set(folder.glob("*.part"))
                resumed = checkpoint.exists()
                if killed([*command, str(model)], seed.uniform(0.4, 1.05) * length):
                    told["kills"] += 1
                    if told["kills"] % 100 == 0:
                        print(told, flush=True)
                    told["with a checkpoint to go on from"] += resumed
                    told["in the middle of a write"] += bool(set(folder.glob("*.part")) - before)
                else:
                    assert model.read_bytes() == want, settings
                    told["runs that got to the end"] += 1
                    model.unlink()
            subprocess.run([*command, str(model)], check=True)
            assert model.read_bytes() == want, settings
            told["runs that got to the end"] += 1
            model.unlink()
    print(json.dumps({**told, "models that differed": 0}, indent=1))


if __name__ == "__main__":
    main()
