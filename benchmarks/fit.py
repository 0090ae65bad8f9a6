"""How long one pass takes, against the machine's own limit and against scikit-learn.

    python benchmarks/fit.py [--quick] [--json FILE]

Times are ratios within one run: contenders are timed in turn, for several rounds, and the best of each counts. `X @ w`
(BLAS, or SciPy's sparse product) reads the data once and does the least arithmetic that a prediction needs.

How long a passive rule takes depends on how often it learns, and on how well the processor predicts that. So there are
two kinds of labels: noisy ones, one in ten positive, and clean ones that a plane through the origin separates.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import SGDClassifier

import pater
from pater import PassiveAggressiveClassifier, PATERClassifier, Perceptron

DENSE = [(500_000, 3), (200_000, 22), (200_000, 100), (50_000, 1000)]
CSR = (200_000, 1 << 18, 82)  # rows, columns, draws per row: about 70 distinct columns


def labels(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One in ten positive, with noise half as large as the signal."""
    noisy = scores + 0.5 * scores.std() * rng.standard_normal(scores.size)
    return (noisy > np.quantile(noisy, 0.9)).astype(np.int64)


def dense(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d) / np.sqrt(d)
    return X, labels(X @ w, rng), w


def zipf_rows(n: int, d: int, draws: int, rng: np.random.Generator) -> sp.csr_matrix:
    """Rows of norm 1 whose distinct columns follow Zipf's law, scattered over the width."""
    cdf = np.cumsum(1.0 / np.arange(1, d + 1))
    place = rng.permutation(d)
    counts, columns = [], []
    for start in range(0, n, 20_000):
        chosen = place[np.searchsorted(cdf, rng.random((min(20_000, n - start), draws)) * cdf[-1])]
        chosen.sort(axis=1)
        first = np.ones(chosen.shape, bool)
        first[:, 1:] = chosen[:, 1:] != chosen[:, :-1]
        counts.append(first.sum(axis=1))
        columns.append(chosen[first])
    per_row = np.concatenate(counts)
    indptr = np.concatenate([[0], np.cumsum(per_row)]).astype(np.int32)
    data = rng.random(indptr[-1]) + 0.1
    data /= np.repeat(np.sqrt(np.add.reduceat(data * data, indptr[:-1])), per_row)
    return sp.csr_matrix((data, np.concatenate(columns).astype(np.int32), indptr), shape=(n, d))


def best_times(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    times = dict.fromkeys(contenders, float("inf"))
    for name, run in contenders.items():
        run()  # compile, and touch the memory
        for _ in range(rounds):
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def contenders(X: Any, y: np.ndarray, w: np.ndarray) -> dict[str, Callable[[], Any]]:
    sgd = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, max_iter=1, tol=None, shuffle=False)
    clean = (X @ w > 0).astype(np.int64)
    return {
        "X @ w": lambda: X @ w,
        "scikit-learn pa1": lambda: sgd.fit(X, y),
        "Perceptron": lambda: Perceptron().fit(X, y),
        "PA-I": lambda: PassiveAggressiveClassifier().fit(X, y),
        "PATER-I": lambda: PATERClassifier("I").fit(X, y),
        "PATER-II": lambda: PATERClassifier("II").fit(X, y),
        "wPATER-I": lambda: PATERClassifier("I", class_weight={0: 0.1, 1: 1.0}).fit(X, y),
        "scikit-learn, clean": lambda: sgd.fit(X, clean),
        "PATER-I, clean": lambda: PATERClassifier("I").fit(X, clean),
        "PATER-II, clean": lambda: PATERClassifier("II").fit(X, clean),
    }


def one_row_calls() -> dict[str, float]:
    """Microseconds per one-row `partial_fit`."""
    rng = np.random.default_rng(0)
    X, y, _ = dense(1000, 20, rng)
    ours = PATERClassifier().partial_fit(X, y, classes=[0, 1])
    theirs = SGDClassifier(loss="hinge").partial_fit(X, y, classes=[0, 1])
    wide = sp.random_array((2, 1 << 20), density=5e-5, format="csr", rng=rng)
    hashed = PATERClassifier().partial_fit(wide, [0, 1], classes=[0, 1])
    one, label = X[:1], y[:1]
    row = wide[:1]
    repeat = {
        "PATER-I, 20 dense features": (lambda: ours.partial_fit(one, label), 3000),
        "scikit-learn SGDClassifier, 20 dense features": (lambda: theirs.partial_fit(one, label), 300),
        "PATER-I, 50 of 2^20 sparse features": (lambda: hashed.partial_fit(row, label), 1000),
    }
    return {
        name: 1e6 * min(best_times({"": lambda run=run, n=n: [run() for _ in range(n)]}, 5).values()) / n
        for name, (run, n) in repeat.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer rounds")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/fit.json"), help="where to save")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    share, rounds = (10, 3) if options.quick else (1, 7)
    rng = np.random.default_rng(0)
    results: list[dict[str, Any]] = []

    def run(name: str, X: Any, y: np.ndarray, w: np.ndarray) -> None:
        times = best_times(contenders(X, y, w), rounds)
        n, limit = X.shape[0], times["X @ w"]
        print(f"\n{name}\n{'':20}{'ns a row':>10}{'× X @ w':>10}{'× scikit-learn':>16}")
        for who, seconds in times.items():
            speedup = times["scikit-learn, clean" if who.endswith("clean") else "scikit-learn pa1"] / seconds
            print(f"{who:20}{1e9 * seconds / n:10.1f}{seconds / limit:10.2f}{speedup:15.1f}×")
            results.append({"data": name, "who": who, "ns_per_row": 1e9 * seconds / n, "times_limit": seconds / limit})

    for n, d in DENSE:
        X, y, w = dense(n // share, d, rng)
        run(f"dense {n // share:,} × {d}", X, y, w)
    n, d, draws = CSR
    X = zipf_rows(n // share, d, draws, rng)
    w = rng.standard_normal(d)
    run(f"CSR {n // share:,} × {d:,}, {X.nnz / X.shape[0]:.0f} a row", X, labels(X @ w, rng), w)
    print("\nOne row by partial_fit, µs")
    calls = one_row_calls()
    for who, micros in calls.items():
        print(f"{who:50}{micros:8.1f}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    versions = {"pater": pater.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    machine = {"machine": platform.machine(), "python": platform.python_version(), **versions}
    options.json.write_text(json.dumps({"machine": machine, "fit": results, "one_row_us": calls}, indent=1))
    print(f"\nsaved to {options.json}")


if __name__ == "__main__":
    main()
