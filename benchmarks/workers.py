"""`pater train --workers 2` against `--workers 1` on a large libsvm file and an equally large Parquet table, as ratios.

    python benchmarks/workers.py --megabytes 500 --repeats 2

The benchmark makes its data in a folder that is removed, unless `--folder` names one: the rows of `stream.py` and the
table of `tables.py`. Every run is a separate process, timed from start to end, in turn; the best of some repeats
counts, after one on few rows that warms the caches of compiled code. Learning begins when the workers are up and ends
with the last merge. Models must have the same bytes. The bytes that a shard sends are those of its model; a merge is
timed alone, as it does not get shorter with more workers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from stream import CHUNK, FEATURES, NON_ZEROS, _format
from tables import chunk

from pater.stream.beginning import Beginning
from pater.stream.learner import load
from pater.stream.merging import merged
from pater.stream.shard_plan import make_plan
from pater.stream.shards import learn_shard

WORKERS = (1, 2)
WARM_MEGABYTES = 6


def make_libsvm(path: Path, megabytes: int) -> None:
    """Rows of about 50 non-zeros among 2^18 features, an eighth of them positive."""
    random = np.random.default_rng(7)
    weights = random.standard_normal(FEATURES)
    out = np.empty(CHUNK * NON_ZEROS * 16, np.uint8)
    with open(path, "wb") as file:
        while file.tell() < megabytes * 1_000_000:
            gaps = random.integers(1, 2 * (FEATURES // NON_ZEROS) - 60, (CHUNK, NON_ZEROS))
            columns = np.minimum(np.cumsum(gaps, axis=1), FEATURES - NON_ZEROS + np.arange(NON_ZEROS))
            values = random.integers(1, 10_000, columns.shape)
            score = (weights[columns] * values).sum(axis=1) + random.standard_normal(CHUNK) * 10_000
            labels = np.where(score > np.quantile(score, 0.875), 1, -1)
            file.write(out[: _format(labels, columns, values, False, out)].tobytes())


def make_parquet(path: Path, megabytes: int) -> None:
    """The mixed table of `tables.py`, with a group of rows for each of its chunks."""
    number, writer = 0, None
    while writer is None or path.stat().st_size < megabytes * 1_000_000:
        table, _ = chunk(number)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        number += 1
    writer.close()


def command(path: Path, model: Path, workers: int, more: list[str]) -> list[str]:
    own = ["train", "--log-json", "--workers", str(workers), "--model", str(model), *more, str(path)]
    return [sys.executable, "-m", "pater", *own]


def timed(arguments: list[str]) -> tuple[float, dict[str, Any]]:
    start = time.perf_counter()
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, json.loads(done.stdout.splitlines()[-1])


def of_a_merge(path: Path, folder: Path, options: dict[str, Any]) -> dict[str, float]:
    """What two small shards send, and how long it takes to merge them and to write the result."""
    plan = make_plan(path, Beginning(**options), path.stat().st_size // 2)
    models = []
    for shard in plan.shards[:2]:
        models.append(folder / f"shard-{shard.number}.pater")
        content = learn_shard(plan.task, shard, lambda rows, done: None).model
        assert content is not None
        models[-1].write_bytes(content)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        merged([load(each) for each in models], ["a", "b"]).save(folder / "merged.pater")
        seconds.append(time.perf_counter() - start)
    return {"bytes_of_a_shard": models[0].stat().st_size, "seconds_of_a_merge": round(min(seconds), 3)}


def measured(path: Path, warm: Path, folder: Path, more: list[str], repeats: int) -> dict[str, Any]:
    for workers in WORKERS:
        timed(command(warm, folder / "warm.pater", workers, more))
    best: dict[int, float] = {}
    learning: dict[int, float] = {}
    told: dict[str, Any] = {}
    for _ in range(repeats):
        for workers in WORKERS:
            seconds, told = timed(command(path, folder / f"{workers}.pater", workers, more))
            best[workers] = min(seconds, best.get(workers, seconds))
            learning[workers] = min(told["seconds"], learning.get(workers, told["seconds"]))
    assert (folder / "1.pater").read_bytes() == (folder / "2.pater").read_bytes()
    start, _ = timed(command(warm, folder / "warm.pater", 2, more))
    return {
        "megabytes": round(path.stat().st_size / 1e6),
        "rows": told["rows"],
        "shards": told["shards"],
        "seconds": {str(workers): round(seconds, 2) for workers, seconds in best.items()},
        "ratio": round(best[1] / best[2], 3),
        "seconds_of_learning": {str(workers): round(seconds, 2) for workers, seconds in learning.items()},
        "ratio_of_learning": round(learning[1] / learning[2], 3),
        "rows_per_second": {str(workers): round(told["rows"] / seconds) for workers, seconds in best.items()},
        "seconds_of_a_small_file": round(start, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--algo", default="auto")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "workers.json")
    options = parser.parse_args()
    results: dict[str, Any] = {"processors": os.cpu_count(), "algo": options.algo}
    with tempfile.TemporaryDirectory(prefix="pater-workers-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in (("libsvm", make_libsvm), ("parquet", make_parquet)):
            ending = {"libsvm": "svm"}.get(name, name)
            warm, path = folder / f"warm.{ending}", folder / f"{options.megabytes}.{ending}"
            for file, megabytes in ((warm, WARM_MEGABYTES), (path, options.megabytes)):
                if not file.exists():
                    make(file, megabytes)
            more = ["--algo", options.algo]
            results[name] = measured(path, warm, Path(temporary), more, options.repeats)
            results[name] |= of_a_merge(warm, Path(temporary), {"algo": options.algo})
            print(json.dumps({name: results[name]}, indent=1), flush=True)
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
