"""How good probabilities fitted along the stream are, next to the best curve in hindsight.

    python benchmarks/calibration.py                   # the study's sets of 500 rows and more, in the folder PATER_DATA
    python benchmarks/calibration.py --at-least 1000

Each set is shuffled, learned in one pass over its first half, as z-scores of that half, and judged on the other. The
figure is the log loss of the probabilities as a multiple of that of the logistic curve that best fits the margins of
the judged rows, which nobody can know beforehand; 1 is perfect. Means are geometric.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from pater import (
    AROWClassifier,
    AutoPATERClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    SecondOrderPATERClassifier,
)
from pater.data.loading import available, load

LEARNERS: dict[str, Callable[[], Any]] = {
    "Auto": lambda: AutoPATERClassifier(probability=True),
    "SO-PATER-I": lambda: SecondOrderPATERClassifier(probability=True),
    "AROW, balanced": lambda: AROWClassifier(class_weight="balanced", probability=True),
    "PATER-I, averaged": lambda: PATERClassifier("I", average=True, probability=True),
    "PATER-II, averaged": lambda: PATERClassifier("II", average=True, probability=True),
    "PA-I, averaged": lambda: PassiveAggressiveClassifier(average=True, probability=True),
}


def multiple(model: Any, X: Any, y: Any) -> float:
    half = len(y) // 2
    scaled = (X - X[:half].mean(axis=0)) / np.maximum(X[:half].std(axis=0), 1e-12)
    model.fit(scaled[:half], y[:half])
    margins = model.decision_function(scaled[half:])[:, None]
    margins /= max(margins.std(), 1e-300)
    best = LogisticRegression(C=1e6, max_iter=1000).fit(margins, y[half:]).predict_proba(margins)[:, 1]
    told = np.clip(model.predict_proba(scaled[half:])[:, 1], 1e-12, 1 - 1e-12)
    return float(log_loss(y[half:], told) / max(log_loss(y[half:], best), 1e-3))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--at-least", type=int, default=500, help="rows of a set")
    at_least = options.parse_args().at_least
    multiples: dict[str, list[float]] = {name: [] for name in LEARNERS}
    for key in available():
        data = load(key)
        if not isinstance(data.X, np.ndarray) or len(data.y) < at_least:
            continue
        order = np.random.default_rng(0).permutation(len(data.y))[:100_000]
        for name, learner in LEARNERS.items():
            multiples[name].append(multiple(learner(), data.X[order], data.y[order]))
        figures = "  ".join(f"{name} {values[-1]:.3f}" for name, values in multiples.items())
        print(f"{key:14s} {len(order):7,d} rows, {np.mean(data.y == 1):.3f} positive: {figures}", flush=True)
    for name, values in multiples.items():
        print(f"{name:20s} mean {np.exp(np.mean(np.log(values))):.3f}, worst {max(values):.3f}")


if __name__ == "__main__":
    main()
