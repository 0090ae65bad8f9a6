"""What `AutoPATERClassifier` costs in the long run, against one second-order learner, whichever team wins its race.

    python benchmarks/pool.py [--quick] [--json FILE]

In a pool that has begun, every team in turn is made the winner: the others are stopped, and the pool learns on up to
20,000 rows. Then the next rows are timed in one call, the best of several rounds taken in turn with single learners
that have seen the same rows: the default one, SO-PATER-I with r = 30, and one with the rule and prior of the winning
team, as somebody who knew the winner would run. `candidates` counts those that still learn.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import pater
from pater import AROWClassifier, AutoPATERClassifier, SecondOrderPATERClassifier

BEGINNING = 2_000  # rows that all candidates learn from
WARM = 20_000  # rows before the timed ones
STREAMS = {"noisy, 10 % positives": (1.0, 0.1), "clear, 30 % positives": (0.3, 0.3)}  # noise and share of positives
SHAPES: list[tuple[int, int]] = [(20, 0), (100, 0), (200, 0), (1000, 0), (1 << 18, 70)]  # columns, and non-zeros a row
DEFAULT = "SO-PATER-I"
WORK = 10**9  # covariance entries that the timed rows touch, about


def stream(n: int, d: int, nnz: int, noise: float, positives: float) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(d)
    weights = rng.standard_normal(d) / np.sqrt(nnz or d)
    X: Any = rng.standard_normal((n, nnz or d))
    if nnz:
        columns = np.sort((d * rng.random((n, nnz)) ** 3).astype(np.int32), axis=1)  # some are frequent, most rare
        X = sp.csr_array((X.ravel(), columns.ravel(), np.arange(n + 1) * nnz), shape=(n, d))
        X.sum_duplicates()
    margins = X @ weights + noise * rng.standard_normal(n)
    return X, (margins > np.quantile(margins, 1 - positives)).astype(int)


def alone(rule: str, r: float, covariance: str) -> Any:
    """One learner with the rule and prior of a team, without forgetting."""
    if rule == "arow":
        return AROWClassifier(r=r, class_weight="balanced", covariance=covariance)
    return SecondOrderPATERClassifier(r=r, covariance=covariance)


def with_winner(begun: AutoPATERClassifier, team: int, X: Any, y: np.ndarray) -> AutoPATERClassifier:
    """The same pool after one team has won; it has learned the rows before the timed ones."""
    model = copy.deepcopy(begun)
    pool, entered = model._fitted_model(), model._fitted_model().entered
    staying = [k for k in pool.models if k == entered.common or entered.teams[k] == team]
    pool.in_shards, pool.leader = False, staying[-1]
    pool.models = {k: pool.models[k] for k in staying}
    pool.adjustments = {k: pool.adjustments[k] for k in staying}
    return model.partial_fit(X[BEGINNING:WARM], y[BEGINNING:WARM])


def best_times(learners: dict[str, Any], X: Any, y: np.ndarray, rounds: int) -> dict[str, float]:
    times = dict.fromkeys(learners, float("inf"))
    for _ in range(rounds):
        for name, learner in learners.items():
            model = copy.deepcopy(learner)
            start = time.perf_counter()
            model.partial_fit(X, y)
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--shapes", type=int, nargs="*", default=range(len(SHAPES)), help="some of the shapes only")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/pool.json"), help="where to save")
    options = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    work, rounds = (WORK // 10, 3) if options.quick else (WORK, 7)
    results: list[dict[str, Any]] = []
    for (d, nnz), (title, kind) in ((SHAPES[at], each) for at in options.shapes for each in STREAMS.items()):
        full = d <= 256
        n = min(100_000, work // ((d * d if full else 20 * (nnz or d)) + 10_000))
        X, y = stream(WARM + n, d, nnz, *kind)
        covariance = "full" if full else "diagonal"
        learners: dict[str, Any] = {DEFAULT: SecondOrderPATERClassifier(covariance=covariance)}
        begun = AutoPATERClassifier().partial_fit(X[:1], y[:1], classes=[0, 1])
        begun._fitted_model().in_shards = True  # so that none stops
        begun.partial_fit(X[1:BEGINNING], y[1:BEGINNING])
        pool = begun._fitted_model()
        for team in sorted({pool.entered.teams[k] for k in pool.entered.places}):
            spec = pool.specs[team % len(pool.specs)]
            name = f"{spec.rule}, r = {spec.r:g}"
            learners[f"{name}, alone"] = alone(spec.rule, spec.r, covariance)
            learners[name] = with_winner(begun, team, X, y)
        for learner in learners.values():
            if not isinstance(learner, AutoPATERClassifier):
                learner.partial_fit(X[:WARM], y[:WARM])
        times = best_times(learners, X[WARM:], y[WARM:], rounds)
        data = f"{covariance}, {f'{nnz} of ' if nnz else ''}{d:,} columns, {title}"
        print(f"\n{data}: {n:,} rows\n{'':28}{'candidates':>12}{'µs a row':>10}{f'× {DEFAULT}':>14}{'× alone':>9}")
        for who, seconds in times.items():
            n_left = len(learners[who]._fitted_model().models) if f"{who}, alone" in times else 1
            against = seconds / times[DEFAULT], seconds / times.get(f"{who}, alone", seconds)
            print(f"{who:28}{n_left:12}{1e6 * seconds / n:10.2f}{against[0]:14.2f}{against[1]:9.2f}")
            timed = {"us": 1e6 * seconds / n, "times_default": against[0], "times_alone": against[1]}
            results.append({"data": data, "who": who, "candidates": n_left, **timed})
    options.json.parent.mkdir(parents=True, exist_ok=True)
    machine = {"machine": platform.machine(), "python": platform.python_version(), "pater": pater.__version__}
    options.json.write_text(json.dumps({"machine": machine, "pool": results}, indent=1))
    print(f"\nsaved to {options.json}")


if __name__ == "__main__":
    main()
