"""What a row costs with a full covariance, against BLAS's rank-one update and product; and with a diagonal one.

    python benchmarks/second_order.py [--quick] [--json FILE]

Any second-order learner must read and change all of Σ for a row that it learns from: with BLAS, by `dsymv` (Σx) and
`dsyr` (Σ − kkᵀ/…). These are called here from compiled code, on one thread, so that no interpreter slows them down.
Times are ratios within one run, the best of several rounds taken in turn.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
from numba import njit
from numba.extending import get_cython_function_address
from threadpoolctl import threadpool_limits

import pater
from pater import AROWClassifier, ConfidenceWeightedClassifier, PATERClassifier, SecondOrderPATERClassifier

COLUMNS = [100, 300, 1000]
CSR = (100_000, 1 << 18, 70)  # rows, columns, non-zeros per row
POINTER = ctypes.c_void_p


def blas(name: str, arguments: int) -> Any:
    address = get_cython_function_address("scipy.linalg.cython_blas", name)
    return ctypes.CFUNCTYPE(None, *[POINTER] * arguments)(address)


DSYMV, DSYR = blas("dsymv", 10), blas("dsyr", 7)


@njit
def by_blas(X, S, k, upper, n, one, alpha, beta, zero, step):
    for i in range(X.shape[0]):
        x = X[i]
        DSYMV(
            upper.ctypes,
            n.ctypes,
            alpha.ctypes,
            S.ctypes,
            n.ctypes,
            x.ctypes,
            one.ctypes,
            zero.ctypes,
            k.ctypes,
            one.ctypes,
        )
        total = 1.0
        for j in range(k.size):
            total += k[j] * x[j]
        beta[0] = -1.0 / total
        DSYR(upper.ctypes, n.ctypes, beta.ctypes, k.ctypes, one.ctypes, S.ctypes, n.ctypes)
        step[0] += total


def rank_one(X: np.ndarray) -> Callable[[], Any]:
    d = X.shape[1]
    scalars = [np.array([value]) for value in (1.0, 0.0, 0.0, 0.0)]
    upper, n, one = np.array([ord("U")], np.uint8), np.array([d], np.int32), np.array([1], np.int32)

    def run() -> None:
        alpha, beta, zero, step = scalars
        by_blas(X, np.eye(d), np.zeros(d), upper, n, one, alpha, beta, zero, step)

    return run


def best_times(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    times = dict.fromkeys(contenders, float("inf"))
    for run in contenders.values():
        run()  # compile, and touch the memory
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def full(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Learners that update on nearly every row: with labels of pure noise, nearly every row is inside the margin."""
    return {
        "dsymv + dsyr": rank_one(X),
        "SO-PATER-II": lambda: SecondOrderPATERClassifier("II").fit(X, y),
        "SO-PATER-II, steps": lambda: SecondOrderPATERClassifier("II", form="step").fit(X, y),
        "SO-PATER-I": lambda: SecondOrderPATERClassifier("I").fit(X, y),
        "AROW": lambda: AROWClassifier(r=30.0).fit(X, y),
        "SCW-I": lambda: ConfidenceWeightedClassifier("SCW-I").fit(X, y),
    }


def diagonal(X: Any, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    return {
        "PATER-I": lambda: PATERClassifier("I").fit(X, y),
        "SO-PATER-I": lambda: SecondOrderPATERClassifier("I", covariance="diagonal").fit(X, y),
        "AROW": lambda: AROWClassifier(covariance="diagonal").fit(X, y),
        "SCW-I": lambda: ConfidenceWeightedClassifier("SCW-I", covariance="diagonal").fit(X, y),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/second_order.json"), help="where to save")
    options = parser.parse_args()
    threadpool_limits(1)
    rng = np.random.default_rng(0)
    work, rounds = (10**7, 3) if options.quick else (2 * 10**8, 7)
    results: list[dict[str, Any]] = []

    def run(title: str, contenders: dict[str, Callable[[], Any]], n: int, limit: str) -> None:
        times = best_times(contenders, rounds)
        print(f"\n{title}\n{'':20}{'µs a row':>10}{f'× {limit}':>18}")
        for who, seconds in times.items():
            print(f"{who:20}{1e6 * seconds / n:10.2f}{seconds / times[limit]:18.2f}")
            ratio = seconds / times[limit]
            results.append(
                {"data": title, "who": who, "us_per_row": 1e6 * seconds / n, "against": limit, "ratio": ratio}
            )

    for d in COLUMNS:
        n = max(500, work // (d * d))
        X, y = rng.standard_normal((n, d)), rng.integers(0, 2, n)
        run(f"full covariance, {n:,} rows of {d} columns", full(X, y), n, "dsymv + dsyr")
    n, d, nnz = CSR
    n //= 10 if options.quick else 1
    columns = np.sort(rng.integers(0, d, (n, nnz)), axis=1).ravel()
    X = sp.csr_array((rng.standard_normal(n * nnz), columns.astype(np.int32), np.arange(n + 1) * nnz), shape=(n, d))
    X.sum_duplicates()
    run(f"diagonal, {n:,} sparse rows of {nnz} of {d:,}", diagonal(X, rng.integers(0, 2, n)), n, "PATER-I")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    versions = {"pater": pater.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    machine = {"machine": platform.machine(), "python": platform.python_version(), **versions}
    options.json.write_text(json.dumps({"machine": machine, "second_order": results}, indent=1))
    print(f"\nsaved to {options.json}")


if __name__ == "__main__":
    main()
