"""A grid of 24 weights in one pass, against scikit-learn fitting its passive-aggressive model 24 times.

    python benchmarks/search.py [--json FILE]

Two threads against two joblib processes, in turn; the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from fit import CSR, dense, labels, zipf_rows
from joblib import Parallel, delayed
from sklearn.linear_model import SGDClassifier

from pater.models.search import Grid, alpha_grid
from pater.models.spec import Spec

ROUNDS = 8
SPECS = [Spec(rule, alphas=pair) for rule in ("pater-i", "pater-ii") for pair in alpha_grid()[1:]]


def one_pass(X: Any, y: np.ndarray) -> None:
    grid = Grid(SPECS, "accuracy")
    grid.start(np.array([0, 1]), X.shape[1])
    grid.learn(X, y, threads=2)


def one_model(X: Any, y: np.ndarray) -> None:
    warnings.filterwarnings("ignore")
    SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, max_iter=1, tol=None, shuffle=False).fit(
        X, y
    )


def many_models(X: Any, y: np.ndarray) -> None:
    Parallel(n_jobs=2)(delayed(one_model)(X, y) for _ in SPECS)


def timed(run: Any, X: Any, y: np.ndarray) -> float:
    start = time.perf_counter()
    run(X, y)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/search.json"), help="where to save")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y, _ = dense(200_000, 22, rng)
    n, d, draws = CSR
    S = zipf_rows(n, d, draws, rng)
    cases = {"dense 200,000 × 22": (X, y), f"CSR {n:,} × {d:,}": (S, labels(S @ rng.standard_normal(d), rng))}
    results = {}
    print(f"{'':24}{'24 weights, one pass':>22}{'24 × scikit-learn':>20}{'ratio':>8}")
    for name, (X, y) in cases.items():
        one_pass(X, y), many_models(X, y)
        ours, theirs = (min(timed(run, X, y) for _ in range(ROUNDS)) for run in (one_pass, many_models))
        results[name] = {"ours": ours, "scikit_learn": theirs, "ratio": theirs / ours}
        print(f"{name:24}{ours:20.3f} s{theirs:18.3f} s{theirs / ours:7.1f}×")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
