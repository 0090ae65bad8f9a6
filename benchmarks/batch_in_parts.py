"""What `TERClassifier.partial_fit` costs per row, next to `fit` and second-order PATER, and what a solution costs.

    OPENBLAS_NUM_THREADS=1 python benchmarks/batch_in_parts.py [--rows 100000]

Dense rows of normal numbers, 20 % positives. Processor time, the least of five runs in turn; ratios to `fit` in
parentheses. `lstsq` solves the system of all rows as it is. A batch has 1,000 rows, then 10.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from pater import SecondOrderPATERClassifier, TERClassifier
from pater.estimators.least_squares import solve

RUNS = 5


def in_batches(model: object, X: np.ndarray, y: np.ndarray, size: int) -> object:
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])  # type: ignore[attr-defined]
    return model


def seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def measured(columns: int, rows: int) -> dict[str, float]:
    """Microseconds per row; for a solution, microseconds in all."""
    random = np.random.default_rng(columns)
    X = random.normal(size=(rows, columns))
    y = (X[:, 0] + random.normal(size=rows) > 1.2).astype(int)
    learned = in_batches(TERClassifier(), X, y, 1000)
    some, v = slice(0, rows // 10), np.where(y == 1, 1 / y.sum(), 1 / (1 - y).sum())
    calls = {
        "fit": (rows, lambda: TERClassifier().fit(X, y)),
        "lstsq": (rows, lambda: solve(X, 2.0 * y - 1, v, ridge=0.0, intercept=True)),
        "partial_fit, 1000 rows": (rows, lambda: in_batches(TERClassifier(), X, y, 1000)),
        "partial_fit, 10 rows": (rows // 10, lambda: in_batches(TERClassifier(), X[some], y[some], 10)),
        "SO-PATER-II": (rows, lambda: in_batches(SecondOrderPATERClassifier("II"), X, y, 1000)),
        "solution": (1, lambda: learned.solve().coef_),  # type: ignore[attr-defined]
    }
    least = dict.fromkeys(calls, np.inf)
    for _ in range(RUNS):
        for name, (count, call) in calls.items():
            least[name] = min(least[name], 1e6 * seconds(call) / count)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    for columns in (20, 100, 200):
        found = measured(columns, rows)
        told = [
            f"{name} {value:.2f} µs ({value / found['fit']:.2f})" for name, value in found.items() if name != "solution"
        ]
        print(f"{columns} columns: {', '.join(told)}; a solution {found['solution'] / 1000:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
